"""The specification of a generated data set."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import Annotated

from yt8m.schemas.config_tree import ConfigNode, require
from yt8m.schemas.features import (
    AUDIO,
    FEATURE_SIZES,
    MAX_FRAMES,
    NUM_CLASSES,
    RGB,
    SEGMENT_FRAMES,
    Level,
)
from yt8m.schemas.limits import NonNegativeInt, PositiveInt, at_least, between, not_empty

RATED_SEGMENTS = 5
MAX_SPANS = 4096
SPLITS = ("train", "validate", "test")  # by the names of their files


@dataclass(frozen=True, kw_only=True)
class DatasetSpec(ConfigNode):
    """The records of a data set follow from these values alone; `shards` and `spans` only say how
    many files hold them, and how many spans of this size there are."""

    level: Level = Level.VIDEO
    train: NonNegativeInt = 0
    eval: NonNegativeInt = 0
    test: NonNegativeInt = 0
    classes: Annotated[int, at_least(2)] = NUM_CLASSES
    shards: PositiveInt = 1  # of each split, and of each span
    seed: Annotated[int, between(0, 2**63 - 1)] = 0
    spans: int | None = None  # None: no span directories
    temporal: bool = False
    min_frames: int = 120
    max_frames: int = MAX_FRAMES
    sizes: Annotated[dict[str, PositiveInt], not_empty("at least one feature")] = field(
        default_factory=lambda: {RGB: FEATURE_SIZES[RGB], AUDIO: FEATURE_SIZES[AUDIO]}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.train + self.eval + self.test > 0, "train", 0, "positive, or eval or test")
        require(self.spans is None or 1 <= self.spans < MAX_SPANS, "spans", self.spans, "1 to 4095")
        require(
            not self.temporal or self.level.is_sequence,
            "temporal",
            self.temporal,
            "false at level video, whose records have no frames",
        )
        shortest = RATED_SEGMENTS + SEGMENT_FRAMES - 1 if self.level is Level.SEGMENT else 2
        require(
            shortest <= self.min_frames <= self.max_frames,
            "min_frames",
            self.min_frames,
            f"from {shortest} to max_frames ({self.max_frames}) at level {self.level.value}",
        )

    def examples(self, split: str) -> int:
        """Records of `split` in each span."""
        return {"train": self.train, "validate": self.eval, "test": self.test}[split]

    @property
    def columns(self) -> dict[str, slice]:
        """Where each feature lies in the concatenated vector."""
        ends = accumulate(self.sizes.values())
        pairs = zip(self.sizes.items(), ends, strict=True)
        return {name: slice(end - size, end) for (name, size), end in pairs}

    @property
    def total_examples(self) -> int:
        return (self.train + self.eval + self.test) * (self.spans or 1)
