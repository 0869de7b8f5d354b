"""The report's data, collected from a run's files.

The Report component calls this with its inputs; the runner calls it with what MLMD knows, when a
run ended before that component.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from yt8m.components.artifacts.export_info import trained_configuration
from yt8m.components.artifacts.run_outputs import OUTPUTS, RunOutputs
from yt8m.components.artifacts.version_record import BrokenRecordError
from yt8m.components.report.collect_data import collect_data
from yt8m.components.report.collect_run import (
    changes,
    components,
    identifiers,
    read_run_record,
    run_outcome,
)
from yt8m.components.report.collect_training import curves_of
from yt8m.components.report.config import ReportConfig
from yt8m.components.report.data_changes import compared, previous_data
from yt8m.components.report.model import DataSummary, RunReport, TrainingCurves
from yt8m.schemas.errors import Yt8mError

T = TypeVar("T")
# A report has to say what it could not read, not fail over it.
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, Yt8mError, BrokenRecordError)


def collect(
    outputs: RunOutputs,
    config: ReportConfig | None = None,
    *,
    configuration: Mapping[str, Any] | None = None,
    pipeline: str = "yt8m",
    run_file: str = "",
) -> RunReport:
    """Whatever can be read; what cannot is named in `problems`.

    configuration: the whole one, to be shown and compared with the baseline's; nodes that Pusher
    has put on record may be left out.
    run_file: the runner's record of this run: components, times, memory.
    """
    configured = dict(configuration or {})
    problems: list[str] = []

    def part(name: str, read: Callable[[], T], instead: T) -> T:
        try:
            return read()
        except _UNREADABLE as error:
            problems.append(f"{name} cannot be shown: {type(error).__name__}: {error}")
            return instead

    def trained_with() -> dict[str, Any]:
        # The values that a Tuner chose are in the exported model alone.
        exported = outputs.export if configured.get("tuner") else None
        return trained_configuration(configured, exported.config if exported else {})

    run = part("the run's record", lambda: read_run_record(run_file), None)
    baseline = part("the baseline", lambda: outputs.baseline, None)
    pushed = part("the push", lambda: outputs.push, None)
    if pushed is not None:
        recorded = pushed.record.configuration
        configured |= {name: node for name, node in recorded.items() if name not in configured}
    decision = part("the gate's decision", lambda: outputs.decision, None)
    trained = part("the trained configuration", trained_with, configured)
    return RunReport(
        pipeline=pipeline,
        run_id=run.run_id if run else "",
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        verdict=run_outcome(run, pushed, decision, baseline),
        decision=decision,
        evaluation=part("the evaluation", lambda: outputs.evaluation, None),
        infra_check=part("the infra check", lambda: outputs.infra_check, None),
        shown=config or ReportConfig(),
        trials=part("the tuner's trials", lambda: outputs.trials or (), ()),
        training=part("training", lambda: curves_of(outputs.curve), TrainingCurves()),
        data=part(
            "the data",
            lambda: compared(collect_data(outputs), previous_data(run_file, baseline)),
            DataSummary(),
        ),
        components=components(run, now=time.time()),
        compared_with_version=baseline.version if baseline else 0,
        differences=changes(baseline, trained) if baseline else (),
        configuration=trained,
        lineage=identifiers(pushed) | {n: uri for n in OUTPUTS if (uri := outputs.uri(n))},
        problems=tuple(problems),
    )
