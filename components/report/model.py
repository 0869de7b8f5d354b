"""Everything that a report says, typed; `report.json` is this, and the page is drawn from it.

Whatever a run did not come to is empty or None: a run may end at any component.
"""

from __future__ import annotations

import enum
import json
from dataclasses import dataclass, field
from typing import Any

from yt8m.schemas.config_tree import from_dict, to_dict


class Outcome(enum.Enum):
    """How the run ended, as far as models go."""

    PUSHED = "pushed"
    HELD_BACK = "held back"  # by the gate
    STOPPED = "stopped"  # bad data
    FAILED = "failed"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """A number with its interval; None where undefined or not worked out."""

    value: float | None = None
    lower: float | None = None
    upper: float | None = None


@dataclass(frozen=True, kw_only=True)
class VerdictFacts:
    """What came of it, and why."""

    outcome: Outcome = Outcome.UNFINISHED
    reason: str = ""
    version: int = 0
    destination: str = ""
    failed_component: str = ""
    baseline_version: int = 0  # 0 is none


@dataclass(frozen=True, kw_only=True)
class MetricFacts:
    """One metric of the candidate, of the baseline, and the paired difference."""

    name: str
    candidate: Estimate
    baseline: Estimate | None = None
    difference: Estimate | None = None


@dataclass(frozen=True, kw_only=True)
class CheckFacts:
    """One threshold of the gate."""

    metric: str
    needed: str  # "at least 0.7"
    observed: float | None
    passed: bool
    slice_name: str = ""
    applied: bool = True  # false: a change was asked for, and there is no baseline
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class CurveFacts:
    """Points of one line, in the order in which they are joined."""

    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()
    weight: tuple[float, ...] = ()  # of a calibration bin: how many predictions fell into it


@dataclass(frozen=True, kw_only=True)
class ClassFacts:
    """One class and its average precision."""

    class_id: int
    name: str
    positives: int
    candidate: float
    baseline: float | None = None


@dataclass(frozen=True, kw_only=True)
class SliceFacts:
    """GAP of a part of the evaluation data."""

    name: str
    examples: int
    candidate: Estimate
    baseline: Estimate | None = None


@dataclass(frozen=True, kw_only=True)
class EvaluationFacts:
    """What the evaluator found."""

    videos: int = 0
    examples: int = 0  # rows: rated segments at segment level, else videos
    spans: tuple[int, ...] = ()  # that they are of; empty where data have none
    confidence: float | None = None  # of the intervals, e.g. 0.95
    notes: tuple[str, ...] = ()  # what the reader must know, e.g. of a sampled bootstrap
    metrics: tuple[MetricFacts, ...] = ()
    checks: tuple[CheckFacts, ...] = ()
    slices: tuple[SliceFacts, ...] = ()
    best_classes: tuple[ClassFacts, ...] = ()
    worst_classes: tuple[ClassFacts, ...] = ()
    classes: int = 0  # that have positives
    precision_recall: dict[str, CurveFacts] = field(default_factory=dict)  # by model
    calibration: dict[str, CurveFacts] = field(default_factory=dict)  # by model


@dataclass(frozen=True, kw_only=True)
class TrainingFacts:
    """Curves over steps, by name (loss, learning_rate, gap, ...), of training and validation."""

    steps: int = 0
    examples: int = 0
    examples_per_s: float | None = None
    training: dict[str, CurveFacts] = field(default_factory=dict)
    validation: dict[str, CurveFacts] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class SplitFacts:
    """One split of the data."""

    name: str
    records: int
    shards: int
    bytes: int
    labelled: int
    quarantined: int = 0


@dataclass(frozen=True, kw_only=True)
class AnomalyFacts:
    """One thing that validation found."""

    split: str
    feature: str
    severity: str
    what: str


@dataclass(frozen=True, kw_only=True)
class DriftFacts:
    """How far two statistics of one feature are apart, as a Jensen-Shannon divergence."""

    feature: str
    distance: float
    threshold: float | None = None


@dataclass(frozen=True, kw_only=True)
class DataFacts:
    """What went in."""

    level: str = ""
    verified: str = ""
    digest: str = ""
    spans: tuple[int, ...] = ()
    splits: tuple[SplitFacts, ...] = ()
    labels_per_record: float | None = None  # on average, where there are any
    label_histogram: CurveFacts | None = None  # x is the rank of a class, y its labels
    validated: bool = False
    anomalies: tuple[AnomalyFacts, ...] = ()
    drift: tuple[DriftFacts, ...] = ()  # train against the data of the baseline
    skew: tuple[DriftFacts, ...] = ()  # train against eval


@dataclass(frozen=True, kw_only=True)
class ComponentFacts:
    """One component of the run."""

    name: str
    state: str
    seconds: float = 0.0
    peak_mib: float = 0.0
    figure: str = ""
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One value of the configuration that is not what the last pushed run had."""

    key: str
    before: str
    now: str


@dataclass(frozen=True, kw_only=True)
class ReportFacts:
    """One run."""

    pipeline: str = "yt8m"
    run_id: str = ""
    created: str = ""
    verdict: VerdictFacts = field(default_factory=VerdictFacts)
    evaluation: EvaluationFacts = field(default_factory=EvaluationFacts)
    training: TrainingFacts = field(default_factory=TrainingFacts)
    data: DataFacts = field(default_factory=DataFacts)
    components: tuple[ComponentFacts, ...] = ()
    compared_with_version: int = 0  # the last pushed one, whose configuration `differences` is to
    differences: tuple[Difference, ...] = ()
    configuration: dict[str, Any] = field(default_factory=dict)
    lineage: dict[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()  # what could not be read, so that nothing is missing silently

    def to_json(self) -> str:
        return json.dumps(to_dict(self), indent=1, allow_nan=False)


def parse_facts(text: str) -> ReportFacts:
    """The inverse of `ReportFacts.to_json`."""
    return from_dict(ReportFacts, json.loads(text))
