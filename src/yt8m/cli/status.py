"""Action of `yt8m status`."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Iterator

from yt8m.cli.arguments.runs import StatusArguments
from yt8m.components import storage
from yt8m.components.artifacts.run_record import NodeRecord, RunRecord, State, Verdict
from yt8m.components.console.console import Console
from yt8m.components.console.listener import is_gone
from yt8m.pipeline.lineage import ExecutionFacts
from yt8m.pipeline.results.model_results import executions_of
from yt8m.pipeline.run.retrain_status import is_scheduled, read_status
from yt8m.pipeline.run_record import display_status, record_named
from yt8m.pipeline.workspace import Layout, layout_of
from yt8m.schemas.config_tree import to_dict

_COLUMNS = ("component", "state", "execution", "time", "CPU", "peak", "key metric")
_SHORT = 100
_LOOK_EVERY_S = 2.0
_CLEAR = "\033[2J\033[H"  # the screen of a terminal


def run(args: StatusArguments, console: Console) -> None:
    for value, text in _changes(args, console) if args.watch else [_look(args, console)]:
        if args.watch and sys.stdout.isatty() and not args.json:
            print(_CLEAR, end="")
        console.result(value, text)


def _look(args: StatusArguments, console: Console) -> tuple[dict[str, object], str]:
    schedule, in_words = _schedule(args)
    if schedule and not storage.is_dir(Layout(args.root).runs):
        return {"run_id": None, "verdict": None, "schedule": schedule}, in_words
    return _status(record_named(layout_of(args.root), args.run), args, console)


def _changes(args: StatusArguments, console: Console) -> Iterator[tuple[dict[str, object], str]]:
    """Yield each new status, until neither a run nor, unless a run was named, a schedule is active.

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
            # Not another one that begins meanwhile.
            args = dataclasses.replace(args, run=str(value["run_id"]))
        if not is_running and (named or not _is_scheduled(value)):
            return
        if is_gone(sys.stdout):
            return
        time.sleep(_LOOK_EVERY_S)


def _is_scheduled(value: dict[str, object]) -> bool:
    schedule = value.get("schedule")
    return isinstance(schedule, dict) and bool(schedule["running"])


def _status(
    record: RunRecord, args: StatusArguments, console: Console
) -> tuple[dict[str, object], str]:
    schedule, in_words = _schedule(args)
    layout = layout_of(args.root)
    executions = executions_of(layout, record)
    value = {
        "run_id": record.run_id,
        "verdict": record.verdict.value,
        "reason": record.reason,
        "logs": layout.logs(record.run_id),
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


def _schedule(args: StatusArguments) -> tuple[dict[str, object], str]:
    """How the root's `yt8m retrain --cron` is doing, if there ever was one."""
    layout = Layout(storage.absolute(args.root))
    status = read_status(layout)
    if status is None or not status.cron:
        return {}, ""
    alive = is_scheduled(layout)
    parts = [f"schedule {status.cron}: {'running' if alive else 'NOT running'}"]
    if status.last_run is not None:
        code = f"exit code {status.last_exit_code}"
        if status.is_without_end:
            code = "under way" if alive else "the schedule was killed before its end"
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
    return dict(json.loads(json.dumps(value, default=str)))
