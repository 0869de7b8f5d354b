"""A Gaussian process over the unit cube: what is to be expected of points that were not tried.

Regression as in Rasmussen and Williams, Gaussian Processes for Machine Learning (2006), algorithm
2.1, with a Matern kernel of 5/2 in the distance. Length and noise are those of the grid under which
the values are likeliest: some tens of noisy trials tell no more.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, solve_triangular
from scipy.special import ndtr

_LENGTHS = (0.1, 0.2, 0.4, 0.8, 1.6)
_NOISES = (1e-4, 1e-2, 1e-1, 0.5)  # parts of the values' variance
_LEAST_DEVIATION = 1e-9


class GaussianProcess:
    """Fitted to the values [n] at points [n, dimensions]; greater values are better."""

    def __init__(self, points: np.ndarray, values: np.ndarray) -> None:
        self._points = points
        self._mean, self._scale = float(values.mean()), float(values.std()) or 1.0
        standard = (values - self._mean) / self._scale
        settings = itertools.product(_LENGTHS, _NOISES)
        fits = [_fitted(points, standard, *setting) for setting in settings]
        self._fit = max(fits, key=lambda fit: fit.log_likelihood)

    def predict(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean and standard deviation at `points`, of the values without their noise."""
        between = _kernel(points, self._points, self._fit.length)
        explained = solve_triangular(self._fit.root, between.T, lower=True)
        variance = np.maximum(1.0 - (explained**2).sum(axis=0), _LEAST_DEVIATION**2)
        mean = self._mean + self._scale * between @ self._fit.weights
        return mean, self._scale * np.sqrt(variance)

    def expected_improvement(self, points: np.ndarray) -> np.ndarray:
        """By how much the value at each of `points` will exceed the best one, on average.

        The best one is what is expected of the tried points, for their values are noisy.
        """
        best = self.predict(self._points)[0].max()
        mean, deviation = self.predict(points)
        ahead = (mean - best) / deviation
        density = np.exp(-(ahead**2) / 2.0) / math.sqrt(2.0 * math.pi)
        improvement: np.ndarray = (mean - best) * ndtr(ahead) + deviation * density
        return improvement


class _Fit(NamedTuple):
    length: float
    root: np.ndarray  # lower triangle of the points' covariance
    weights: np.ndarray  # the covariance's inverse times the values
    log_likelihood: float  # but for a constant


def _fitted(points: np.ndarray, standard: np.ndarray, length: float, noise: float) -> _Fit:
    root = np.linalg.cholesky(_kernel(points, points, length) + noise * np.eye(len(points)))
    weights = cho_solve((root, True), standard)
    log_likelihood = -0.5 * standard @ weights - np.log(np.diag(root)).sum()
    return _Fit(length, root, weights, float(log_likelihood))


def _kernel(first: np.ndarray, second: np.ndarray, length: float) -> np.ndarray:
    distances = np.linalg.norm(first[:, np.newaxis] - second[np.newaxis], axis=-1)
    scaled = math.sqrt(5.0) * distances / length
    kernel: np.ndarray = (1.0 + scaled + scaled**2 / 3.0) * np.exp(-scaled)
    return kernel
