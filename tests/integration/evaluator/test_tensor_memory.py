"""Memory that TensorFlow's allocator keeps, given back to the system."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

from yt8m.components.evaluator.tensor_memory import collect_tensors

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="pages of Linux")

# What a process has of its own before and after, in KB: with 256 MB that were freed, or with gaps
# that are too small, so that the allocator asks for more memory, of which there is none.
_PROCESS = """
import resource, sys
import tensorflow as tf
from yt8m.components.evaluator.tensor_memory import collect_tensors

def own():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))

def tensors(number, size):
    return [tf.fill([size << 20], tf.cast(n, tf.uint8)) for n in range(number)]

if sys.argv[1:]:
    kept = tensors(64, 7)
    del kept[::2]
    before = own()
    resource.setrlimit(resource.RLIMIT_AS, (1, resource.RLIM_INFINITY))
else:
    tensors(4, 64)
    before = own()
collect_tensors()
print(before, own())
"""


def test_pages_of_freed_tensors_are_given_back():
    before, after = _own_memory()
    assert before - after > 200 * 1024


def test_what_is_in_use_keeps_its_values():
    # They share pages with the free memory between them: no size is a multiple of a page.
    kept, between = [], []
    for seed in range(16):
        kept.append(tf.random.normal([75_001], seed=seed))
        between.append(tf.random.normal([2_300_017], seed=seed))
    values = [tensor.numpy() for tensor in kept]
    between.clear()
    collect_tensors()
    for tensor, value in zip(kept, values, strict=True):
        np.testing.assert_array_equal(tensor.numpy(), value)


def test_a_process_that_gets_no_more_memory_goes_on():
    _own_memory("--limited")


def test_without_the_allocator_there_is_nothing_to_give_back():
    _own_memory(onednn=False)


def _own_memory(*arguments: str, onednn: bool = True) -> tuple[int, int]:
    """Not as this processor has it: TensorFlow uses oneDNN by itself only on newer ones."""
    command = [sys.executable, "-c", _PROCESS, *arguments]
    environment = {**os.environ, "TF_ENABLE_ONEDNN_OPTS": str(int(onednn))}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    before, after = map(int, done.stdout.split())
    return before, after
