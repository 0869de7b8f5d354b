"""The declaration of Report."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tfx import types
from tfx.dsl.components.base import base_component, executor_spec
from tfx.types import artifact, standard_artifacts

from yt8m.components.declaration import Declaration, channels, parameters
from yt8m.components.report.config import ReportConfig
from yt8m.components.report.executor import Executor
from yt8m.schemas.code_digest import code_digest
from yt8m.schemas.config_tree import to_parameter


class ReportArtifact(artifact.Artifact):
    """`report.html`, and the same as `report.json`."""

    TYPE_NAME = "yt8m.Report"  # Kubeflow requires the form `namespace.Name`


class ReportSpec(Declaration):
    """What passes in and out; the inputs are named as in `artifacts.run_outputs`."""

    PARAMETERS = parameters("config", "configuration", "pipeline", "code_version") | parameters(
        "run_file", optional=True
    )
    INPUTS = channels(
        optional=True,
        examples=standard_artifacts.Examples,
        statistics=standard_artifacts.ExampleStatistics,
        anomalies=standard_artifacts.ExampleAnomalies,
        validation=standard_artifacts.ExampleAnomalies,
        tuner_results=standard_artifacts.TunerResults,
        model=standard_artifacts.Model,
        model_run=standard_artifacts.ModelRun,
        evaluation=standard_artifacts.ModelEvaluation,
        model_blessing=standard_artifacts.ModelBlessing,
        infra_blessing=standard_artifacts.InfraBlessing,
        pushed_model=standard_artifacts.PushedModel,
        baseline=standard_artifacts.Model,
    )
    OUTPUTS = channels(report=ReportArtifact)


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
        infra_blessing: types.BaseChannel | None = None,
        tuner_results: types.BaseChannel | None = None,
    ) -> None:
        """The page shows what is given of the artifacts, and says of the rest that it is not there.

        configuration: the whole one, to be shown and compared with the baseline's.
        run_file: the runner's record of the run: components, times, memory.
        """
        super().__init__(
            ReportSpec(
                config=to_parameter(config),
                configuration=json.dumps(configuration or {}, sort_keys=True),
                pipeline=pipeline,
                run_file=run_file,
                code_version=code_digest(Executor.__module__),
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
                infra_blessing=infra_blessing,
                tuner_results=tuner_results,
            )
        )
