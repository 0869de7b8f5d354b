"""Runs that ended without a word: kill -9, out of memory, a power cut.

The record of such a run says for ever that it is under way. It is not, where nobody holds the root.
"""

from __future__ import annotations

import dataclasses

from yt8m.pipeline.lock import is_held
from yt8m.pipeline.run.record import RunRecord, State, Verdict, read_records
from yt8m.pipeline.run.workspace import Layout


def list_runs(layout: Layout) -> list[RunRecord]:
    """All runs of the root, the newest first; what nobody runs any more is called killed."""
    held = is_held(layout.lock)
    records = list(read_records(layout))
    held = held or is_held(layout.lock)  # one may have begun meanwhile
    return records if held else [mark_killed(record) for record in records]


def mark_killed(record: RunRecord) -> RunRecord:
    """What is to be said of `record`, whose run is known to be over."""
    if record.verdict is not Verdict.RUNNING:
        return record
    nodes = tuple(
        dataclasses.replace(node, state=State.KILLED) if node.state is State.RUNNING else node
        for node in record.nodes
    )
    return dataclasses.replace(
        record,
        verdict=Verdict.KILLED,
        nodes=nodes,
        reason=f"{_where(record)} and could not say why (kill -9, out of memory, a power cut)",
    )


def _where(record: RunRecord) -> str:
    running = [node.name for node in record.nodes if node.state is State.RUNNING]
    if running:
        return f"in {running[0]}"
    ended = [node for node in record.nodes if node.state is not State.WAITING]
    if not ended:
        return "before its first component"
    return f"after {max(ended, key=lambda node: node.started).name}"
