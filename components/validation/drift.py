"""Drift against earlier data and skew between splits, from statistics of both.

Each measure has a limit of its own, and is reported only where it is above that limit and above
what chance makes of two samples of one distribution. Why TFDV's comparators do not serve:
docs/decisions/0022-drift.md.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from tensorflow_metadata.proto.v0 import schema_pb2, statistics_pb2
from tensorflow_metadata.proto.v0.statistics_pb2 import (
    DatasetFeatureStatisticsList as Statistics,
)

from yt8m.components.artifacts.comparisons import Difference, Measure
from yt8m.components.validation.anomalies import Anomaly
from yt8m.components.validation.config import ValidationConfig
from yt8m.components.validation.moments import moments_of
from yt8m.schemas.features import LABELS, SEGMENT_LABELS

_LABELS = (LABELS, SEGMENT_LABELS)
_CELLS = 10
_RANKED = 10  # classes whose share is compared; a rarer one that became frequent is among them
_CHANCE = 2e-4  # that one measure of two samples of one distribution is above its allowance
_Z = NormalDist().inv_cdf(1 - _CHANCE / 2)
_FEWEST = 10  # examples, below which nothing is known of how they differ


@dataclass(frozen=True)
class StatisticsComparison:
    """Result of one comparison: the anomalies, and the measurements."""

    anomalies: tuple[Anomaly, ...]
    measured: tuple[Difference, ...]

    @property
    def largest(self) -> float:
        """The largest divergence."""
        divergences = (one for one in self.measured if one.measure is Measure.DIVERGENCE)
        return max((one.distance for one in divergences), default=0.0)


class Comparison(enum.Enum):
    """The two comparisons, as the configuration calls them, and of what the train split with."""

    DRIFT = "drift"  # the train split that the model in production was made from
    SKEW = "skew"  # the eval split

    def setting(self, feature: str, measure: Measure) -> str:
        """The name of the limit that applies to `feature`."""
        if measure is not Measure.DIVERGENCE:
            return f"{measure.value}_{self.value}"
        return f"{'label' if feature in _LABELS else 'feature'}_{self.value}"


_WHAT = {
    Comparison.DRIFT: "train against the baseline's",
    Comparison.SKEW: "train against eval",
}


def compare(
    kind: Comparison,
    train: Statistics,
    other: Statistics,
    schema: schema_pb2.Schema,
    config: ValidationConfig,
) -> StatisticsComparison:
    """The train split against another one: what is measured, and what is above its limit."""
    known_a, known_b = _by_path(train), _by_path(other)
    measured, anomalies = [], []
    for path, feature in _features(schema.feature):
        if path not in known_a or path not in known_b:
            continue
        for measure, distance, chance in _differences(known_a[path], known_b[path], feature):
            name = feature.name
            setting = kind.setting(name, measure)
            limit = getattr(config, setting)
            if limit is None:
                continue
            one = Difference(
                feature=name, measure=measure, distance=distance, threshold=max(limit, chance)
            )
            measured.append(one)
            if one.is_found:
                anomalies.append(_anomaly(kind, one, setting, limit))
    return StatisticsComparison(tuple(anomalies), tuple(measured))


def _features(
    features: Any, above: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], schema_pb2.Feature]]:
    """Every feature of the schema that holds values, with its path."""
    for feature in features:
        path = (*above, feature.name)
        if feature.HasField("struct_domain"):
            yield from _features(feature.struct_domain.feature, path)
        else:
            yield path, feature


def _by_path(
    statistics: Statistics,
) -> dict[tuple[str, ...], statistics_pb2.FeatureNameStatistics]:
    return {tuple(feature.path.step): feature for feature in statistics.datasets[0].features}


def _differences(
    a: statistics_pb2.FeatureNameStatistics,
    b: statistics_pb2.FeatureNameStatistics,
    feature: schema_pb2.Feature,
) -> Iterator[tuple[Measure, float, float]]:
    """Each measure of how far two features are apart, with how far chance may put them."""
    if feature.int_domain.is_categorical:
        # An example has a label once, and may have the same rated class in each of its segments.
        repeats = 1 if feature.name == LABELS else _most_values(a, b)
        yield from _of_categories(a.string_stats, b.string_stats, repeats)
        return
    if feature.type in (schema_pb2.INT, schema_pb2.FLOAT):
        yield from _of_values(a.num_stats, b.num_stats)
    yield from _of_moments(a, b)


def _most_values(*both: statistics_pb2.FeatureNameStatistics) -> int:
    """The most values that an example has."""
    return max(one.string_stats.common_stats.max_num_values for one in both)


def _of_categories(
    a: statistics_pb2.StringStatistics, b: statistics_pb2.StringStatistics, repeats: int
) -> Iterator[tuple[Measure, float, float]]:
    counts_a, counts_b = _counts(a), _counts(b)
    labels = sorted(counts_a.keys() | counts_b.keys())
    if not counts_a or not counts_b:
        return
    p = np.array([counts_a.get(label, 0.0) for label in labels])
    q = np.array([counts_b.get(label, 0.0) for label in labels])
    # An example counts once, for its labels hang together as values of a vector do.
    n, m = a.common_stats.num_non_missing, b.common_stats.num_non_missing
    chance = divergence_by_chance(len(labels), n, m)
    yield Measure.DIVERGENCE, divergence(p / p.sum(), q / q.sum()), chance
    top = np.argsort(np.negative(p + q), kind="stable")[:_RANKED]
    p, q = p[top], q[top]
    share = (p + q) / (n + m)  # of examples; one that has a value twice counts twice
    z = NormalDist().inv_cdf(1 - _CHANCE / 2 / len(top))  # chance has as many tries
    apart = np.abs(p / n - q / m)
    variance = repeats * share * np.maximum(1 - share / repeats, 0.0)
    allowed = z * np.sqrt(variance * (1 / n + 1 / m))
    # The largest of those that are more than chance; the largest of all where there is none.
    worst = int(np.argmax(np.where(apart > allowed, 1 + apart, apart)))
    yield Measure.CLASS_SHARE, float(apart[worst]), float(allowed[worst])


def _counts(stats: statistics_pb2.StringStatistics) -> dict[str, float]:
    return {bucket.label: bucket.sample_count for bucket in stats.rank_histogram.buckets}


def _of_values(
    a: statistics_pb2.NumericStatistics, b: statistics_pb2.NumericStatistics
) -> Iterator[tuple[Measure, float, float]]:
    """On common cuts; an example counts once."""
    histograms = [_histogram(stats) for stats in (a, b)]
    n, m = a.common_stats.num_non_missing, b.common_stats.num_non_missing
    if not n or not m or not all(len(counts) for _, counts in histograms):
        return
    p, q = _on_common_cuts(*histograms)
    yield Measure.DIVERGENCE, divergence(p, q), divergence_by_chance(len(p), n, m)


def _histogram(stats: statistics_pb2.NumericStatistics) -> tuple[np.ndarray, np.ndarray]:
    """(edges, counts) of the one with buckets of equal width."""
    for histogram in stats.histograms:
        if histogram.type == statistics_pb2.Histogram.STANDARD and histogram.buckets:
            edges = [bucket.low_value for bucket in histogram.buckets]
            edges.append(histogram.buckets[-1].high_value)
            return np.array(edges), np.array([b.sample_count for b in histogram.buckets])
    return np.zeros(0), np.zeros(0)


def _on_common_cuts(
    a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """The shares of both in cells that hold about equally much of both together."""
    points = np.union1d(a[0], b[0])
    shares = [_share_below(points, *one) for one in (a, b)]
    together = (shares[0] + shares[1]) / 2
    inner = np.interp(np.arange(1, _CELLS) / _CELLS, together, points)
    cuts = np.unique(inner)
    below = [np.concatenate([[0.0], _share_below(cuts, *one), [1.0]]) for one in (a, b)]
    return np.diff(below[0]), np.diff(below[1])


def _share_below(points: np.ndarray, edges: np.ndarray, counts: np.ndarray) -> np.ndarray:
    below = np.concatenate([[0.0], np.cumsum(counts)]) / counts.sum()
    return np.asarray(np.interp(points, edges, below, left=0.0, right=1.0))


def _of_moments(
    a: statistics_pb2.FeatureNameStatistics, b: statistics_pb2.FeatureNameStatistics
) -> Iterator[tuple[Measure, float, float]]:
    one, other = moments_of(a), moments_of(b)
    if one is None or other is None or not one.square or not other.square:
        return
    fewest = min(one.examples, other.examples)
    if fewest < _FEWEST:
        return
    t = _student(fewest - 1)
    scale = (one.square + other.square) / 2
    noise = one.mean_variance / one.examples + other.mean_variance / other.examples
    apart = abs(one.mean - other.mean) / math.sqrt(scale)
    yield Measure.MEAN, apart, t * math.sqrt(noise / scale)
    parts = (x.square_variance / x.square**2 / x.examples for x in (one, other))
    ratio = abs(math.log(one.square / other.square)) / 2
    yield Measure.SPREAD, ratio, t * math.sqrt(sum(parts)) / 2


def _student(free: float) -> float:
    """The quantile of Student's t, by Fisher's series: the variance is of the same few examples."""
    z = _Z
    return z + (z**3 + z) / (4 * free) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * free**2)


def _anomaly(kind: Comparison, one: Difference, setting: str, limit: float) -> Anomaly:
    return Anomaly(
        _WHAT[kind],
        one.feature,
        kind.value,
        f"{one.measure.title} {one.distance:.4f}, allowed is {one.threshold:.4f} "
        f"(validation.{setting} = {limit:g}, or what chance does to samples of this size)",
        True,
    )


def divergence(p: np.ndarray, q: np.ndarray) -> float:
    """Jensen-Shannon divergence of two distributions over the same values, in bits."""
    middle = (p + q) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = [np.where(x > 0, x * np.log2(x / middle), 0.0).sum() for x in (p, q)]
    return float(max(0.0, sum(terms) / 2))


def divergence_by_chance(values: int, count_a: float, count_b: float) -> float:
    """Upper bound of the divergence of two samples of one distribution over `values` values.

    For near distributions it is a chi-square over eight with a degree of freedom for each value but
    the last, times 1/size of each sample; in bits. Its quantile is Wilson and Hilferty's.
    """
    if not count_a or not count_b:
        return 1.0
    free = max(values, 2) - 1
    quantile = free * (1 - 2 / (9 * free) + _Z * math.sqrt(2 / (9 * free))) ** 3
    return min(1.0, quantile * (1 / count_a + 1 / count_b) / 8 / math.log(2))
