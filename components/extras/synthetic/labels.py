"""The labels of generated videos: Zipf over the classes, about three a video, related ones."""

from __future__ import annotations

import string
from dataclasses import dataclass

import numpy as np

from yt8m.components.extras.synthetic.spec import MAX_SPANS, SPLITS
from yt8m.components.extras.synthetic.world import ClassKind, World

BLOCK = 64  # videos that share one random stream
_MORE_LABELS = 2.0  # beside the first
_CANDIDATES = 12
_ID_DIGITS = (string.digits + string.ascii_letters).encode()
_SAME_VERTICAL = 0.5  # chance that a further label is of the first one's vertical


@dataclass(frozen=True)
class Stream:
    """Random numbers of one span's split, independent of the number of its videos."""

    seed: int
    split: int
    span: int

    def labels(self, block: int) -> np.random.Generator:
        """For the labels of a block of videos."""
        return np.random.default_rng([self.seed, 1, self.split, self.span, block])

    def features(self, number: int) -> np.random.Generator:
        """For the features of a block of vectors, or of one video with frames."""
        return np.random.default_rng([self.seed, 2, self.split, self.span, number])

    def video_id(self, index: int) -> bytes:
        """Distinct over all splits and spans of a data set; four characters or more."""
        number = (index * MAX_SPANS + self.span) * len(SPLITS) + self.split
        text = bytearray()
        while number:
            number, digit = divmod(number, len(_ID_DIGITS))
            text.append(_ID_DIGITS[digit])
        return bytes(text[::-1]).rjust(4, _ID_DIGITS[:1])


class LabelSampler:
    """Draws the labels of whole blocks of videos."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._cumulative = np.cumsum(world.probabilities)
        self._by_vertical = np.argsort(world.verticals, kind="stable")
        in_order = np.cumsum(world.probabilities[self._by_vertical])
        counts = np.bincount(world.verticals)
        ends = np.cumsum(counts)
        self._in_order = in_order
        self._low = np.concatenate([[0.0], in_order])[ends - counts]  # of each vertical
        self._high = np.concatenate([[0.0], in_order])[ends]
        # Of Python's numbers: NumPy asks an enum for attributes at each comparison, which is slow,
        # and swallows the Ctrl-C that comes meanwhile.
        self._kinds: list[int] = world.kinds.tolist()

    def block(self, stream: Stream, block: int) -> list[list[int]]:
        """Sorted labels of each of the block's BLOCK videos; every video has one or more."""
        rng = stream.labels(block)
        first = self._pick(self._cumulative, rng.random(BLOCK))
        counts = 1 + rng.poisson(_MORE_LABELS, BLOCK)
        anywhere = self._pick(self._cumulative, rng.random((BLOCK, _CANDIDATES)))
        near = self._near(first, rng.random((BLOCK, _CANDIDATES)))
        more = np.where(rng.random((BLOCK, _CANDIDATES)) < _SAME_VERTICAL, near, anywhere)
        candidates = np.column_stack([first, more])
        return [
            self._choose(row, count)
            for row, count in zip(candidates.tolist(), counts.tolist(), strict=True)
        ]

    def _near(self, first: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        vertical = self._world.verticals[first][:, None]
        low, high = self._low[vertical], self._high[vertical]
        return self._by_vertical[self._pick(self._in_order, low + uniform * (high - low))]

    @staticmethod
    def _pick(cumulative: np.ndarray, uniform: np.ndarray) -> np.ndarray:
        places = np.searchsorted(cumulative, uniform, side="right")
        return np.minimum(places, len(cumulative) - 1)

    def _choose(self, candidates: list[int], count: int) -> list[int]:
        """At most `count`, distinct; partners of order classes would cancel each other."""
        chosen: list[int] = []
        for label in candidates:
            if label not in chosen and self._partner(label) not in chosen:
                chosen.append(label)
                if len(chosen) == count:
                    break
        return sorted(chosen)

    def _partner(self, label: int) -> int | None:
        kind = self._kinds[label]
        if kind == ClassKind.ORDER_FIRST:
            return label + 1
        return label - 1 if kind == ClassKind.ORDER_SECOND else None
