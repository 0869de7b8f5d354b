"""Sums and maxima by slices against numpy's."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from yt8m.components.preprocessing.sums import max_in_slices, sum_in_slices


@settings(deadline=None, max_examples=40)
@given(
    rows=st.integers(1, 40),
    columns=st.integers(1, 40),
    slices=st.integers(1, 20),
    last=st.booleans(),
)
def test_by_slices_a_sum_is_the_sum_and_a_maximum_the_maximum(
    rows: int, columns: int, slices: int, last: bool
) -> None:
    rng = np.random.default_rng(rows * 41 + columns)
    values, weights = rng.normal(size=(2, rows, columns)), rng.normal(size=(2, rows, 1))
    arrays = (tf.constant(values), tf.constant(np.broadcast_to(weights, values.shape)))
    axis = -1 if last else -2
    total = sum_in_slices(lambda v, w: v * w, *arrays, axis=axis, slices=slices)
    np.testing.assert_allclose(total, (values * weights).sum(axis), atol=1e-12)
    greatest = max_in_slices(lambda v, w: v * w, *arrays, axis=axis, slices=slices)
    np.testing.assert_array_equal(greatest, (values * weights).max(axis))
