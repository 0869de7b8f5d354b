"""Settings of the evaluator: scored data, slices, intervals and the gate."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from yt8m.components.artifacts.decision import GateMode
from yt8m.schemas.config_tree import ConfigNode, require
from yt8m.schemas.features import SegmentScoring
from yt8m.schemas.limits import (
    Fraction,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    at_least,
    below,
    between,
    matches,
    not_empty,
)
from yt8m.schemas.metric_names import GAP
from yt8m.schemas.roles import Content, OwnCode, SourcePath


class SliceBy(enum.Enum):
    """Property of the evaluation data to slice by."""

    NUM_LABELS = "num_labels"
    NUM_FRAMES = "num_frames"
    VERTICAL = "vertical"  # a video counts in the vertical of each of its labels
    FEATURE = "feature"  # a feature of the record (video level) or of its context


@dataclass(frozen=True, kw_only=True)
class SliceConfig(ConfigNode):
    """One way to slice the data. Counts need `edges`: [2, 5] gives <2, 2-4 and 5+."""

    by: SliceBy
    edges: tuple[PositiveInt, ...] = ()  # Lower bounds of the slices of counts, ascending
    feature: str = ""  # Name of the feature, with `by: feature`

    def __post_init__(self) -> None:
        super().__post_init__()
        counts = self.by in (SliceBy.NUM_LABELS, SliceBy.NUM_FRAMES)
        ascending = all(a < b for a, b in zip(self.edges, self.edges[1:], strict=False))
        require(
            bool(self.edges) == counts and ascending,
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
class IntervalsConfig(ConfigNode):
    """Confidence intervals of all metrics, computed by the jackknife over videos."""

    enabled: bool = True  # Compute confidence intervals
    level: Annotated[float, at_least(0.5), below(1)] = 0.95  # Confidence level of the intervals
    # Number of videos above which intervals are computed from a random sample of this size; a
    # note in the evaluation says so.
    max_videos: Annotated[int, at_least(100)] = 20_000
    seed: NonNegativeInt = 0  # Seed for sampling the videos of the confidence intervals


class EvaluatedSpans(enum.Enum):
    """Spans of a window that the model is evaluated on."""

    NEWEST = "newest"  # the data most like what the model will meet in production
    ALL = "all"


def _metric_code(eval_config: str) -> tuple[str, ...]:
    """The code that a tfma.EvalConfig takes metrics from, apart from TFMA's own.

    TFMA itself looks for the classes (`check_user_metrics`).
    """
    named = re.findall(r"""\bmodule\s*:\s*["']([\w.]+)["']""", eval_config)
    own = [name for name in named if not name.startswith("tensorflow_model_analysis")]
    return tuple(f"{name}.*" for name in own)


@dataclass(frozen=True, kw_only=True)
class EvaluatorConfig(ConfigNode):
    """The evaluation: data, slices, metrics and their confidence intervals."""

    RENAMED: ClassVar[Mapping[str, str]] = {"bootstrap": "intervals"}

    # Split that the model is evaluated on.
    split: Annotated[str, not_empty("the name of a split")] = "eval"
    spans: EvaluatedSpans = EvaluatedSpans.NEWEST
    # Rows per batch; null: 1024 videos, or 64 for records with frames.
    batch_size: PositiveInt | None = None
    # Method by which a frame-level model scores rated segments; null: score whole videos.
    segments: SegmentScoring | None = None
    # Model that scores the whole videos for `segments`; empty: the same model.
    context: Annotated[str, SourcePath(Content.MODEL)] = ""
    top_k: PositiveInt = 20  # Number of predictions per video that GAP counts
    slices: tuple[SliceConfig, ...] = ()  # Slices for which metrics are also computed
    # Path of a vocabulary.csv with the names of the classes; required for slices by vertical.
    vocabulary: Annotated[str, SourcePath(Content.FILE)] = ""
    intervals: IntervalsConfig = field(default_factory=IntervalsConfig)
    # Fit thresholds by class to the evaluated videos: the pushed model's signature `decisions` then
    # says which classes to accept at a wanted precision.
    operating_points: bool = False
    # Custom metrics to compute, each a dotted path.
    metrics: Annotated[tuple[str, ...], OwnCode(tuple)] = ()
    # A tfma.EvalConfig as protobuf text, whose metrics TFMA computes and whose thresholds the gate
    # applies. TFMA looks at every example separately, which is slower.
    eval_config: Annotated[str, OwnCode(_metric_code)] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        needed = not self.context or self.segments in (SegmentScoring.PRODUCT, SegmentScoring.MEAN)
        require(needed, "context", self.context, "omitted unless segments is product or mean")
        columns = [s.column for s in self.slices]
        require(len(set(columns)) == len(columns), "slices", columns, "distinct")
        vertical = any(s.by is SliceBy.VERTICAL for s in self.slices)
        named = bool(self.vocabulary) or not vertical
        require(named, "vocabulary", self.vocabulary, "a vocabulary.csv, to slice by vertical")


@dataclass(frozen=True, kw_only=True)
class Threshold(ConfigNode):
    """Limit of one metric, on all data or on a slice such as `num_labels=5+`."""

    # Name of the metric: built-in, or from `evaluator.metrics` or `evaluator.eval_config`.
    metric: str
    # Slice that the limit applies to; empty: all data.
    slice: Annotated[str, matches(r"|[^=]+=.+", "written name=value, e.g. num_labels=5+")] = ""
    minimum: float | None = None  # Lower limit of the metric's value
    maximum: float | None = None  # Upper limit of the metric's value
    min_change: float | None = None  # Lower limit of the candidate's value minus the baseline's
    # Upper limit of the candidate's value minus the baseline's, e.g. for loss.
    max_change: float | None = None
    min_relative_change: float | None = None  # Lower limit of (candidate - baseline) / baseline
    # Require that the lower bound of the confidence interval clears the limit.
    confident: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        upper = (self.maximum, self.max_change)
        limits = (self.minimum, self.min_change, self.min_relative_change, *upper)
        some = any(limit is not None for limit in limits)
        require(some, "minimum", None, "set, or set another limit")
        sure = not self.confident or upper == (None, None)
        require(sure, "confident", self.confident, "false for an upper limit")

    @property
    def binds_without_baseline(self) -> bool:
        """Whether it binds without a baseline too."""
        return self.minimum is not None or self.maximum is not None


@dataclass(frozen=True, kw_only=True)
class GateConfig(ConfigNode):
    """The gate: limits that a model must meet to be blessed."""

    mode: GateMode = GateMode.ENFORCE
    gap_threshold: Fraction | None = None  # Lowest GAP allowed
    # Lowest change of GAP against the baseline allowed; 0: at least as good; null: any.
    gap_change_threshold: Annotated[float, between(-1, 1)] | None = -0.01
    # Lowest change of GAP allowed, as a share of the baseline's GAP.
    gap_relative_change_threshold: float | None = None
    # Require that the lower bounds of the confidence intervals clear the three limits on GAP.
    confident: bool = False
    # Number of evaluated rows below which the gate rejects the model.
    min_examples: PositiveInt = 1_000
    thresholds: tuple[Threshold, ...] = ()  # Limits on other metrics and on slices
    # Upper limit of the 99th percentile latency of one-record requests, measured by the infra
    # check.
    max_latency_ms: PositiveFloat | None = None
    # Upper limit of the serving process's peak memory, measured by the infra check.
    max_memory_mb: PositiveFloat | None = None

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
