"""The fitted weights are the most likely ones."""

import numpy as np
import pytest

from yt8m.components.extras.ensembles.weights import _marked, maximise


@pytest.mark.parametrize("seed", range(5))
def test_no_weights_on_a_fine_grid_are_more_likely(seed):
    likelihoods = np.random.default_rng(seed).beta(2, 1, (2, 400)) ** np.array([[1.0], [1.3]])
    weights = maximise(likelihoods)
    assert weights.sum() == pytest.approx(1)
    grid = np.linspace(0, 1, 2001)
    mixtures = grid[:, None] * likelihoods[0] + (1 - grid)[:, None] * likelihoods[1]
    best = grid[np.log(mixtures).sum(axis=1).argmax()]
    assert weights[0] == pytest.approx(best, abs=2e-3)


def test_a_member_that_knows_nothing_gets_nothing_and_equals_share():
    good = np.random.default_rng(0).uniform(0.6, 0.9, 500)
    assert maximise(np.stack([good, np.full(500, 0.1)]))[0] == pytest.approx(1, abs=1e-3)
    assert maximise(np.stack([good, good, good])) == pytest.approx([1 / 3] * 3)


def test_every_class_counts_and_what_is_no_class_does_not():
    marks = _marked(np.array([[0, 2, -1], [1, 7, -1]]), 2, 3)
    assert marks.tolist() == [[True, False, True], [False, True, False]]
