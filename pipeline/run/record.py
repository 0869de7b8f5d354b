"""What is known of one run, kept as JSON in its folder and rewritten at every event."""

from __future__ import annotations

import dataclasses
import enum
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from yt8m.components.storage import files
from yt8m.components.storage.lock import is_held
from yt8m.pipeline.run.workspace import Layout
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import (
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_HELD_BACK,
    EXIT_INTERRUPTED,
    EXIT_TERMINATED,
    EXIT_USER,
    ConfigError,
)

FILE_NAME = "run.json"


class State(enum.Enum):
    """Of a component within a run."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    CACHED = "cached"
    FAILED = "failed"
    STOPPED = "stopped"  # by Ctrl-C or SIGTERM
    KILLED = "killed"  # said afterwards, as of the run


class Verdict(enum.Enum):
    """Of a run."""

    RUNNING = "running"
    PUSHED = "pushed"
    HELD_BACK = "held back"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    TERMINATED = "terminated"
    KILLED = "killed"  # said afterwards, of a run that had no time to say so itself: killed.py

    @property
    def is_complete(self) -> bool:
        """True where the pipeline came to its end, so that there is nothing to continue."""
        return self in (Verdict.PUSHED, Verdict.HELD_BACK)


_EXIT_CODES = {
    Verdict.PUSHED: EXIT_DONE,
    Verdict.HELD_BACK: EXIT_HELD_BACK,
    Verdict.FAILED: EXIT_FAILED,
    Verdict.KILLED: EXIT_FAILED,
    Verdict.INTERRUPTED: EXIT_INTERRUPTED,
    Verdict.TERMINATED: EXIT_TERMINATED,
}


@dataclass(frozen=True, kw_only=True)
class NodeRecord:
    """One component of a run. Times are seconds since the epoch, memory the process's peak."""

    name: str
    state: State = State.WAITING
    started: float = 0.0
    seconds: float = 0.0
    peak_mib: float = 0.0
    execution_id: int = 0
    figure: str = ""
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class RunRecord:
    """One run."""

    run_id: str
    started: float
    seconds: float = 0.0
    verdict: Verdict = Verdict.RUNNING
    reason: str = ""
    given_wrong: bool = False  # it failed by what it was given: the same would fail again
    version: int = 0  # pushed; 0 when none was
    push_dir: str = ""
    baseline_version: int = 0
    gap: float | None = None
    gap_difference: float | None = None
    spans: tuple[int, ...] = ()
    fingerprint: str = ""  # of all that decides the outcome
    source_digest: str = ""
    run_key: str = ""
    report: str = ""
    retraining: bool = False
    nodes: tuple[NodeRecord, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)

    @property
    def exit_code(self) -> int:
        """What the command ends with."""
        return EXIT_USER if self.given_wrong else _EXIT_CODES[self.verdict]

    def node(self, name: str) -> NodeRecord:
        return next(node for node in self.nodes if node.name == name)

    def with_node(self, node: NodeRecord) -> RunRecord:
        """This record with `node` in the place of the one that has its name."""
        nodes = tuple(node if old.name == node.name else old for old in self.nodes)
        return dataclasses.replace(self, nodes=nodes)


@dataclass(frozen=True)
class Result:
    """How the run ended; `is_new` is False where an earlier run is up to date."""

    record: RunRecord
    is_new: bool = True


def display_status(verdict: str, reason: str) -> str:
    """The outcome in words; what ended badly says so itself."""
    if not reason:
        return verdict
    match Verdict(verdict):
        case Verdict.FAILED | Verdict.INTERRUPTED | Verdict.TERMINATED:
            return reason
        case Verdict.KILLED:
            return f"{verdict} {reason}"  # in a component
        case _:
            return f"{verdict}: {reason}"


def write_record(layout: Layout, record: RunRecord) -> None:
    """Replace the run's record, in one rename."""
    path = layout.run(record.run_id) / FILE_NAME
    files.write_text(str(path), json.dumps(to_dict(record), indent=1))


def begin_record(layout: Layout, record: RunRecord) -> None:
    """Write the first record of a run, and make it the newest run."""
    write_record(layout, record)
    partial = layout.newest.with_name(f".{layout.newest.name}")
    partial.unlink(missing_ok=True)
    # Relative, so that it holds where the root is moved or mounted elsewhere.
    partial.symlink_to(layout.run(record.run_id).relative_to(layout.root))
    partial.replace(layout.newest)


def read_record(layout: Layout, run_id: str) -> RunRecord | None:
    """The record of `run_id`; None when there is none that can be read."""
    try:
        text = (layout.run(run_id) / FILE_NAME).read_text(encoding="utf-8")
        return from_dict(RunRecord, json.loads(text))
    except (OSError, ValueError, ConfigError):
        return None


def read_records(layout: Layout) -> Iterator[RunRecord]:
    """All runs of the root, the newest first."""
    if not layout.runs.is_dir():
        return
    for path in sorted(layout.runs.iterdir(), reverse=True):
        record = read_record(layout, path.name)
        if record is not None:
            yield record


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
        reason=f"{_where(record)} (kill -9, out of memory, power loss)",
    )


def _where(record: RunRecord) -> str:
    running = [node.name for node in record.nodes if node.state is State.RUNNING]
    if running:
        return f"while {running[0]} was running"
    ended = [node for node in record.nodes if node.state is not State.WAITING]
    if not ended:
        return "before its first component"
    return f"after {max(ended, key=lambda node: node.started).name}"
