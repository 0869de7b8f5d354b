"""Contents of a YouTube-8M record: names, sizes, classes and the quantisation constants."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Annotated

from yt8m.schemas.config_tree import ConfigNode, require
from yt8m.schemas.limits import PositiveInt, not_empty

NUM_CLASSES = 3862  # the 2018 vocabulary
NUM_VERTICALS = 25
MAX_FRAMES = 300  # one frame a second
SEGMENT_FRAMES = 5

RGB = "rgb"
AUDIO = "audio"
FEATURE_SIZES = {RGB: 1024, AUDIO: 128}

# A stored byte q stands for q * 4/255 + 4/512 - 2, which lies in [-2, 2].
QUANTISED_MIN = -2.0
QUANTISED_MAX = 2.0
QUANTISED_LEVELS = 255
QUANTISED_RANGE = QUANTISED_MAX - QUANTISED_MIN
DEQUANTISE_SCALE = QUANTISED_RANGE / QUANTISED_LEVELS
DEQUANTISE_BIAS = QUANTISED_RANGE / 512.0 + QUANTISED_MIN

TRANSFORMED = "features"  # the vector that Transform makes of them
ID = "id"
LABELS = "labels"
SEGMENT_START_TIMES = "segment_start_times"
SEGMENT_END_TIMES = "segment_end_times"
SEGMENT_LABELS = "segment_labels"
SEGMENT_SCORES = "segment_scores"
PRESENT_SCORE = 0.5  # from here on a rating says yes; published scores are 0 or 1


class Level(enum.Enum):
    """Kind of record, as Google publishes them."""

    VIDEO = "video"
    FRAME = "frame"
    SEGMENT = "segment"

    @property
    def is_sequence(self) -> bool:
        """True where a record is a tf.SequenceExample."""
        return self is not Level.VIDEO

    @property
    def records_at_once(self) -> int:
        """As many as are worth a call of a model, and no more than memory has room for."""
        return 64 if self.is_sequence else 1024


class SegmentScoring(enum.Enum):
    """Method by which a model of whole videos scores a segment of five frames."""

    WINDOW = "window"  # the score of the five frames
    PRODUCT = "product"  # the product of that and the whole video's score
    MEAN = "mean"  # the mean of both


def record_key(name: str, level: Level) -> str:
    """The key under which feature `name` is stored in a record of `level`."""
    return name if level.is_sequence else f"mean_{name}"


@dataclass(frozen=True, kw_only=True)
class FeatureConfig(ConfigNode):
    """Features to read, and the number of classes."""

    # Names of the features, in the order in which they are concatenated.
    names: Annotated[tuple[str, ...], not_empty("at least one feature name")] = (RGB, AUDIO)
    # Length of each feature's vector, in the order of `names`.
    sizes: tuple[PositiveInt, ...] = (FEATURE_SIZES[RGB], FEATURE_SIZES[AUDIO])
    num_classes: PositiveInt = NUM_CLASSES  # Number of classes; labels are smaller than this
    # Number of frames per video that are read; later frames are ignored.
    max_frames: PositiveInt = MAX_FRAMES

    def __post_init__(self) -> None:
        super().__post_init__()
        require(len(set(self.names)) == len(self.names), "names", self.names, "distinct names")
        require(
            len(self.sizes) == len(self.names),
            "sizes",
            self.sizes,
            f"one size for each of the {len(self.names)} names",
        )

    @property
    def size_by_name(self) -> dict[str, int]:
        return dict(zip(self.names, self.sizes, strict=True))

    @property
    def total_size(self) -> int:
        """Length of the concatenated vector, 1152 for rgb and audio."""
        return sum(self.sizes)
