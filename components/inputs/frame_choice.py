"""Choice of training frames: random, but a function of the seed and the row's position.

The numbers are those of `tf.random.stateless_uniform` with the seed (seed, position): Philox 4x32
with a key and counter that TensorFlow makes of its seeds. Made by numpy for all rows together,
they let the reader copy the chosen frames alone.
"""

from __future__ import annotations

import numpy as np

from yt8m.components.inputs.config import FrameChoice, FrameSampling

_ROUNDS = 10
_FACTORS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_KEY_STEPS = (np.uint64(0x9E3779B9), np.uint64(0xBB67AE85))
_SCRAMBLING_KEY = (0x3EC8F720, 0x02461E29)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


class FrameChooser:
    """The frames of each row of a batch, whose number of frames need not be known before."""

    def __init__(self, sampling: FrameSampling, *, seed: int, positions: np.ndarray) -> None:
        self.frames = sampling.frames
        self._is_sequence = sampling.choice is FrameChoice.RANDOM_SEQUENCE
        self._bits = random_bits(seed, positions, 1 if self._is_sequence else self.frames)
        self._uniform = _floats(self._bits)

    def of(self, row: int, count: int) -> np.ndarray:
        """Indices of the frames that `row`, a video of `count` frames, gives."""
        if not self._is_sequence:
            return (self._uniform[row] * np.float32(count)).astype(np.int32)
        available = int(count)  # numpy 2 keeps an int32, which the bits exceed
        taken = min(available, self.frames)
        return int(self._bits[row, 0]) % (available - taken + 1) + np.arange(taken)


def random_bits(seed: int, positions: np.ndarray, count: int) -> np.ndarray:
    """`[rows, count] uint32`: what TensorFlow draws for each of `positions` [rows] int64."""
    counter = _words(np.full(len(positions), seed), positions)
    key = tuple(np.uint64(word) for word in _SCRAMBLING_KEY)
    mixed = _philox(counter, key)
    groups = -(-count // 4)
    zeros = np.zeros((len(positions), groups), np.uint64)
    number = zeros + np.arange(groups, dtype=np.uint64)
    high = [zeros + word[:, np.newaxis] for word in mixed[2:]]
    drawn = _philox((number, zeros, *high), tuple(word[:, np.newaxis] for word in mixed[:2]))
    bits = np.stack(drawn, axis=-1).reshape(len(positions), groups * 4)
    return bits[:, :count].astype(np.uint32)


_Words = tuple[np.ndarray, ...]  # uint64, of which 32 bits are used


def _words(low: np.ndarray, high: np.ndarray) -> _Words:
    parts = (low.astype(np.int64).view(np.uint64), high.astype(np.int64).view(np.uint64))
    return tuple(word for part in parts for word in (part & _LOW, part >> _HALF))


def _philox(counter: _Words, key: tuple[np.ndarray | np.uint64, ...]) -> _Words:
    """Four random words for each counter of four words and key of two."""
    a, b, c, d = counter
    first, second = key
    for _ in range(_ROUNDS):
        left, right = a * _FACTORS[0], c * _FACTORS[1]
        a, b, c, d = (
            (right >> _HALF) ^ b ^ first,
            right & _LOW,
            (left >> _HALF) ^ d ^ second,
            left & _LOW,
        )
        first, second = (first + _KEY_STEPS[0]) & _LOW, (second + _KEY_STEPS[1]) & _LOW
    return a, b, c, d


def _floats(bits: np.ndarray) -> np.ndarray:
    """Uniform in [0, 1), of the lower 23 bits, as TensorFlow makes them."""
    return (bits & np.uint32(0x7FFFFF) | np.uint32(127 << 23)).view(np.float32) - np.float32(1)
