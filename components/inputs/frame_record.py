"""Videos of the sequence levels, whose frames are taken when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np

from yt8m.components.records.decode import Record, Value

Chosen = slice | np.ndarray  # which frames: a stretch of them, or their indices of any shape


class FrameRecord(Protocol):
    """A video's lists, and its frames wherever they lie."""

    @property
    def features(self) -> Mapping[str, Value]:
        """The lists of the whole video: id, labels, ratings."""
        ...

    @property
    def num_frames(self) -> int: ...

    def frames(self, chosen: Chosen) -> dict[str, np.ndarray]:
        """The chosen frames of each feature, `[..., size] uint8`."""
        ...


class DecodedFrames:
    """A decoded record; ValueError if its frames are not of the features of these `sizes`."""

    def __init__(self, record: Record, sizes: Mapping[str, int]) -> None:
        self.features = record.features
        self.by_name = {name: _frames_of(record, name, size) for name, size in sizes.items()}
        counts = {len(frames) for frames in self.by_name.values()}
        if len(counts) > 1:
            raise ValueError("features of a record differ in their number of frames")
        self.num_frames = counts.pop()

    def frames(self, chosen: Chosen) -> dict[str, np.ndarray]:
        """The chosen frames of each feature; of a stretch they are no copies."""
        return {name: values[chosen] for name, values in self.by_name.items()}


def _frames_of(record: Record, name: str, size: int) -> np.ndarray:
    frames = record.feature_lists.get(name)
    if not isinstance(frames, np.ndarray) or frames.shape[1] != size:
        raise ValueError(f"frames of feature {name} are not all of {size} bytes")
    return frames
