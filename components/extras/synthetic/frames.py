"""Generated frame-level and segment-rated records: a video's background, labels and frames."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from yt8m.components.extras.synthetic.labels import BLOCK, Stream
from yt8m.components.extras.synthetic.spec import RATED_SEGMENTS, DatasetSpec
from yt8m.components.extras.synthetic.video import label_signs, label_strengths, scales
from yt8m.components.extras.synthetic.world import ClassKind, World
from yt8m.components.records.wire import (
    bytes_feature,
    encode_sequence_example,
    frames_feature_list,
    int64_feature,
    segment_ratings,
)
from yt8m.schemas.features import (
    DEQUANTISE_BIAS,
    DEQUANTISE_SCALE,
    ID,
    LABELS,
    QUANTISED_LEVELS,
    SEGMENT_FRAMES,
    Level,
)

_SHORTEST_SHOW = 0.4  # of the video in which a label is on screen
_BURST = 0.05  # of the video
_BURST_GAIN = 1.5
_RATES_A_LABEL = 0.8  # chance that a segment is rated for a class that the video has
_BYTE_NOISE_MEAN = 64  # of the sum of two random bytes over four, whose deviation is 26 levels


@dataclass(frozen=True)
class _Shown:
    """A video's labels over its frames."""

    shared: np.ndarray  # [labels, frames] float32: of the vertical's direction
    own: np.ndarray  # [labels, frames] float32: of the class's own direction
    on_screen: np.ndarray  # [labels, frames] bool


class FrameRecords:
    """Blocks of serialized tf.SequenceExamples, with ratings at segment level."""

    def __init__(self, spec: DatasetSpec, world: World) -> None:
        self._spec, self._world = spec, world
        self._noise, self._signal = scales(spec)
        self._columns = spec.columns

    def records(
        self, stream: Stream, block: int, rows: range, labels: list[list[int]], *, labelled: bool
    ) -> Iterator[bytes]:
        """The records of `rows` of the block; without labels and ratings where not `labelled`."""
        for i in rows:
            index = block * BLOCK + i
            rng = stream.features(index)
            video_id = stream.video_id(index)
            yield self._record(rng, video_id, np.asarray(labels[i]), labelled=labelled)

    def _record(
        self, rng: np.random.Generator, video_id: bytes, labels: np.ndarray, *, labelled: bool
    ) -> bytes:
        spec = self._spec
        count = int(rng.integers(spec.min_frames, spec.max_frames + 1))
        shown = self._show(rng, labels, count)
        frames = self._frames(rng, labels, shown)
        ratings = self._ratings(rng, labels, shown) if spec.level is Level.SEGMENT else {}
        context = {ID: bytes_feature(video_id)}
        if labelled:
            context |= {LABELS: int64_feature(labels), **ratings}
        lists = {name: frames_feature_list(frames[:, c]) for name, c in self._columns.items()}
        return encode_sequence_example(context, lists)

    def _show(self, rng: np.random.Generator, labels: np.ndarray, count: int) -> _Shown:
        kinds = self._world.kinds[labels]
        strengths = label_strengths(rng, len(labels))[:, None]
        signs = label_signs(rng, kinds)[:, None]
        lengths = _SHORTEST_SHOW + (1 - _SHORTEST_SHOW) * rng.random(len(labels))
        starts = rng.random(len(labels)) * (1 - lengths)
        now = (np.arange(count) + 0.5) / count
        on_screen = (starts[:, None] <= now) & (now <= (starts + lengths)[:, None])
        own = np.stack(
            [_course(kind, on, rng) for kind, on in zip(kinds.tolist(), on_screen, strict=True)]
        )
        shared = np.where((kinds < ClassKind.BURST)[:, None], on_screen, 0)
        on_screen = np.where((kinds == ClassKind.BURST)[:, None], own > 0, on_screen)
        return _Shown(
            shared=(shared * strengths).astype(np.float32),
            own=(own * signs * strengths).astype(np.float32),
            on_screen=on_screen,
        )

    def _frames(self, rng: np.random.Generator, labels: np.ndarray, shown: _Shown) -> np.ndarray:
        """[frames, total size] uint8. Sums run label by label: the same on every machine."""
        size = len(self._noise)
        count = shown.own.shape[1]
        background = rng.standard_normal(size, dtype=np.float32) * self._noise
        values = np.repeat(background[None], count, axis=0)
        looks = self._world.own[labels] * self._signal
        shared = self._world.shared[self._world.verticals[labels]] * self._signal
        for i in range(len(labels)):
            values += shown.own[i][:, None] * looks[i]
            if shown.shared[i].any():
                values += shown.shared[i][:, None] * shared[i]
        noise = rng.integers(0, 256, (2, count, size), dtype=np.uint8).astype(np.int16)
        values -= np.float32(DEQUANTISE_BIAS)
        values *= np.float32(1 / DEQUANTISE_SCALE)
        values += ((noise[0] + noise[1]) >> 2) - _BYTE_NOISE_MEAN
        return np.clip(np.rint(values), 0, QUANTISED_LEVELS).astype(np.uint8)

    def _ratings(
        self, rng: np.random.Generator, labels: np.ndarray, shown: _Shown
    ) -> dict[str, bytes]:
        """Ratings of distinct segments, mostly for a class of the video that raters look at.

        Bursts would hardly ever be among segments drawn at random: each has one where it shows.
        """
        starts = _segment_starts(rng, shown.own.shape[1])
        rated = [i for i, label in enumerate(labels) if label in self._world.rated]
        bursts = [i for i in rated if self._world.kinds[labels[i]] == ClassKind.BURST]
        at_burst = {_seen_from(shown.on_screen[i]): i for i in bursts[:RATED_SEGMENTS]}
        others = [start for start in starts.tolist() if start not in at_burst]
        starts = np.sort([*at_burst, *others[: RATED_SEGMENTS - len(at_burst)]])
        classes, scores = [], []
        for start in starts.tolist():
            if start in at_burst:
                i = at_burst[start]
                seen = shown.on_screen[i, start : start + SEGMENT_FRAMES].mean() > 0.5
                classes.append(int(labels[i]))
            elif rated and rng.random() < _RATES_A_LABEL:
                i = rated[int(rng.integers(len(rated)))]
                seen = shown.on_screen[i, start : start + SEGMENT_FRAMES].mean() > 0.5
                classes.append(int(labels[i]))
            else:
                classes.append(int(rng.choice(self._world.rated)))
                where = np.flatnonzero(labels == classes[-1])
                seen = any(
                    shown.on_screen[i, start : start + SEGMENT_FRAMES].mean() > 0.5 for i in where
                )
            scores.append(float(seen))
        return segment_ratings(starts, classes, scores)


def _course(kind: int, on_screen: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """[frames] float64: the own direction's course over the video.

    For burst and order classes it sums to zero, so that a mean over the frames cannot see it.
    """
    count = len(on_screen)
    if kind == ClassKind.BURST:
        length = max(1, round(count * _BURST))
        start = int(rng.integers(0, count - length + 1))
        course = np.full(count, -_BURST_GAIN * length / (count - length))
        course[start : start + length] = _BURST_GAIN
        return course
    if kind in (ClassKind.ORDER_FIRST, ClassKind.ORDER_SECOND):
        course = np.where(np.arange(count) < count // 2, 1.0, -1.0)
        if count % 2:
            course[count // 2] = 0.0  # the middle one, so that both halves weigh the same
        return course if kind == ClassKind.ORDER_FIRST else -course
    return on_screen.astype(np.float64)


def _seen_from(on_screen: np.ndarray) -> int:
    """The start, on a grid of whole segments, of the segment that shows most of it."""
    grid = np.arange(0, len(on_screen) - SEGMENT_FRAMES + 1, SEGMENT_FRAMES)
    counts = [int(on_screen[start : start + SEGMENT_FRAMES].sum()) for start in grid.tolist()]
    return int(grid[int(np.argmax(counts))])


def _segment_starts(rng: np.random.Generator, frames: int) -> np.ndarray:
    """Sorted starts of the rated segments, on a grid of whole segments where the video has room."""
    grid = np.arange(0, frames - SEGMENT_FRAMES + 1, SEGMENT_FRAMES)
    if len(grid) < RATED_SEGMENTS:
        grid = np.arange(frames - SEGMENT_FRAMES + 1)
    return np.sort(rng.choice(grid, RATED_SEGMENTS, replace=False))
