"""Run every combination of some values, and say which is best.

A --set with several values, separated by commas, is swept over; with several of those every
combination runs. The runs share one root, and with it everything that the values do not change:
records are verified and analysed once. There is no baseline, and models go to `<root>/models`, so
that one run does not raise the bar for the next. Given again, the same command continues: what has
run is not run again.

examples:
  yt8m sweep smoke --data demo/data --root demo/sweep --set trainer.seed=1,2,3
  yt8m sweep my.yaml --root sweep --set trainer.seed=1,2 --set trainer.model.width=256,512
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from yt8m.cli.arguments import add_run_config_arguments, config_of
from yt8m.components.console.console import Console
from yt8m.components.evaluator.config import GAP
from yt8m.schemas.errors import EXIT_DONE, EXIT_FAILED

if TYPE_CHECKING:
    from yt8m.components.artifacts.estimate import Estimate
    from yt8m.pipeline.retraining.sweep import Trial


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_config_arguments(parser, push=False)


def run(args: argparse.Namespace, console: Console) -> int:
    from pathlib import Path

    from yt8m.pipeline.python.runs import run as run_pipeline
    from yt8m.pipeline.results.model_results import results_of_run
    from yt8m.pipeline.retraining.sweep import points_of, prepared, sweep
    from yt8m.pipeline.run.runner import with_absolute_paths
    from yt8m.pipeline.workspace import Layout

    fixed, points = points_of(args.set)
    configs = []
    for point in points:  # all are read before the first is run: a wrong value is found now
        settings = [*fixed, *(f"{path}={value}" for path, value in point.items())]
        given = argparse.Namespace(**{**vars(args), "set": settings})
        configs.append((point, with_absolute_paths(prepared(config_of(given)))))
    layout = Layout(Path(configs[0][1].root))
    found: list[tuple[Trial, Mapping[str, Estimate]]] = []
    for trial in sweep(
        configs, lambda config: run_pipeline(config, quiet=console.quiet).record, console.info
    ):
        if trial.problem:
            console.warn(trial.problem)
        metrics = results_of_run(layout, trial.record).metrics if trial.record else {}
        found.append((trial, metrics))
    names = list(dict.fromkeys([GAP, *(name for _, metrics in found for name in metrics)]))
    trials = [_row(trial, metrics, names) for trial, metrics in found]
    trials.sort(key=lambda row: -1.0 if row[GAP] is None else row[GAP], reverse=True)
    console.result({"root": str(layout.root), "trials": trials}, _text(trials, names, console))
    return EXIT_FAILED if any(row["problem"] for row in trials) else EXIT_DONE


def _row(trial: Trial, metrics: Mapping[str, Estimate], names: Sequence[str]) -> dict[str, Any]:
    record = trial.record
    values = {name: metrics[name].value if name in metrics else None for name in names}
    gap = metrics.get(GAP)
    return {
        "settings": dict(trial.point),
        **values,
        "gap_lower": gap.lower if gap else None,
        "gap_upper": gap.upper if gap else None,
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
