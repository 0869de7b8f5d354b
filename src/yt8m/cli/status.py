"""A run's components as they are, and its artifacts; and the schedule's health.

A schedule is a `yt8m retrain --cron` on the root: whether it is running, its last and next run.

examples:
  yt8m status --root demo/run
  yt8m status --root demo/run --watch
  yt8m status --root demo/run --artifacts
  yt8m status 20260301-030000-000000 --root demo/run --json
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from yt8m.cli.arguments import (
    add_root_arguments,
    add_run_argument,
    layout_of,
    record_of,
)
from yt8m.components.artifacts.run_record import State, Verdict
from yt8m.components.console.console import Console

if TYPE_CHECKING:
    from yt8m.components.artifacts.run_record import NodeRecord, RunRecord
    from yt8m.pipeline.metadata import ExecutionFacts

_COLUMNS = ("component", "state", "execution", "time", "CPU", "peak", "key metric")
_SHORT = 100
_LOOK_EVERY_S = 2.0
_CLEAR = "\033[2J\033[H"  # the screen of a terminal


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    add_root_arguments(parser)
    parser.add_argument(
        "--artifacts", action="store_true", help="what components put out, with its properties"
    )
    parser.add_argument(
        "--watch",
        action="store_true",
        help="say it again whenever it changes, to the end of the run, or of the root's schedule",
    )


def run(args: argparse.Namespace, console: Console) -> None:
    for value, text in _changes(args, console) if args.watch else [_look(args, console)]:
        if args.watch and sys.stdout.isatty() and not args.json:
            print(_CLEAR, end="")
        console.result(value, text)


def _look(args: argparse.Namespace, console: Console) -> tuple[dict[str, object], str]:
    schedule, in_words = _schedule(args)
    if schedule and not (Path(args.root) / "runs").is_dir():
        return {"run_id": None, "verdict": None, "schedule": schedule}, in_words
    return _status(record_of(args), args, console)


def _changes(args: argparse.Namespace, console: Console) -> Iterator[tuple[dict[str, object], str]]:
    """What there is to say, until nothing goes on: no run, and no schedule unless a run was named.

    On a terminal the time of what is running is a change too; a log would be nothing else.
    """
    named, said = bool(args.run), None
    while True:
        value, text = _look(args, console)
        key = text if sys.stdout.isatty() else value
        if key != said:
            yield value, text
            said = key
        is_running = value["verdict"] == Verdict.RUNNING.value
        if is_running and not _is_scheduled(value):
            args.run = value["run_id"]  # not another one that begins meanwhile
        if not is_running and (named or not _is_scheduled(value)):
            return
        time.sleep(_LOOK_EVERY_S)


def _is_scheduled(value: dict[str, object]) -> bool:
    schedule = value.get("schedule")
    return isinstance(schedule, dict) and bool(schedule["running"])


def _status(
    record: RunRecord, args: argparse.Namespace, console: Console
) -> tuple[dict[str, object], str]:
    from yt8m.pipeline.results.model_results import executions_of
    from yt8m.pipeline.run_record import display_status
    from yt8m.schemas.config_tree import to_dict

    schedule, in_words = _schedule(args)
    layout = layout_of(args)
    executions = executions_of(layout, record)
    value = {
        "run_id": record.run_id,
        "verdict": record.verdict.value,
        "reason": record.reason,
        "logs": str(layout.logs(record.run_id)),
        "components": to_dict(record.nodes),
        "executions": [dataclasses.asdict(execution) for execution in executions],
        **({"schedule": schedule} if schedule else {}),
    }
    parts = [
        f"run {record.run_id}: {display_status(record.verdict.value, record.reason)}",
        f"logs: {layout.logs(record.run_id)}",
        *([in_words] if schedule else []),
        "",
        console.table(_COLUMNS, [_row(record, execution) for execution in executions])
        if executions
        else "no component has begun",
    ]
    if args.artifacts:
        parts += ["", *(line for execution in executions for line in _artifacts(execution))]
    return _plain(value), "\n".join(parts)


def _schedule(args: argparse.Namespace) -> tuple[dict[str, object], str]:
    """How the root's `yt8m retrain --cron` is doing, if there ever was one."""
    from yt8m.pipeline.run.retrain_status import is_scheduled, read_status
    from yt8m.pipeline.workspace import Layout

    layout = Layout(Path(args.root).absolute())
    status = read_status(layout)
    if status is None:
        return {}, ""
    alive = is_scheduled(layout)
    parts = [f"schedule {status.cron}: {'running' if alive else 'NOT running'}"]
    if status.last_run is not None:
        code = "under way" if status.last_end is None else f"exit code {status.last_exit_code}"
        parts.append(f"last run {_moment(status.last_run)} ({code})")
    if alive and status.next_run is not None:
        parts.append(f"next run {_moment(status.next_run)}")
    if status.failures:
        parts.append(f"{status.failures} failed in a row")
    return {"running": alive, **dataclasses.asdict(status)}, ", ".join(parts)


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M %Z", time.localtime(seconds))


def _row(record: RunRecord, execution: ExecutionFacts) -> tuple[str, ...]:
    ended_externally = (State.KILLED, State.STOPPED)
    node = next((n for n in record.nodes if n.name == execution.node), None)
    return (
        execution.node,
        # MLMD calls both failed.
        node.state.value if node and node.state in ended_externally else execution.state.lower(),
        str(execution.execution_id),
        f"{_seconds(node, execution):.1f} s",
        f"{node.cpu_seconds:.1f} s" if node and node.cpu_seconds else "",
        f"{node.peak_mib / 1024:.1f} GB" if node and node.peak_mib else "",
        node.figure if node else "",
    )


def _seconds(node: NodeRecord | None, execution: ExecutionFacts) -> float:
    """How long it took, or has been under way."""
    if node is None:
        return execution.ended - execution.started
    return time.time() - node.started if node.state is State.RUNNING else node.seconds


def _artifacts(execution: ExecutionFacts) -> list[str]:
    lines = []
    for output in execution.outputs:
        lines.append(f"{execution.node}.{output.key}: {output.type_name} {output.uri}")
        lines += [f"    {k} = {_short(v)}" for k, v in sorted(output.properties.items())]
    return lines


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}..."


def _plain(value: object) -> dict[str, object]:
    """MLMD's structures are protobuf messages, which JSON does not know."""
    import json

    return dict(json.loads(json.dumps(value, default=str)))
