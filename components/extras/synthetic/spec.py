"""The specification of a generated data set."""

from __future__ import annotations

from dataclasses import dataclass, field

from yt8m.schemas.config_tree import require
from yt8m.schemas.features import (
    AUDIO,
    FEATURE_SIZES,
    MAX_FRAMES,
    NUM_CLASSES,
    RGB,
    SEGMENT_FRAMES,
    Level,
)

RATED_SEGMENTS = 5
MAX_SPANS = 4096
SPLITS = ("train", "validate", "test")  # by the names of their files


@dataclass(frozen=True, kw_only=True)
class DatasetSpec:
    """The records of a data set follow from these values alone; `shards` and `spans` only say how
    many files hold them, and how many spans of this size there are."""

    level: Level = Level.VIDEO
    train: int = 0
    eval: int = 0
    test: int = 0
    classes: int = NUM_CLASSES
    shards: int = 1  # of each split, and of each span
    seed: int = 0
    spans: int | None = None  # None: no span directories
    temporal: bool = False
    min_frames: int = 120
    max_frames: int = MAX_FRAMES
    sizes: dict[str, int] = field(
        default_factory=lambda: {RGB: FEATURE_SIZES[RGB], AUDIO: FEATURE_SIZES[AUDIO]}
    )

    def __post_init__(self) -> None:
        for name, count in (("train", self.train), ("eval", self.eval), ("test", self.test)):
            require(count >= 0, name, count, "0 or more")
        require(self.train + self.eval + self.test > 0, "train", 0, "positive, or eval or test")
        require(self.classes >= 2, "classes", self.classes, "2 or more")
        require(self.shards >= 1, "shards", self.shards, "1 or more")
        require(0 <= self.seed < 2**63, "seed", self.seed, "from 0 to 2**63 - 1")
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
        require(bool(self.sizes), "sizes", self.sizes, "at least one feature")
        for name, size in self.sizes.items():
            require(size >= 1, "sizes", {name: size}, "1 or more each")

    def examples(self, split: str) -> int:
        """Records of `split` in each span."""
        return {"train": self.train, "validate": self.eval, "test": self.test}[split]

    @property
    def total_examples(self) -> int:
        return (self.train + self.eval + self.test) * (self.spans or 1)
