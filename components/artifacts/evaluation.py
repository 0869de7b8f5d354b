"""The metrics of one evaluation.

`metrics.json` in the evaluation artifact is `Evaluation` as JSON:

    level, top_k       video | frame | segment; classes of each video that count
    videos, examples   evaluated; examples are rows: segments at segment level, else videos
    spans              that the evaluated shards are of; empty where data have none
    dated              whether every span is a date
    confidence         level of all intervals, null without
    metrics            {name, title, is_share, lower_is_better} of each, in the order of display
    overall            {examples, videos, candidate, baseline, difference}: each of the last three
                       maps a metric's name to {value, lower, upper}, null where undefined;
                       baseline and difference are {} without one; `champion` and
                       `champion_difference` are those of the best version so far
    slices             a list of the same, with `column` and `value`
    classes            {class_id, name, positives, candidate, baseline}: average precision of
                       every class that has positives
    precision_recall   model -> points {score, precision, recall}, by rising recall
    calibration        model -> bins {low, high, count, mean_score, hit_rate}
    thresholds         class id -> points {score, precision, recall} of the most frequent classes
    operating_points   {asked, predictions, precision, recall, classes}: what thresholds by class
                       came to, each half of the videos decided by a fit of the other
    worst_videos       {name, loss, labels, predicted, scores} of the highest loss; names of classes
    confusions         {missed, instead, videos}: a label that ranks too low, and what ranks above
    notes              what a reader must know
    broken             model -> why it cannot be evaluated (predictions that are no numbers)
"""

from __future__ import annotations

from dataclasses import dataclass, field

from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.metrics.catalogue import MetricInfo
from yt8m.components.metrics.curves import CalibrationBin, CurvePoint
from yt8m.components.metrics.operating_points import OperatingPoint
from yt8m.schemas.features import Level
from yt8m.schemas.json_file import JsonFile

FILE_NAME = "metrics.json"


@dataclass(frozen=True, kw_only=True)
class SliceMetrics:
    """All data, or one slice of it."""

    column: str = ""
    value: str = ""
    examples: int = 0
    videos: int = 0
    candidate: dict[str, Estimate] = field(default_factory=dict)
    baseline: dict[str, Estimate] = field(default_factory=dict)
    difference: dict[str, Estimate] = field(default_factory=dict)
    # On all data alone: of the best version so far, and candidate - champion.
    champion: dict[str, Estimate] = field(default_factory=dict)
    champion_difference: dict[str, Estimate] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The slice as limits name it, `num_labels=5+`; empty for all data."""
        return f"{self.column}={self.value}" if self.column else ""


@dataclass(frozen=True, kw_only=True)
class ClassMetrics:
    """One class."""

    class_id: int
    name: str
    positives: int
    candidate: float
    baseline: float | None = None


@dataclass(frozen=True, kw_only=True)
class WrongVideo:
    """A video, or a segment of one, that the candidate is most wrong about."""

    name: str
    loss: float
    labels: tuple[str, ...]
    predicted: tuple[str, ...]  # the best first
    scores: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class ConfusedLabels:
    """In so many videos a label ranks below its place, and another class above its own."""

    missed: str
    instead: str
    videos: int


@dataclass(frozen=True, kw_only=True)
class Evaluation(JsonFile):
    """Everything that was found."""

    level: Level
    top_k: int
    videos: int
    examples: int
    overall: SliceMetrics
    metrics: tuple[MetricInfo, ...] = ()
    spans: tuple[int, ...] = ()
    dated: bool = False
    confidence: float | None = None
    slices: tuple[SliceMetrics, ...] = ()
    classes: tuple[ClassMetrics, ...] = ()
    precision_recall: dict[str, tuple[CurvePoint, ...]] = field(default_factory=dict)
    calibration: dict[str, tuple[CalibrationBin, ...]] = field(default_factory=dict)
    thresholds: dict[str, tuple[CurvePoint, ...]] = field(default_factory=dict)
    operating_points: tuple[OperatingPoint, ...] = ()
    worst_videos: tuple[WrongVideo, ...] = ()
    confusions: tuple[ConfusedLabels, ...] = ()
    notes: tuple[str, ...] = ()
    broken: dict[str, str] = field(default_factory=dict)

    @property
    def parts(self) -> tuple[SliceMetrics, ...]:
        """All data, then every slice."""
        return (self.overall, *self.slices)
