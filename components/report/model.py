"""One run as its report shows it: what its components left, and what follows from that.

The gate's decision, the evaluation and the comparisons are the artifacts' own types. Whatever a run
did not come to is empty or None: a run may end at any component.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from yt8m.components.artifacts.comparisons import Comparisons
from yt8m.components.artifacts.decision import Decision
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.evaluation import Evaluation, SliceMetrics
from yt8m.components.artifacts.infra_check import InfraCheckResult
from yt8m.components.artifacts.run_record import NodeRecord
from yt8m.components.artifacts.tuner_results import TrialResult
from yt8m.components.metrics.catalogue import MetricInfo, info_of
from yt8m.components.report.config import ReportConfig


class Outcome(enum.Enum):
    """Outcome of the run, as far as models go."""

    PUSHED = "pushed"
    REJECTED = "rejected"  # by the gate
    UP_TO_DATE = "up to date"  # the model in service is this very one
    STOPPED = "stopped"  # bad data
    FAILED = "failed"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, kw_only=True)
class RunOutcome:
    """Outcome of the run, and its reason."""

    outcome: Outcome = Outcome.UNFINISHED
    reason: str = ""
    version: int = 0
    destination: str = ""
    failed_component: str = ""
    baseline_version: int = 0  # 0 is none
    is_below_baseline: bool = False  # pushed though its GAP is the lower one
    not_compared: int = 0  # damaged versions

    @property
    def is_doubtful(self) -> bool:
        """Whether somebody should look, though a model was pushed."""
        return self.is_below_baseline or self.not_compared > 0

    @property
    def headline(self) -> str:
        """The outcome in a few words."""
        below = ", below its baseline" if self.is_below_baseline else ""
        below += ", not compared with a damaged version" if self.not_compared else ""
        return {
            Outcome.PUSHED: f"Pushed as version {self.version}{below}",
            Outcome.REJECTED: "Rejected by the gate: nothing was pushed",
            Outcome.UP_TO_DATE: "Up to date: nothing was pushed",
            Outcome.STOPPED: "Stopped: the data did not pass validation",
            Outcome.FAILED: f"Failed in {self.failed_component or 'the run'}",
            Outcome.UNFINISHED: "Run incomplete",
        }[self.outcome]


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Points of one line, in the order in which they are joined."""

    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()


class MetricRow(NamedTuple):
    """One metric of both models, and the paired difference."""

    name: str
    candidate: Estimate
    baseline: Estimate | None = None
    difference: Estimate | None = None


@dataclass(frozen=True, kw_only=True)
class TrainingCurves:
    """Curves over steps, by name (loss, learning_rate, gap, ...), of training and validation."""

    steps: int = 0
    examples: int = 0
    examples_per_s: float | None = None
    training: dict[str, Curve] = field(default_factory=dict)
    validation: dict[str, Curve] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SplitSummary:
    """One split of the data."""

    name: str
    records: int
    shards: int
    bytes: int
    labelled: int
    quarantined: int = 0


@dataclass(frozen=True, kw_only=True)
class AnomalyRow:
    """One anomaly that ExampleValidator found."""

    split: str
    feature: str
    severity: str
    what: str


@dataclass(frozen=True, kw_only=True)
class ConfigChange:
    """One value that is not what it was."""

    key: str
    before: str
    now: str


@dataclass(frozen=True, kw_only=True)
class DataSummary:
    """The data of the run."""

    level: str = ""
    verified: str = ""
    digest: str = ""
    spans: tuple[int, ...] = ()
    dated: bool = False  # whether every span is a date
    splits: tuple[SplitSummary, ...] = ()
    labels_per_record: float | None = None  # on average, where there are any
    label_histogram: Curve | None = None  # x is the rank of a class, y its labels
    label_counts: dict[str, float] = field(default_factory=dict)  # by class id, most first
    compared_with: str = ""  # the run or version whose data `changes` is to
    changes: tuple[ConfigChange, ...] = ()
    validated: bool = False
    anomalies: tuple[AnomalyRow, ...] = ()
    comparisons: Comparisons = field(default_factory=Comparisons)


@dataclass(frozen=True, kw_only=True)
class RunReport:
    """One run."""

    pipeline: str = "yt8m"
    run_id: str = ""
    created: str = ""
    verdict: RunOutcome = field(default_factory=RunOutcome)
    decision: Decision | None = None  # the gate's
    evaluation: Evaluation | None = None
    infra_check: InfraCheckResult | None = None
    shown: ReportConfig = field(default_factory=ReportConfig)
    trials: tuple[TrialResult, ...] = ()  # the Tuner's, the best first
    training: TrainingCurves = field(default_factory=TrainingCurves)
    data: DataSummary = field(default_factory=DataSummary)
    components: tuple[NodeRecord, ...] = ()
    compared_with_version: int = 0  # the last pushed one, whose configuration `differences` is to
    differences: tuple[ConfigChange, ...] = ()
    configuration: dict[str, Any] = field(default_factory=dict)
    lineage: dict[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()  # what could not be read, so that nothing is missing silently

    @property
    def evaluated(self) -> Evaluation | Decision | None:
        """Who knows what was evaluated: `videos`, `examples`, `spans`, `dated`, `notes`."""
        return self.evaluation or self.decision

    @property
    def overall(self) -> SliceMetrics:
        """Metrics on all data, as the gate saw them; the evaluator's own without a decision."""
        if self.decision is not None:
            return SliceMetrics(
                examples=self.decision.examples,
                candidate=self.decision.metrics,
                baseline=self.decision.baseline_metrics,
                difference=self.decision.differences,
            )
        return self.evaluation.overall if self.evaluation else SliceMetrics()

    def metric(self, name: str) -> MetricInfo:
        """The metric's description, which may be the user's own."""
        return info_of(name, self.evaluation.metrics if self.evaluation else ())
