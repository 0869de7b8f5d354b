"""Action of `yt8m sweep`."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from types import FrameType
from typing import Any

from yt8m.cli.arguments.runs import SweepArguments
from yt8m.components.artifacts.estimate import Estimate, estimate_columns
from yt8m.components.artifacts.run_record import RunRecord
from yt8m.components.console.console import Console
from yt8m.components.console.signals import SignalRecord, handling_signals, signal_received
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.python.runs import run as run_pipeline
from yt8m.pipeline.results.model_results import results_of_run
from yt8m.pipeline.retraining.sweep import Trial, check_points, prepared, sweep
from yt8m.pipeline.run.runner import with_absolute_paths
from yt8m.pipeline.workspace import Layout, is_held, run_lock
from yt8m.schemas.errors import EXIT_DONE, EXIT_FAILED, EXIT_USER, Terminated
from yt8m.schemas.metric_names import GAP


def run(args: SweepArguments, console: Console) -> int:
    configs = [(point, with_absolute_paths(prepared(config))) for point, config in args.configs()]
    check_points(configs)
    layout = Layout(configs[0][1].root)
    results: list[tuple[Trial, Mapping[str, Estimate]]] = []

    def start(config: PipelineConfig) -> RunRecord:
        if (number := signal_received()) is not None:
            _end(number, None)  # Python drops what is raised while it finalizes an object
        return run_pipeline(config, quiet=console.quiet, wait=args.wait).record

    with handling_signals(_end), SignalRecord().recording():
        _check_free(layout, args.wait)
        for trial in sweep(configs, start, console.info):
            if trial.problem and not trial.is_reported:
                console.warn(trial.problem)
            metrics = results_of_run(layout, trial.record).metrics if trial.record else {}
            results.append((trial, metrics))
    names = list(dict.fromkeys([GAP, *(name for _, metrics in results for name in metrics)]))
    trials = [_row(trial, metrics, names) for trial, metrics in results]
    trials.sort(key=lambda row: -1.0 if row[GAP] is None else row[GAP], reverse=True)
    console.result({"root": layout.root, "trials": trials}, _text(trials, names, console))
    failed = [trial for trial, _ in results if trial.problem]
    if failed and all(trial.is_user_error for trial in failed):
        return EXIT_USER
    return EXIT_FAILED if failed else EXIT_DONE


def _check_free(layout: Layout, wait_s: float) -> None:
    """RootBusyError once, instead of for every combination."""
    if is_held(layout.lock):
        with run_lock(layout.lock, wait_s=wait_s):
            pass


def _end(number: int, frame: FrameType | None) -> None:
    """The run under way, a process of its own, ends with the sweep, and not after it."""
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    name = signal.Signals(number).name
    raise Terminated(f"ended by {name}; the same command continues")


def _row(trial: Trial, metrics: Mapping[str, Estimate], names: Sequence[str]) -> dict[str, Any]:
    record = trial.record
    values = {name: metrics[name].value if name in metrics else None for name in names}
    return {
        "settings": dict(trial.point),
        **values,
        **estimate_columns(metrics.get(GAP, Estimate()), GAP),
        "seconds": record.seconds if record else None,
        "run_id": record.run_id if record else None,
        "version": (record.version or None) if record else None,
        "problem": trial.problem,
    }


def _text(trials: list[dict[str, Any]], names: Sequence[str], console: Console) -> str:
    paths = list(trials[0]["settings"])
    keys = [path.rpartition(".")[2] for path in paths]
    shown = keys if len(set(keys)) == len(keys) else paths
    rows = [
        [
            *row["settings"].values(),
            *(_number(row[name]) for name in names),
            _interval(row),
            _number(row["seconds"], ".0f"),
            row["run_id"] or row["problem"].partition("\n")[0],
        ]
        for row in trials
    ]
    return console.table((*shown, *names, "GAP's interval", "seconds", "run"), rows)


def _interval(row: dict[str, Any]) -> str:
    if row["gap_lower"] is None:
        return "-"
    return f"{row['gap_lower']:.4f} to {row['gap_upper']:.4f}"


def _number(value: float | None, form: str = ".4f") -> str:
    return "-" if value is None else format(value, form)
