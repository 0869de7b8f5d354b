"""The Gaussian process, against formulas that it does not use."""

import math

import numpy as np
import pytest
from scipy.special import gamma, kv

from yt8m.components.tuner.gaussian_process import GaussianProcess


def matern(first, second, length):
    """The kernel of any smoothness, at 5/2, by Bessel's function."""
    r = math.sqrt(5) * np.linalg.norm(first - second) / length
    return 1.0 if r == 0 else 2**-1.5 / gamma(2.5) * r**2.5 * kv(2.5, r)


def kernel(first, second, length):
    return np.array([[matern(a, b, length) for b in second] for a in first])


def noisy(count, seed):
    chance = np.random.default_rng(seed)
    points = chance.uniform(size=(count, 2))
    values = 3.0 + np.sin(4 * points[:, 0]) - points[:, 1] ** 2 + chance.normal(0, 0.05, count)
    return points, values


def likelihood_and_prediction(points, values, asked, length, noise):
    """By the densities of one joint normal distribution, inverted as they stand."""
    mean, scale = values.mean(), values.std()
    y = (values - mean) / scale
    covariance = kernel(points, points, length) + noise * np.eye(len(points))
    inverse = np.linalg.inv(covariance)
    between = kernel(asked, points, length)
    variance = 1.0 - np.einsum("ij,jk,ik->i", between, inverse, between)
    likelihood = -0.5 * y @ inverse @ y - 0.5 * np.linalg.slogdet(covariance)[1]
    return likelihood, mean + scale * between @ inverse @ y, scale * np.sqrt(variance)


@pytest.mark.parametrize("count", [3, 25])
def test_mean_and_deviation_are_those_of_the_likeliest_setting(count):
    points, values = noisy(count, 5)
    asked = np.random.default_rng(1).uniform(size=(7, 2))
    tried = [
        likelihood_and_prediction(points, values, asked, length, noise)
        for length in (0.1, 0.2, 0.4, 0.8, 1.6)
        for noise in (1e-4, 1e-2, 1e-1, 0.5)
    ]
    _, mean, deviation = max(tried, key=lambda each: each[0])
    found = GaussianProcess(points, values).predict(asked)
    np.testing.assert_allclose(found[0], mean, rtol=1e-6)
    np.testing.assert_allclose(found[1], deviation, rtol=1e-5)


def test_the_improvement_to_be_expected_is_the_mean_of_draws():
    points, values = noisy(12, 3)
    process = GaussianProcess(points, values)
    asked = np.random.default_rng(2).uniform(size=(5, 2))
    best = process.predict(points)[0].max()
    mean, deviation = process.predict(asked)
    draws = np.random.default_rng(4).normal(mean, deviation, size=(400_000, 5))
    expected = np.maximum(draws - best, 0).mean(axis=0)
    found = process.expected_improvement(asked)
    np.testing.assert_allclose(found, expected, rtol=0.05, atol=1e-4)
    assert (found > 0).all()


def test_equal_values_promise_most_where_nothing_was_tried():
    process = GaussianProcess(np.array([[0.1, 0.1], [0.2, 0.1]]), np.array([0.5, 0.5]))
    near, far = process.expected_improvement(np.array([[0.15, 0.1], [0.9, 0.9]]))
    assert far > near
