"""From what a run left to its report.

The Report component calls this with its inputs; the runner calls it with what MLMD knows, when a
run ended before that component.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from typing import Any, TypeVar

from yt8m.components import storage
from yt8m.components.artifacts import decision as decision_file
from yt8m.components.artifacts import evaluation as evaluation_file
from yt8m.components.artifacts import export_info, push_outcome, tuner_results
from yt8m.components.artifacts import infra_check as infra_check_file
from yt8m.components.artifacts.decision import Decision
from yt8m.components.artifacts.evaluation import Evaluation
from yt8m.components.artifacts.export_info import ExportInfo, trained_configuration
from yt8m.components.artifacts.infra_check import InfraCheckResult
from yt8m.components.artifacts.push_outcome import PushOutcome
from yt8m.components.artifacts.read import read_if_present
from yt8m.components.artifacts.saved_model import SERVING_DIR
from yt8m.components.artifacts.tuner_results import parse_trials
from yt8m.components.artifacts.version_record import BrokenRecordError
from yt8m.components.registry.baseline_artifact import baseline_record
from yt8m.components.report.collect_data import collect_data
from yt8m.components.report.collect_run import (
    changes,
    component_rows,
    identifiers,
    read_run_record,
    run_outcome,
)
from yt8m.components.report.collect_training import collect_training
from yt8m.components.report.config import ReportConfig
from yt8m.components.report.data_changes import compared, previous_data
from yt8m.components.report.inputs import ReportInputs
from yt8m.components.report.parts.model import DataSummary, RunReport, TrainingCurves
from yt8m.components.report.parts.shown_classes import ShownClasses
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.errors import Yt8mError

T = TypeVar("T")
# A report has to say what it could not read, not fail over it.
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, Yt8mError, BrokenRecordError)


def collect(inputs: ReportInputs, config: ReportConfig | None = None) -> RunReport:
    """Whatever can be read; what cannot is named in `problems`."""
    config = config or ReportConfig()
    problems: list[str] = []

    def part(name: str, read: Callable[[], T], instead: T) -> T:
        try:
            return read()
        except _UNREADABLE as error:
            problems.append(f"{name} cannot be shown: {type(error).__name__}: {error}")
            return instead

    def file(name: str, directory: str, file_name: str, parse: Callable[[str], T]) -> T | None:
        return part(name, lambda: read_if_present(directory, file_name, parse), None)

    run = part("the run's record", lambda: read_run_record(inputs.run_file), None)
    baseline = part(
        "the baseline",
        lambda: baseline_record(inputs.baseline) if inputs.baseline else None,
        None,
    )
    pushed = file("the push", inputs.pushed_model, push_outcome.FILE_NAME, PushOutcome.from_json)
    decision = file(
        "the gate's decision", inputs.model_blessing, decision_file.FILE_NAME, Decision.from_json
    )
    trials = file("the tuner's trials", inputs.tuner_results, tuner_results.FILE_NAME, parse_trials)
    configuration = part(
        "the trained configuration",
        lambda: _trained_with(inputs) if trials else inputs.configuration,
        inputs.configuration,
    )
    return RunReport(
        pipeline=inputs.pipeline,
        run_id=run.run_id if run else "",
        created=_now(),
        verdict=run_outcome(run, pushed, decision, baseline),
        decision=decision,
        evaluation=file(
            "the evaluation", inputs.evaluation, evaluation_file.FILE_NAME, Evaluation.from_json
        ),
        infra_check=file(
            "the infra check",
            inputs.infra_blessing,
            infra_check_file.FILE_NAME,
            InfraCheckResult.from_json,
        ),
        shown=ShownClasses(**to_dict(config)),
        trials=trials or (),
        training=part("training", lambda: collect_training(inputs.model_run), TrainingCurves()),
        data=part(
            "the data",
            lambda: compared(collect_data(inputs), previous_data(inputs.run_file, baseline)),
            DataSummary(),
        ),
        components=component_rows(run, now=time.time()),
        compared_with_version=baseline.version if baseline else 0,
        differences=changes(baseline, configuration) if baseline else (),
        configuration=configuration,
        lineage={**identifiers(pushed), **inputs.lineage},
        problems=tuple(problems),
    )


def _trained_with(inputs: ReportInputs) -> dict[str, Any]:
    """The configuration with the values that a Tuner found, which the exported model names."""
    place = storage.join(inputs.model, SERVING_DIR) if inputs.model else ""
    exported = read_if_present(place, export_info.FILE_NAME, ExportInfo.from_json)
    return trained_configuration(inputs.configuration, exported.config if exported else {})


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
