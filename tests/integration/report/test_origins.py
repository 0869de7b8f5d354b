"""The report of a run that ended early and the Report component read the same artifacts."""

from __future__ import annotations

from pathlib import Path

from yt8m.components.artifacts.run_outputs import OUTPUTS
from yt8m.components.report.component import Report
from yt8m.pipeline.cache_keys import ExternalInputs
from yt8m.pipeline.graph import create_pipeline
from yt8m.pipeline.presets import load_config


def test_the_graph_connects_every_artifact_to_the_report_under_its_name(tmp_path: Path) -> None:
    settings = [
        f"root={tmp_path}/root",
        f"data.root={tmp_path}",
        "infra_check.enabled=true",
        "tuner={space: {trainer.optimizer.learning_rate: {log: [1e-4, 1e-2]}}}",
    ]
    config = load_config("smoke", settings)
    components = create_pipeline(config, ExternalInputs()).components
    (report,) = (c for c in components if isinstance(c, Report))
    connected = {
        name: (channel.producer_component_id, channel.output_key)
        for name, channel in report.inputs.items()
    }
    own = {"report": (report.id, *report.outputs)}
    assert connected | own == OUTPUTS


def test_pusher_calls_its_inputs_as_the_table_does(tmp_path: Path) -> None:
    config = load_config("smoke", [f"root={tmp_path}/root", f"data.root={tmp_path}"])
    components = create_pipeline(config, ExternalInputs()).components
    (pusher,) = (c for c in components if c.id == "Pusher")
    connected = {
        name: (channel.producer_component_id, channel.output_key)
        for name, channel in pusher.inputs.items()
    }
    assert connected.items() <= OUTPUTS.items()
