"""Generated video-level records: the sum of the labels' directions and noise, one vector each."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from yt8m.components.extras.synthetic.labels import BLOCK, Stream
from yt8m.components.extras.synthetic.spec import DatasetSpec
from yt8m.components.extras.synthetic.world import ClassKind, World
from yt8m.components.records.wire import (
    bytes_feature,
    encode_example,
    float_feature,
    int64_feature,
)
from yt8m.schemas.features import (
    DEQUANTISE_BIAS,
    DEQUANTISE_SCALE,
    ID,
    LABELS,
    QUANTISED_LEVELS,
    RGB,
    Level,
    record_key,
)

LOWEST = np.float32(DEQUANTISE_BIAS)  # what the bytes 0 and 255 stand for
HIGHEST = np.float32(DEQUANTISE_BIAS + QUANTISED_LEVELS * DEQUANTISE_SCALE)
_STRENGTH = (0.35, 1.0)  # how clearly a label shows in a video
# Noise a dimension, near that of the published features, and the length of a clear label.
NOISE = {RGB: 0.40}
OTHER_NOISE = 0.53
SIGNAL = 8.0  # in units of the feature's noise


def scales(spec: DatasetSpec) -> tuple[np.ndarray, np.ndarray]:
    """Noise and length of a label's signal in each dimension of the concatenated vector."""
    noise = [np.full(size, NOISE.get(name, OTHER_NOISE)) for name, size in spec.sizes.items()]
    joined = np.concatenate(noise).astype(np.float32)
    return joined, joined * np.float32(SIGNAL)


def label_strengths(rng: np.random.Generator, count: int) -> np.ndarray:
    """[count] float32: how strong each label of a video is."""
    low, high = _STRENGTH
    return (low + (high - low) * rng.random(count, dtype=np.float32)).astype(np.float32)


def label_signs(rng: np.random.Generator, kinds: np.ndarray) -> np.ndarray:
    """[count] float32: -1 or 1 for labels of two-sided classes, 1 for the others."""
    drawn = rng.integers(0, 2, len(kinds))
    return np.where((kinds == ClassKind.TWO_SIDED) & (drawn == 1), -1, 1).astype(np.float32)


class VideoRecords:
    """Blocks of serialized tf.Examples."""

    def __init__(self, spec: DatasetSpec, world: World) -> None:
        self._world = world
        self._noise, self._signal = scales(spec)
        self._columns = {
            record_key(name, Level.VIDEO): columns for name, columns in spec.columns.items()
        }

    def records(
        self, stream: Stream, block: int, rows: range, labels: list[list[int]], *, labelled: bool
    ) -> Iterator[bytes]:
        """The records of `rows` of the block; without labels in them where not `labelled`."""
        vectors = self._vectors(stream.features(block), labels)
        for i in rows:
            features = {ID: bytes_feature(stream.video_id(block * BLOCK + i))}
            if labelled:
                features[LABELS] = int64_feature(labels[i])
            for key, columns in self._columns.items():
                features[key] = float_feature(vectors[i, columns])
            yield encode_example(features)

    def _vectors(self, rng: np.random.Generator, labels: list[list[int]]) -> np.ndarray:
        """[BLOCK, total size] float32 in the dequantised range."""
        world = self._world
        flat = np.concatenate([np.asarray(row) for row in labels])
        strengths = label_strengths(rng, len(flat))[:, None]
        signs = label_signs(rng, world.kinds[flat])[:, None]
        looks = (world.own[flat] * signs + world.shared[world.verticals[flat]]) * strengths
        starts = np.cumsum([0, *(len(row) for row in labels)])[:-1]
        vectors = rng.standard_normal((BLOCK, looks.shape[1]), dtype=np.float32)
        vectors *= self._noise
        vectors += np.add.reduceat(looks, starts, axis=0) * self._signal
        return np.clip(vectors, LOWEST, HIGHEST, out=vectors)
