"""From what a run left to the facts of its report.

The Report component calls this with its inputs; the runner calls it with what MLMD knows, when a
run ended before that component.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import TypeVar

from yt8m.components.artifacts.version_record import BrokenRecordError, VersionRecord
from yt8m.components.registry.baseline_artifact import baseline_record
from yt8m.components.report.collect_data import collect_data
from yt8m.components.report.collect_evaluation import collect_evaluation
from yt8m.components.report.collect_run import (
    RunFile,
    collect_verdict,
    differences,
    identifiers,
    read_run_file,
)
from yt8m.components.report.collect_training import collect_training
from yt8m.components.report.config import ReportConfig
from yt8m.components.report.inputs import Sources
from yt8m.components.report.model import (
    DataFacts,
    EvaluationFacts,
    ReportFacts,
    TrainingFacts,
    VerdictFacts,
)
from yt8m.schemas.errors import Yt8mError

T = TypeVar("T")
# A report has to say what it could not read, not fail over it.
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, Yt8mError, BrokenRecordError)


def collect(sources: Sources, config: ReportConfig | None = None) -> ReportFacts:
    """Whatever can be read; what cannot is named in `problems`."""
    config = config or ReportConfig()
    problems: list[str] = []

    def part(name: str, read: Callable[[], T], instead: T) -> T:
        try:
            return read()
        except _UNREADABLE as error:
            problems.append(f"{name} cannot be shown: {type(error).__name__}: {error}")
            return instead

    run = part(
        "the run's record", lambda: read_run_file(sources.run_file, now=time.time()), RunFile()
    )
    baseline: VersionRecord | None = part(
        "the baseline",
        lambda: baseline_record(sources.baseline) if sources.baseline else None,
        None,
    )
    return ReportFacts(
        pipeline=sources.pipeline,
        run_id=run.run_id,
        created=_now(),
        verdict=part(
            "the verdict", lambda: collect_verdict(sources, run, baseline), VerdictFacts()
        ),
        evaluation=part(
            "the evaluation", lambda: collect_evaluation(sources, config), EvaluationFacts()
        ),
        training=part("training", lambda: collect_training(sources.model_run), TrainingFacts()),
        data=part("the data", lambda: collect_data(sources), DataFacts()),
        components=run.components,
        compared_with_version=baseline.version if baseline else 0,
        differences=differences(baseline, sources.configuration) if baseline else (),
        configuration=sources.configuration,
        lineage={**identifiers(sources), **sources.lineage},
        problems=tuple(problems),
    )


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
