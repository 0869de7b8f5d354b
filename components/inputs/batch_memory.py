"""Memory of batches that is used again once nobody holds the batch.

New memory costs as much as the copying of frames into it: the system clears each page when it is
first touched. glibc gives large arrays back to the system as soon as they are freed.
"""

from __future__ import annotations

import sys
import threading

import numpy as np

_ALIGNMENT = 64  # bytes; TensorFlow takes an array over that begins so, and copies others


def _references(blocks: list[np.ndarray], at: int) -> int:
    """How many hold a block, with the list that is asked."""
    return sys.getrefcount(blocks[at])


_UNUSED = _references([np.empty(0, np.uint8)], 0)  # Python versions count differently


class BatchMemory:
    """Arrays of bytes for the columns of batches. Safe to use from several threads.

    Of a column there are as many blocks as its batches were held at a time. An array, or one that
    was made of it, holds its block, and so does a tensor that TensorFlow made of one.
    """

    def __init__(self) -> None:
        self._blocks: dict[str, list[np.ndarray]] = {}
        self._lock = threading.Lock()

    def array(self, column: str, shape: tuple[int, ...]) -> np.ndarray:
        """`shape uint8` with any content, aligned as TensorFlow likes it."""
        size = int(np.prod(shape))
        with self._lock:
            block = self._block(self._blocks.setdefault(column, []), size + _ALIGNMENT)
            first = -block.ctypes.data % _ALIGNMENT
            return block[first : first + size].reshape(shape)

    def _block(self, blocks: list[np.ndarray], size: int) -> np.ndarray:
        unused = [at for at in range(len(blocks)) if _references(blocks, at) == _UNUSED]
        for at in unused:
            if len(blocks[at]) >= size:
                return blocks[at]
        block = np.empty(size, np.uint8)
        if unused:  # in place of one that is too small
            blocks[unused[0]] = block
        else:
            blocks.append(block)
        return block
