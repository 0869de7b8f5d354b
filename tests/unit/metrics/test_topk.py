"""The best classes against sorting every row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt8m.components.metrics.topk import top_k


@given(
    st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 400), st.sampled_from([None, 2, 9])
)
def test_equals_a_stable_sort_of_every_row(seed, rows, classes, levels):
    scores = np.random.default_rng(seed).normal(size=(rows, classes)).astype(np.float32)
    if levels:
        scores = np.round(scores * levels / 3) / levels
    k = 1 + seed % 25
    values, ids = top_k(scores, k)
    expected = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(ids, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(scores, expected, axis=1))


@pytest.mark.parametrize("classes", [1, 3, 20, 21, 3862])
def test_equal_scores_go_to_the_lowest_classes(classes):
    values, ids = top_k(np.zeros((2, classes), np.float32), 20)
    np.testing.assert_array_equal(ids, np.tile(np.arange(min(20, classes)), (2, 1)))
    assert not values.any()


def test_no_rows_give_no_rows():
    assert top_k(np.empty((0, 50)), 20)[0].shape == (0, 20)
