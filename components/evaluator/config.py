"""The evaluator: what is scored, by which slices, with which intervals; and the gate."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from yt8m.components.artifacts.decision import GateMode
from yt8m.schemas.config_tree import require

GAP = "gap"


class SliceBy(enum.Enum):
    """What the evaluation data may be sliced by."""

    NUM_LABELS = "num_labels"
    NUM_FRAMES = "num_frames"
    VERTICAL = "vertical"  # a video counts in each vertical that one of its labels belongs to
    FEATURE = "feature"  # a feature of the record (video level) or of its context


@dataclass(frozen=True, kw_only=True)
class SliceConfig:
    """One way to slice the data. Counts need `edges`: [2, 5] gives <2, 2-4 and 5+."""

    by: SliceBy
    edges: tuple[int, ...] = ()
    feature: str = ""

    def __post_init__(self) -> None:
        counts = self.by in (SliceBy.NUM_LABELS, SliceBy.NUM_FRAMES)
        ascending = all(a < b for a, b in zip(self.edges, self.edges[1:], strict=False))
        good = ascending and all(edge > 0 for edge in self.edges)
        require(
            bool(self.edges) == counts and good,
            "edges",
            self.edges,
            "ascending whole numbers of 1 or more, e.g. [2, 5]" if counts else "left out",
        )
        require(
            bool(self.feature) == (self.by is SliceBy.FEATURE),
            "feature",
            self.feature,
            "the name of a feature" if self.by is SliceBy.FEATURE else "left out",
        )

    @property
    def column(self) -> str:
        """The slice's name in TFMA and in the report."""
        return self.feature or self.by.value


@dataclass(frozen=True, kw_only=True)
class BootstrapConfig:
    """Intervals by resampling videos."""

    replicates: int = 200  # 0 is no intervals
    level: float = 0.95
    max_videos: int = 20_000  # a larger evaluation set is sampled, and the decision says so
    seed: int = 0

    def __post_init__(self) -> None:
        enough = self.replicates == 0 or self.replicates >= 20
        require(enough, "replicates", self.replicates, "0, or 20 or more")
        require(0.5 <= self.level < 1, "level", self.level, "at least 0.5 and below 1")
        require(self.max_videos >= 100, "max_videos", self.max_videos, "100 or more")
        require(self.seed >= 0, "seed", self.seed, "0 or more")


class EvaluatedSpans(enum.Enum):
    """Which spans of a window a model is evaluated on."""

    NEWEST = "newest"  # the data most like those that it will meet
    ALL = "all"


@dataclass(frozen=True, kw_only=True)
class EvaluatorConfig:
    """The evaluator node of the configuration."""

    split: str = "eval"
    spans: EvaluatedSpans = EvaluatedSpans.NEWEST
    batch_size: int | None = None  # None: 1024 videos, or 64 where records hold frames
    top_k: int = 20
    slices: tuple[SliceConfig, ...] = ()
    vocabulary: str = ""  # a vocabulary.csv: names the classes; slices by vertical need it
    bootstrap: BootstrapConfig = field(default_factory=BootstrapConfig)
    # A tfma.EvalConfig as protobuf text: its metrics are computed beside ours, by TFMA itself,
    # and its thresholds count. Slower: TFMA looks at every example on its own.
    eval_config: str = ""

    def __post_init__(self) -> None:
        require(bool(self.split), "split", self.split, "the name of a split")
        big = self.batch_size is None or self.batch_size > 0
        require(big, "batch_size", self.batch_size, "1 or more, or null")
        require(self.top_k >= 1, "top_k", self.top_k, "1 or more")
        columns = [s.column for s in self.slices]
        require(len(set(columns)) == len(columns), "slices", columns, "distinct")
        vertical = any(s.by is SliceBy.VERTICAL for s in self.slices)
        named = bool(self.vocabulary) or not vertical
        require(named, "vocabulary", self.vocabulary, "a vocabulary.csv, to slice by vertical")


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """What one metric must reach, on all data or on a slice such as `num_labels=5+`."""

    metric: str  # gap, map, perr, hit_at_1, loss, or a metric of `evaluator.eval_config`
    slice: str = ""
    minimum: float | None = None
    maximum: float | None = None
    min_change: float | None = None  # candidate - baseline, at least
    max_change: float | None = None  # the same, at most; for loss
    min_relative_change: float | None = None  # (candidate - baseline) / baseline, at least
    confident: bool = False  # not the point but the interval's lower bound must; GAP only

    def __post_init__(self) -> None:
        upper = (self.maximum, self.max_change)
        limits = (self.minimum, self.min_change, self.min_relative_change, *upper)
        some = any(limit is not None for limit in limits)
        require(some, "minimum", None, "given, or another limit")
        sure = not self.confident or (self.metric == GAP and upper == (None, None))
        require(sure, "confident", self.confident, "false for an upper limit and for all but gap")
        key, equals, value = self.slice.partition("=")
        named = not self.slice or bool(key and equals and value)
        require(named, "slice", self.slice, "written name=value, e.g. num_labels=5+")

    @property
    def asks_value(self) -> bool:
        """Whether it binds without a baseline too."""
        return self.minimum is not None or self.maximum is not None


@dataclass(frozen=True, kw_only=True)
class GateConfig:
    """The gate node of the configuration."""

    mode: GateMode = GateMode.ENFORCE
    gap_threshold: float | None = None  # GAP at least
    gap_change_threshold: float | None = None  # GAP - the baseline's at least; 0: not worse
    gap_relative_change_threshold: float | None = None
    confident: bool = False  # the lower bounds of the intervals must clear these three
    min_examples: int = 1  # fewer evaluated rows bless nothing
    thresholds: tuple[Threshold, ...] = ()

    def __post_init__(self) -> None:
        gap = self.gap_threshold
        require(gap is None or 0 <= gap <= 1, "gap_threshold", gap, "between 0 and 1")
        change = self.gap_change_threshold
        fits = change is None or -1 <= change <= 1
        require(fits, "gap_change_threshold", change, "between -1 and 1")
        require(self.min_examples >= 1, "min_examples", self.min_examples, "1 or more")

    @property
    def all_thresholds(self) -> tuple[Threshold, ...]:
        """The three on GAP and the others, in one form."""
        gap = (
            self.gap_threshold,
            self.gap_change_threshold,
            self.gap_relative_change_threshold,
        )
        if all(limit is None for limit in gap):
            return self.thresholds
        own = Threshold(
            metric=GAP,
            minimum=gap[0],
            min_change=gap[1],
            min_relative_change=gap[2],
            confident=self.confident,
        )
        return (own, *self.thresholds)
