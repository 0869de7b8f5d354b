"""All numbers of a checkpoint, weights and optimiser alike; not how often it was saved."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf


def read_values(directory: Path | str) -> dict[str, np.ndarray]:
    """Every tensor of the newest checkpoint in `directory`, by its key."""
    path = tf.train.latest_checkpoint(str(directory))
    assert path is not None, f"no checkpoint in {directory}"
    reader = tf.train.load_checkpoint(path)
    return {
        key: reader.get_tensor(key)
        for key, dtype in reader.get_variable_to_dtype_map().items()
        if dtype != tf.string and not key.startswith("save_counter")
    }


def assert_bitwise_equal(first: Path | str, second: Path | str) -> None:
    """The newest checkpoints of both directories hold the same bits."""
    a, b = read_values(first), read_values(second)
    assert a.keys() == b.keys()
    for key, value in a.items():
        assert value.tobytes() == b[key].tobytes(), key


def largest_difference(
    first: Path | str, second: Path | str, *, network_only: bool = True
) -> float:
    """The largest difference, relative to the largest number of that tensor."""
    a, b = read_values(first), read_values(second)
    assert a.keys() == b.keys()
    differences = [
        float(np.max(np.abs(value - b[key])) / max(np.max(np.abs(value)), 1e-12))
        for key, value in a.items()
        if value.dtype == np.float32
        and value.size
        and (not network_only or key.startswith("network"))
    ]
    return max(differences)


def change_value(path: str, key: str, change: Callable[[Any], Any]) -> str:
    """Write the checkpoint at `path` again, with one other value; returns that value's whole key.

    It is the first one, in the order of their keys, whose key begins with `key`.
    """
    reader = tf.train.load_checkpoint(path)
    values = {name: reader.get_tensor(name) for name in sorted(reader.get_variable_to_dtype_map())}
    chosen = next(name for name in values if name.startswith(key))
    values[chosen] = change(values[chosen])
    tf.raw_ops.SaveV2(
        prefix=path,
        tensor_names=list(values),
        shape_and_slices=[""] * len(values),
        tensors=list(map(tf.constant, values.values())),
    )
    return chosen
