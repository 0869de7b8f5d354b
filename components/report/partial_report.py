"""The report of a run that ended before Report: drawn from what its components had put out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yt8m.components.report.collect import collect
from yt8m.components.report.config import ReportConfig
from yt8m.components.report.inputs import ReportInputs
from yt8m.components.report.write import write_report

# What the graph connects to Report: by the name of its input, the component and its output.
ORIGINS = {
    "baseline": ("Baseline", "model"),
    "examples": ("ExampleGen", "examples"),
    "statistics": ("StatisticsGen", "statistics"),
    "anomalies": ("ExampleValidator", "anomalies"),
    "validation": ("ValidationGate", "validation"),
    "model": ("Trainer", "model"),
    "model_run": ("Trainer", "model_run"),
    "evaluation": ("Evaluator", "evaluation"),
    "model_blessing": ("Evaluator", "blessing"),
    "pushed_model": ("Pusher", "pushed_model"),
}


def report_early(
    uri_by_output: Mapping[tuple[str, str], str],
    directory: str,
    *,
    config: ReportConfig,
    configuration: Mapping[str, Any],
    pipeline: str,
    run_file: str,
) -> str:
    """Write the report into `directory`; returns the page's address.

    `uri_by_output`: where each output lies, by component and key, as far as the run came.
    """
    found = {name: uri_by_output.get(origin, "") for name, origin in ORIGINS.items()}
    inputs = ReportInputs(
        **found, configuration=dict(configuration), pipeline=pipeline, run_file=run_file
    )
    return write_report(collect(inputs, config), directory)
