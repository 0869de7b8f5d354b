"""Memory that TensorFlow's allocator keeps after a training or a pass, given back to the system."""

from __future__ import annotations

import ctypes
import mmap
from contextlib import suppress

import numpy as np
import tensorflow as tf

from yt8m.components.allocator import collect_garbage

_CPU = "CPU:0"
_PIECE = 8 << 20  # of the free memory; smaller gaps between tensors stay


def collect_tensors() -> None:
    """`collect_garbage`, and the pages under TensorFlow's free memory: 0.4 GB after a training.

    Its allocator keeps them for as long as the process lives. Tensors that nobody writes to take
    that memory, the system takes their pages, and whoever gets the memory next gets new ones.
    """
    collect_garbage()
    try:
        use = tf.config.experimental.get_memory_info(_CPU)
    except ValueError:  # without oneDNN, where the memory is glibc's
        return
    taken: list[tf.Tensor] = []
    with tf.device(_CPU), suppress(tf.errors.ResourceExhaustedError):
        while len(taken) * _PIECE < use["peak"] - use["current"]:
            taken.append(tf.raw_ops.Empty(shape=[_PIECE], dtype=tf.uint8, init=False))
            _discard(memoryview(taken[-1]))
    taken.clear()
    tf.config.experimental.reset_memory_stats(_CPU)


def _discard(view: memoryview) -> None:
    """Give the whole pages under `view` back; what they hold is lost."""
    address = np.frombuffer(view, np.uint8).ctypes.data
    begin = -(-address // mmap.PAGESIZE) * mmap.PAGESIZE
    end = (address + view.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE
    advise = getattr(ctypes.CDLL(None), "madvise", None)
    if advise is not None:
        advise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), mmap.MADV_DONTNEED)
