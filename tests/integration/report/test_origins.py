"""An early report and the Report component read the same artifacts."""

from __future__ import annotations

from pathlib import Path

from yt8m.components.report.inputs import ReportInputs
from yt8m.components.report.partial_report import ORIGINS
from yt8m.pipeline.graph import create_pipeline
from yt8m.pipeline.presets import load_config
from yt8m.pipeline.run.cache_keys import ExternalInputs


def test_the_origins_are_those_that_the_graph_connects(tmp_path: Path) -> None:
    config = load_config("smoke", [f"root={tmp_path}/root", f"data.root={tmp_path}"])
    pipeline = create_pipeline(config, ExternalInputs())
    report = next(c for c in pipeline.components if c.id == "Report")
    connected = {
        name: (channel.producer_component_id, channel.output_key)
        for name, channel in report.inputs.items()
    }
    assert connected == ORIGINS
    assert set(ORIGINS) <= set(ReportInputs.__dataclass_fields__)
