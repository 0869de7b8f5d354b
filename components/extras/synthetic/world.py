"""The classes of a generated data set: how often they occur, what they look like, how they relate.

A class belongs to a vertical and has a direction in feature space: partly its vertical's, partly
its own. Three kinds of class ask more of a model than a direction:

* two-sided: its own direction comes with a random sign, so that a linear model sees only the
  vertical's share of it, and a hidden layer sees all;
* burst (`temporal`): its own direction appears in a few frames and is made up for in the others,
  so that the mean over the frames is zero and only a model that looks at single frames sees it;
* order (`temporal`): two classes share a direction that is positive in one half of the video and
  negative in the other; which half comes first is the class. The set of frames is the same for
  both, so that only a model that knows their order can tell.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass

import numpy as np

from yt8m.components.extras.synthetic.spec import DatasetSpec
from yt8m.schemas.features import NUM_CLASSES, NUM_VERTICALS

RATED_CLASSES = 1000  # of NUM_CLASSES have ratings in the published data
_ZIPF_EXPONENT = 1.0
_ZIPF_SHIFT = 2.0  # flattens the head, as in the published counts
_VERTICAL_SHARE = 0.12  # of a class's energy comes from its vertical


class ClassKind(enum.IntEnum):
    """Way in which a class shows itself."""

    PLAIN = 0
    TWO_SIDED = 1
    BURST = 2
    ORDER_FIRST = 3  # positive half first; the class after it is its partner
    ORDER_SECOND = 4


# Of every four classes in a row; index 0 is the most frequent one of the four.
_KINDS = (ClassKind.PLAIN, ClassKind.TWO_SIDED, ClassKind.PLAIN, ClassKind.PLAIN)
_TEMPORAL_KINDS = (ClassKind.PLAIN, ClassKind.BURST, ClassKind.ORDER_FIRST, ClassKind.ORDER_SECOND)


@dataclass(frozen=True)
class World:
    """Everything about the classes; follows from the seed, their number and the features' sizes."""

    probabilities: np.ndarray  # [classes] float64, of being a video's first label
    verticals: np.ndarray  # [classes] int64
    kinds: np.ndarray  # [classes] int64, of ClassKind
    shared: np.ndarray  # [NUM_VERTICALS, total size] float32
    own: np.ndarray  # [classes, total size] float32
    rated: np.ndarray  # sorted class ids that segments are rated for


def create_world(spec: DatasetSpec) -> World:
    """The world of `spec`; numbers of examples, files and spans have no part in it."""
    rng = np.random.default_rng([spec.seed, 0])
    kinds = _kinds(spec.classes, temporal=spec.temporal)
    own = _directions(rng, spec.classes, spec.sizes)
    second = np.flatnonzero(kinds == ClassKind.ORDER_SECOND)
    own[second] = own[second - 1]
    ranks = np.arange(spec.classes)
    weights = 1.0 / (ranks + 1 + _ZIPF_SHIFT) ** _ZIPF_EXPONENT
    on_screen = np.flatnonzero(
        kinds <= ClassKind.BURST
    )  # at certain times, so that raters could tell
    rated = min(len(on_screen), max(10, round(spec.classes * RATED_CLASSES / NUM_CLASSES)))
    return World(
        probabilities=weights / weights.sum(),
        verticals=_verticals(rng, spec.classes),
        kinds=kinds,
        shared=_directions(rng, NUM_VERTICALS, spec.sizes) * np.float32(_VERTICAL_SHARE**0.5),
        own=own * np.float32((1 - _VERTICAL_SHARE) ** 0.5),
        rated=np.sort(rng.permutation(on_screen)[:rated]),
    )


def _kinds(classes: int, *, temporal: bool) -> np.ndarray:
    pattern = _TEMPORAL_KINDS if temporal else _KINDS
    kinds = np.resize(np.array(pattern, dtype=np.int64), classes)
    if kinds[-1] == ClassKind.ORDER_FIRST:  # its partner would be beyond the end
        kinds[-1] = ClassKind.PLAIN
    return kinds


def _directions(rng: np.random.Generator, count: int, sizes: dict[str, int]) -> np.ndarray:
    """[count, total size] float32 of unit length in each feature, so that each tells the class."""
    parts = []
    for size in sizes.values():
        drawn = rng.standard_normal((count, size))
        parts.append(drawn / np.sqrt((drawn**2).sum(axis=1, keepdims=True)))
    return np.hstack(parts).astype(np.float32)


def _verticals(rng: np.random.Generator, classes: int) -> np.ndarray:
    """Verticals of unequal size, each of which has a class when there are enough of them."""
    weights = 1.0 / np.arange(1, NUM_VERTICALS + 1)
    drawn = rng.choice(NUM_VERTICALS, size=classes, p=weights / weights.sum())
    drawn[:NUM_VERTICALS] = rng.permutation(NUM_VERTICALS)[:classes]
    return drawn
