"""A run's components, artifacts and properties, from the metadata store.

examples:
  yt8m status --root demo/run
  yt8m status 20260301-030000-000000 --root demo/run --json
"""

from __future__ import annotations

import argparse
import dataclasses
from typing import TYPE_CHECKING

from yt8m.components.console.console import Console
from yt8m.pipeline.commands.arguments import (
    add_root_arguments,
    add_run_argument,
    chosen_record,
    layout_of,
    lineage_of,
)

if TYPE_CHECKING:
    from yt8m.pipeline.lineage import ExecutionFacts
    from yt8m.pipeline.run.record import RunRecord

_COLUMNS = ("component", "state", "execution", "time", "peak", "figure")
_SHORT = 100


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    add_root_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> None:
    from yt8m.pipeline.run.record import told

    record = chosen_record(args)
    layout = layout_of(args)
    lineage = lineage_of(layout, record)
    executions = lineage.executions(record.run_id) if lineage else []
    value = {
        "run_id": record.run_id,
        "verdict": record.verdict.value,
        "reason": record.reason,
        "logs": str(layout.logs(record.run_id)),
        "executions": [dataclasses.asdict(execution) for execution in executions],
    }
    rows = [_row(record, execution) for execution in executions]
    parts = [
        f"run {record.run_id}: {told(record.verdict.value, record.reason)}",
        f"logs: {layout.logs(record.run_id)}",
        "",
        console.table(_COLUMNS, rows),
        "",
        *(line for execution in executions for line in _artifacts(execution)),
    ]
    console.result(_plain(value), "\n".join(parts))


def _row(record: RunRecord, execution: ExecutionFacts) -> tuple[str, ...]:
    from yt8m.pipeline.run.record import State

    ended_from_outside = (State.KILLED, State.STOPPED)
    node = next((n for n in record.nodes if n.name == execution.node), None)
    return (
        execution.node,
        # MLMD calls both failed.
        node.state.value if node and node.state in ended_from_outside else execution.state.lower(),
        str(execution.execution_id),
        f"{node.seconds if node else execution.ended - execution.started:.1f} s",
        f"{node.peak_mib / 1024:.1f} GB" if node and node.peak_mib else "",
        node.figure if node else "",
    )


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
