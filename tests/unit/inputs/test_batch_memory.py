"""Memory of batches is used again, and never while somebody holds a batch."""

from __future__ import annotations

import dataclasses
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from sources import assert_same, make_source

from yt8m.components.inputs.batch_memory import BatchMemory
from yt8m.components.inputs.config import BatchSlice, FrameChoice, FrameSampling
from yt8m.components.inputs.dataset import dataset_for_training
from yt8m.schemas.features import Level

SHAPE = (4, 3, 8)


@pytest.fixture
def often_switched() -> Iterator[None]:
    """Threads take turns after nearly every instruction."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def address(array: np.ndarray) -> int:
    return int(array.ctypes.data)


def test_an_array_begins_where_tensorflow_takes_it_over() -> None:
    memory = BatchMemory()
    arrays = [memory.array("rgb", shape) for shape in [(1,), SHAPE, (3, 1024), (5, 7)]]
    assert [address(array) % 64 for array in arrays] == [0] * len(arrays)
    assert arrays[1].shape == SHAPE


def test_memory_of_a_batch_that_is_gone_is_used_again() -> None:
    memory = BatchMemory()
    first = memory.array("rgb", SHAPE)
    was = address(first)
    del first
    again = memory.array("rgb", SHAPE)
    assert address(again) == was
    assert address(memory.array("rgb", SHAPE)) != was


def test_a_smaller_batch_takes_the_memory_of_a_larger_one() -> None:
    memory = BatchMemory()
    was = address(memory.array("rgb", (8, 300, 16)))
    assert address(memory.array("rgb", (8, 290, 16))) == was
    assert memory.array("rgb", (8, 300, 16)).shape == (8, 300, 16)


def test_a_larger_batch_takes_the_place_of_memory_that_is_too_small() -> None:
    memory = BatchMemory()
    for frames in range(10, 100, 10):
        memory.array("rgb", (8, frames, 16))
    assert [len(blocks) for blocks in memory._blocks.values()] == [1]


def test_columns_have_memory_of_their_own() -> None:
    memory = BatchMemory()
    was = address(memory.array("rgb", SHAPE))
    audio = memory.array("audio", (1, 1, 1))
    assert address(memory.array("rgb", SHAPE)) == was
    assert len(audio) == 1


@pytest.mark.parametrize(
    "made",
    [
        lambda array: array,
        lambda array: array[1:3],
        lambda array: array[:, :2][1:],
        lambda array: array.reshape(-1),
        lambda array: array.view(np.float32),
        lambda array: array.view(np.float32)[0].T,
        lambda array: memoryview(array),
        lambda array: np.lib.stride_tricks.as_strided(array, (2,), (1,)),
        tf.convert_to_tensor,
        lambda array: tf.numpy_function(lambda: array, [], tf.uint8),
        lambda array: next(iter(tf.data.Dataset.from_tensors(array))),
    ],
)
def test_what_is_made_of_an_array_keeps_its_content(made: Callable[[np.ndarray], Any]) -> None:
    memory = BatchMemory()
    array = memory.array("rgb", SHAPE)
    array[...] = np.arange(array.size, dtype=np.uint8).reshape(SHAPE)
    held = made(array)
    content = np.array(held)
    del array
    for _ in range(3):
        memory.array("rgb", SHAPE)[...] = 255
    np.testing.assert_array_equal(np.array(held), content)


def test_threads_are_given_memory_that_no_other_thread_holds(often_switched: None) -> None:
    memory, wrong = BatchMemory(), []
    meet = threading.Barrier(4)

    def use(mark: int) -> None:
        meet.wait()
        for _ in range(300):
            array = memory.array("rgb", SHAPE)
            array[...] = mark
            time.sleep(0)
            if (array != mark).any():
                wrong.append(mark)

    threads = [threading.Thread(target=use, args=(mark,)) for mark in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(memory._blocks["rgb"]) <= 2 * len(threads)  # one is held while another is asked for


SAMPLED = FrameSampling(choice=FrameChoice.RANDOM_FRAMES, frames=4)


@pytest.mark.parametrize(
    ("level", "averaged", "sampling"),
    [
        (Level.FRAME, False, None),
        (Level.FRAME, False, SAMPLED),
        (Level.FRAME, True, None),
        (Level.SEGMENT, False, None),
    ],
)
def test_batches_that_are_held_stay_as_they_were(
    tmp_path: Path, level: Level, averaged: bool, sampling: FrameSampling | None
) -> None:
    source = dataclasses.replace(make_source(tmp_path, level), averaged=averaged)
    read = dataset_for_training(source, BatchSlice(global_batch_size=8, seed=5), sampling=sampling)
    held = list(read.take(20))
    assert_same(
        [{name: value.numpy() for name, value in batch.items()} for batch in held],
        [{name: np.copy(value) for name, value in batch.items()} for batch in read.take(20)],
    )
