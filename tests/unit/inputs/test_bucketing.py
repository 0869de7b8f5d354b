"""Windows cut by length."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from yt8m.components.inputs.bucketing import cut_window


@settings(deadline=None, max_examples=60)
@given(
    batches=st.integers(1, 6),
    units=st.integers(1, 5),
    multiple=st.sampled_from([1, 2, 4]),
    seed=st.integers(0, 1000),
)
def test_a_window_is_cut_whole_into_batches_of_like_length(
    batches: int, units: int, multiple: int, seed: int
) -> None:
    rows = batches * units * multiple
    lengths = np.random.default_rng(seed).integers(1, 300, rows)
    order, cuts = cut_window(lengths, batches=batches, multiple=multiple)
    sizes = np.diff(cuts, prepend=0, append=rows)
    assert sorted(order) == list(range(rows))
    assert (np.diff(lengths[order]) >= 0).all()
    assert len(sizes) == batches
    assert sizes.sum() == rows
    assert (sizes >= multiple).all()
    assert (sizes % multiple == 0).all()


def test_longer_rows_come_fewer_to_a_batch_and_padding_shrinks() -> None:
    lengths = np.tile([100, 300], 64)
    order, cuts = cut_window(lengths, batches=4, multiple=4)
    sizes = np.diff(cuts, prepend=0, append=len(lengths)).tolist()
    assert sizes == sorted(sizes, reverse=True)
    groups = np.split(lengths[order], cuts)
    padded = sum(len(group) * group.max() for group in groups)
    assert padded < 0.85 * len(lengths) * lengths.max()


@pytest.mark.parametrize("units", [5, 40, 3000])  # the last sum has no exact float32
def test_a_window_is_cut_where_tensorflow_cut_it_in_earlier_versions(units: int) -> None:
    rng = np.random.default_rng(units)
    for batches, multiple in ((2, 1), (3, 8), (5, 16)):
        lengths = rng.integers(50_000, 400_000, units * multiple)
        order = tf.argsort(tf.constant(lengths, tf.int32), stable=True).numpy()
        work = tf.cumsum(tf.constant(lengths[order][multiple - 1 :: multiple], tf.float32))
        goals = work[-1] * tf.range(1, batches, dtype=tf.float32) / float(batches)
        number = np.arange(1, batches)
        cuts = np.maximum(tf.searchsorted(work, goals).numpy() + 1, number)
        cuts = np.minimum(cuts, units - batches + number)
        found = cut_window(lengths, batches=batches, multiple=multiple)
        np.testing.assert_array_equal(found[0], order)
        np.testing.assert_array_equal(found[1], cuts * multiple)
