"""The declaration of Report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfx.types import artifact, standard_artifacts

from yt8m.components.declaration import Input, Output, Step
from yt8m.components.report.config import ReportConfig
from yt8m.components.report.executor import Executor


class ReportArtifact(artifact.Artifact):
    """`report.html`, and the same as `report.json`."""

    TYPE_NAME = "yt8m.Report"  # Kubeflow requires the form `namespace.Name`


class Report(Step, executor=Executor):
    """Outputs `report`: one HTML file, and the same as JSON.

    The page shows the artifacts that are connected and says which are not. The inputs are named as
    in `artifacts.run_outputs`.
    """

    config: ReportConfig
    configuration: Mapping[str, Any] = {}  # the whole: shown, and compared with the baseline's
    pipeline: str = "yt8m"
    run_file: str = ""  # the runner's record of the run: components, times, memory
    baseline: Input[standard_artifacts.Model] | None = None
    examples: Input[standard_artifacts.Examples] | None = None
    statistics: Input[standard_artifacts.ExampleStatistics] | None = None
    anomalies: Input[standard_artifacts.ExampleAnomalies] | None = None
    validation: Input[standard_artifacts.ExampleAnomalies] | None = None
    tuner_results: Input[standard_artifacts.TunerResults] | None = None
    model: Input[standard_artifacts.Model] | None = None
    model_run: Input[standard_artifacts.ModelRun] | None = None
    evaluation: Input[standard_artifacts.ModelEvaluation] | None = None
    model_blessing: Input[standard_artifacts.ModelBlessing] | None = None
    infra_blessing: Input[standard_artifacts.InfraBlessing] | None = None
    pushed_model: Input[standard_artifacts.PushedModel] | None = None

    report = Output(ReportArtifact)
