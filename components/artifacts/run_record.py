"""Record of one run: `run.json` in its folder, rewritten at every event."""

from __future__ import annotations

import dataclasses
import enum
from dataclasses import dataclass, field
from typing import Any

from yt8m.components import storage
from yt8m.components.artifacts.decision import Check
from yt8m.components.artifacts.estimate import Estimate
from yt8m.schemas.errors import (
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_REJECTED,
    EXIT_TERMINATED,
    EXIT_USER,
)
from yt8m.schemas.json_file import JsonFile
from yt8m.schemas.metric_names import GAP

FILE_NAME = "run.json"
RUNS = "runs"  # the folder of a root that has one for each run


class State(enum.Enum):
    """The state of a component within a run."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    CACHED = "cached"
    FAILED = "failed"
    STOPPED = "stopped"  # by Ctrl-C or SIGTERM
    KILLED = "killed"  # set afterwards, as for the run


class Verdict(enum.Enum):
    """Outcome of a run, or that it is running."""

    RUNNING = "running"
    PUSHED = "pushed"
    REJECTED = "rejected"
    UP_TO_DATE = "up to date"  # the model in service is this very one
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    TERMINATED = "terminated"
    KILLED = "killed"  # set afterwards, for a run that could not record its own end

    @property
    def is_complete(self) -> bool:
        """True where the pipeline came to its end, so that there is nothing to continue."""
        return self in (Verdict.PUSHED, Verdict.REJECTED, Verdict.UP_TO_DATE)


_EXIT_CODES = {
    Verdict.PUSHED: EXIT_DONE,
    Verdict.REJECTED: EXIT_REJECTED,
    Verdict.UP_TO_DATE: EXIT_DONE,
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
    cpu_seconds: float = 0.0  # of the process and of those that it started and that have ended
    peak_mib: float = 0.0
    execution_id: int = 0
    figure: str = ""
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class RunRecord(JsonFile):
    """One run."""

    run_id: str
    started: float
    seconds: float = 0.0
    verdict: Verdict = Verdict.RUNNING
    reason: str = ""
    given_wrong: bool = False  # it failed by what it was given: the same would fail again
    stale: bool = False  # not pushed only because another model was meanwhile
    version: int = 0  # pushed; 0 when none was
    push_dir: str = ""
    baseline_version: int = 0
    metrics: dict[str, float] = field(default_factory=dict)  # of its model, where defined
    differences: dict[str, float] = field(default_factory=dict)  # from the baseline's
    # Of the version it was compared with, on the same records.
    baseline_metrics: dict[str, Estimate] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()  # the gate's
    records: dict[str, int] = field(default_factory=dict)  # that were read, by split
    left_out: dict[str, int] = field(default_factory=dict)  # bad ones, by split
    spans: tuple[int, ...] = ()
    fingerprint: str = ""  # of all that decides the outcome
    source_digest: str = ""
    run_key: str = ""
    report: str = ""
    retraining: bool = False
    nodes: tuple[NodeRecord, ...] = ()
    config: dict[str, Any] = field(default_factory=dict)

    @property
    def is_settled(self) -> bool:
        """True where the same run again would have nothing to decide."""
        return self.verdict.is_complete and not self.stale

    @property
    def figures(self) -> dict[str, float]:
        """The metrics and, as `<name>_difference`, their differences from the baseline's."""
        differences = {f"{name}_difference": value for name, value in self.differences.items()}
        return {**self.metrics, **differences}

    @property
    def gap(self) -> float | None:
        """The metric that decides what ships."""
        return self.metrics.get(GAP)

    @property
    def exit_code(self) -> int:
        """The command's exit code."""
        return EXIT_USER if self.given_wrong else _EXIT_CODES[self.verdict]

    def place_in(self, root: str, path: str) -> str:
        """The place of the run's file `path` below `root`, to which its root may have moved."""
        former = f"{self.config.get('root', '')}/"
        below = path.removeprefix(former)
        return path if below == path or former == "/" else storage.join(root, below)

    def node(self, name: str) -> NodeRecord:
        return next(node for node in self.nodes if node.name == name)

    def with_node(self, node: NodeRecord) -> RunRecord:
        """This record with `node` in the place of the one that has its name."""
        nodes = tuple(node if old.name == node.name else old for old in self.nodes)
        return dataclasses.replace(self, nodes=nodes)
