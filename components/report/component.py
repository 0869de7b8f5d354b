"""The declaration of Report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tfx import types
from tfx.dsl.components.base import base_component, executor_spec
from tfx.types import artifact, component_spec, standard_artifacts

from yt8m.components.report.config import ReportConfig
from yt8m.components.report.executor import Executor
from yt8m.schemas.code_version import code_version
from yt8m.schemas.config_tree import to_dict


class ReportArtifact(artifact.Artifact):
    """`report.html`, and the same as `report.json`."""

    TYPE_NAME = "yt8m.Report"  # Kubeflow asks for the form `namespace.Name`


def _optional(kind: type[artifact.Artifact]) -> component_spec.ChannelParameter:
    return component_spec.ChannelParameter(type=kind, optional=True)


class ReportSpec(component_spec.ComponentSpec):
    """What passes in and out; the inputs are named as in `inputs.ReportInputs`."""

    PARAMETERS = {  # noqa: RUF012  (TFX's way)
        "config": component_spec.ExecutionParameter(type=str),
        "configuration": component_spec.ExecutionParameter(type=str),
        "pipeline": component_spec.ExecutionParameter(type=str),
        "run_file": component_spec.ExecutionParameter(type=str, optional=True),
        "code_version": component_spec.ExecutionParameter(type=str),
    }
    INPUTS = {  # noqa: RUF012
        "examples": _optional(standard_artifacts.Examples),
        "statistics": _optional(standard_artifacts.ExampleStatistics),
        "anomalies": _optional(standard_artifacts.ExampleAnomalies),
        "validation": _optional(standard_artifacts.ExampleAnomalies),
        "model": _optional(standard_artifacts.Model),
        "model_run": _optional(standard_artifacts.ModelRun),
        "evaluation": _optional(standard_artifacts.ModelEvaluation),
        "model_blessing": _optional(standard_artifacts.ModelBlessing),
        "pushed_model": _optional(standard_artifacts.PushedModel),
        "baseline": _optional(standard_artifacts.Model),
    }
    OUTPUTS = {  # noqa: RUF012
        "report": component_spec.ChannelParameter(type=ReportArtifact),
    }


class Report(base_component.BaseComponent):
    """Outputs `report`: one HTML file, and the same as JSON."""

    SPEC_CLASS = ReportSpec
    EXECUTOR_SPEC = executor_spec.ExecutorClassSpec(Executor)

    def __init__(  # noqa: PLR0913  (the edges of the graph)
        self,
        config: ReportConfig,
        *,
        configuration: Mapping[str, Any] | None = None,
        pipeline: str = "yt8m",
        run_file: str = "",
        examples: types.BaseChannel | None = None,
        statistics: types.BaseChannel | None = None,
        anomalies: types.BaseChannel | None = None,
        validation: types.BaseChannel | None = None,
        model: types.BaseChannel | None = None,
        model_run: types.BaseChannel | None = None,
        evaluation: types.BaseChannel | None = None,
        model_blessing: types.BaseChannel | None = None,
        pushed_model: types.BaseChannel | None = None,
        baseline: types.BaseChannel | None = None,
    ) -> None:
        """The page shows what is given of the artifacts, and says of the rest that it is not there.

        configuration: the whole one, to be shown and compared with the baseline's.
        run_file: the runner's record of the run: components, times, memory.
        """
        super().__init__(
            ReportSpec(
                config=json.dumps(to_dict(config), sort_keys=True),
                configuration=json.dumps(configuration or {}, sort_keys=True),
                pipeline=pipeline,
                run_file=run_file,
                code_version=code_version(Executor.__module__),
                report=types.Channel(type=ReportArtifact),
                examples=examples,
                statistics=statistics,
                anomalies=anomalies,
                validation=validation,
                model=model,
                model_run=model_run,
                evaluation=evaluation,
                model_blessing=model_blessing,
                pushed_model=pushed_model,
                baseline=baseline,
            )
        )
