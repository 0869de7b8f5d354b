"""Drift against earlier data and skew between splits, measured by TFDV."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import tensorflow_data_validation as tfdv
from tensorflow_metadata.proto.v0 import schema_pb2
from tensorflow_metadata.proto.v0.statistics_pb2 import (
    DatasetFeatureStatisticsList as Statistics,
)

from yt8m.components.artifacts.comparisons import Divergence
from yt8m.components.validation.anomalies import Anomaly
from yt8m.components.validation.config import ValidationConfig
from yt8m.schemas.features import LABELS, SEGMENT_LABELS

_LABELS = (LABELS, SEGMENT_LABELS)
_RANKED = 1000  # TFDV compares at most so many of the most frequent values
# Values of one vector hang together, so an example counts once; and all dimensions are pooled, so
# that their distribution has fewer free values than its histogram has bins.
_VECTOR_VALUES = 10


@dataclass(frozen=True)
class StatisticsComparison:
    """What one comparison found: the anomalies, and what was measured."""

    anomalies: tuple[Anomaly, ...]
    measured: tuple[Divergence, ...]

    @property
    def largest(self) -> float:
        return max((one.distance for one in self.measured), default=0.0)


@dataclass(frozen=True)
class _Kind:
    """One of the two comparisons, as TFDV and our configuration call it."""

    name: str  # also the ending of the limits' names
    between: str
    comparator: str
    measurements: str

    def setting(self, feature: str) -> str:
        """The name of the limit that applies to `feature`."""
        return f"{'label' if feature in _LABELS else 'feature'}_{self.name}"


_DRIFT = _Kind("drift", "train against the baseline's", "drift_comparator", "drift_measurements")
_SKEW = _Kind("skew", "train against eval", "skew_comparator", "skew_measurements")


def compare_drift(
    train: Statistics, previous: Statistics, schema: schema_pb2.Schema, config: ValidationConfig
) -> StatisticsComparison:
    """The train split against the one that the model in production was made from."""
    limits = _limits(_DRIFT, train, previous, schema, config)
    found = tfdv.validate_statistics(
        train, _comparing(_DRIFT, schema, limits), previous_statistics=previous
    )
    return _comparison(_DRIFT, found, config)


def compare_skew(
    train: Statistics, evaluation: Statistics, schema: schema_pb2.Schema, config: ValidationConfig
) -> StatisticsComparison:
    """The train split against the eval split."""
    limits = _limits(_SKEW, train, evaluation, schema, config)
    found = tfdv.validate_statistics(
        train, _comparing(_SKEW, schema, limits), serving_statistics=evaluation
    )
    return _comparison(_SKEW, found, config)


def _limits(
    kind: _Kind, a: Statistics, b: Statistics, schema: schema_pb2.Schema, config: ValidationConfig
) -> dict[str, float]:
    limits = {}
    for feature in schema.feature:
        limit = getattr(config, kind.setting(feature.name))
        if limit is None or feature.type not in (schema_pb2.INT, schema_pb2.FLOAT):
            continue
        distinct_a, count_a = _size(a, feature.name)
        distinct_b, count_b = _size(b, feature.name)
        chance = expected_divergence(max(distinct_a, distinct_b), count_a, count_b)
        limits[feature.name] = min(limit + 2 * chance, 1.0)
    return limits


def _size(statistics: Statistics, name: str) -> tuple[int, float]:
    """Number of distinct values compared, and of examples that the values come from."""
    for feature in statistics.datasets[0].features:
        if ".".join(feature.path.step) == name:
            if feature.WhichOneof("stats") == "string_stats":
                values = feature.string_stats
                return min(values.unique, _RANKED), values.common_stats.tot_num_values
            return _VECTOR_VALUES, feature.num_stats.common_stats.num_non_missing
    return 0, 0


def _comparing(
    kind: _Kind, schema: schema_pb2.Schema, limits: Mapping[str, float]
) -> schema_pb2.Schema:
    """Only the features compared, with no other requirement; the rest is checked before."""
    bare = schema_pb2.Schema()
    for feature in schema.feature:
        copied = bare.feature.add(name=feature.name, type=feature.type)
        if feature.HasField("int_domain"):
            copied.int_domain.is_categorical = feature.int_domain.is_categorical
        if feature.name in limits:
            threshold = getattr(copied, kind.comparator).jensen_shannon_divergence
            threshold.threshold = limits[feature.name]
    return bare


def _comparison(kind: _Kind, found: Any, config: ValidationConfig) -> StatisticsComparison:
    measured = tuple(_measured(kind, found))
    apart = (one for one in measured if one.distance > one.threshold)
    return StatisticsComparison(tuple(_anomaly(kind, one, config) for one in apart), measured)


def _measured(kind: _Kind, found: Any) -> Iterator[Divergence]:
    for info in found.drift_skew_info:
        for one in getattr(info, kind.measurements):
            yield Divergence(
                feature=".".join(info.path.step), distance=one.value, threshold=one.threshold
            )


def _anomaly(kind: _Kind, one: Divergence, config: ValidationConfig) -> Anomaly:
    """TFDV's own words call every second data set the serving one."""
    setting = kind.setting(one.feature)
    return Anomaly(
        kind.between,
        one.feature,
        kind.name,
        f"Jensen-Shannon divergence {one.distance:.4f}, allowed is {one.threshold:.4f} "
        f"(validation.{setting} = {getattr(config, setting):g}, plus sampling noise)",
        True,
    )


def expected_divergence(distinct: int, count_a: float, count_b: float) -> float:
    """The divergence to be expected between two samples of one distribution over `distinct` values.

    The divergence of near distributions is a chi-square over 8, whose mean is one for each value
    but the last and for each sample 1/size; in bits.
    """
    if not count_a or not count_b:
        return 1.0
    return (max(distinct, 2) - 1) * (1 / count_a + 1 / count_b) / 8 / math.log(2)
