"""The report of a run that ended early and the Report component read the same artifacts."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from yt8m.components.report.component import Report, connected_outputs
from yt8m.components.report.inputs import ReportInputs
from yt8m.pipeline.cache_keys import ExternalInputs
from yt8m.pipeline.graph import create_pipeline
from yt8m.pipeline.presets import load_config


def test_every_artifact_of_a_report_is_connected_in_the_graph(tmp_path: Path) -> None:
    settings = [
        f"root={tmp_path}/root",
        f"data.root={tmp_path}",
        "infra_check.enabled=true",
        "tuner={space: {trainer.optimizer.learning_rate: {log: [1e-4, 1e-2]}}}",
    ]
    config = load_config("smoke", settings)
    pipeline = create_pipeline(config, ExternalInputs())
    (report,) = (c for c in pipeline.components if isinstance(c, Report))
    connected = connected_outputs(report)
    given = {"configuration", "pipeline", "run_file"}
    assert set(connected) == {f.name for f in dataclasses.fields(ReportInputs)} - given
    assert connected["model_blessing"] == ("Evaluator", "blessing")
    assert {name for name, _ in connected.values()} <= {c.id for c in pipeline.components}
