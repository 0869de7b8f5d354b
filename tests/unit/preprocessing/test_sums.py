"""Sums by slices against numpy's."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from yt8m.components.preprocessing.sums import sum_in_slices


@settings(deadline=None, max_examples=40)
@given(
    rows=st.integers(1, 40),
    columns=st.integers(1, 40),
    slices=st.integers(1, 20),
    last=st.booleans(),
)
def test_a_sum_by_slices_is_the_sum(rows: int, columns: int, slices: int, last: bool) -> None:
    rng = np.random.default_rng(rows * 41 + columns)
    values, weights = rng.normal(size=(2, rows, columns)), rng.normal(size=(2, rows, 1))
    got = sum_in_slices(
        lambda v, w: v * w,
        tf.constant(values),
        tf.constant(np.broadcast_to(weights, values.shape)),
        axis=-1 if last else -2,
        slices=slices,
    )
    np.testing.assert_allclose(got, (values * weights).sum(-1 if last else -2), atol=1e-12)
