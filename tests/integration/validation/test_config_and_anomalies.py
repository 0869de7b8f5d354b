"""Thresholds, the allowance for chance, and how anomalies are listed. No TFX here."""

from __future__ import annotations

import numpy as np
import pytest
from google.protobuf import text_format
from tensorflow_metadata.proto.v0 import anomalies_pb2

from yt8m.components.validation.anomalies import list_anomalies, message
from yt8m.components.validation.config import ValidationConfig
from yt8m.components.validation.drift import divergence, divergence_by_chance
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import ConfigError

FOUND = """
anomaly_info {
  key: "labels"
  value {
    path { step: "labels" }
    severity: ERROR
    reason { short_description: "Out-of-range values" description: "Unexpectedly large: 5000" }
    reason { short_description: "Missing" description: "In 3% of examples" }
  }
}
anomaly_info {
  key: "rgb"
  value { severity: WARNING short_description: "New column" description: "Not in the schema" }
}
anomaly_info {
  key: "title"
  value {
    severity: ERROR
    reason { type: SCHEMA_NEW_COLUMN short_description: "New column" description: "No schema" }
  }
}
dataset_anomaly_info { severity: ERROR short_description: "Few" description: "3 examples" }
"""


def test_every_reason_is_listed_with_split_feature_and_severity() -> None:
    found = list(list_anomalies("train", text_format.Parse(FOUND, anomalies_pb2.Anomalies())))
    assert [(a.feature, a.kind, a.is_error) for a in found] == [
        ("labels", "Out-of-range values", True),
        ("labels", "Missing", True),
        ("rgb", "New column", False),
        ("title", "New column", False),
        ("the whole split", "Few", True),
    ]
    text = message([a for a in found if a.is_error])
    assert "3 anomalies" in text
    assert "train: labels: Out-of-range values: Unexpectedly large: 5000" in text
    # One alone is told in the first line, which is all that short places show.
    assert message(found[:1]).splitlines() == [
        "validation stops the run: train: labels: Out-of-range values: Unexpectedly large: 5000"
    ]


def test_a_split_without_data_is_an_error() -> None:
    (anomaly,) = list_anomalies("eval", anomalies_pb2.Anomalies(data_missing=True))
    assert anomaly.is_error


MEASURES = ("label", "feature", "share", "mean", "spread")
LIMITS = [f"{m}_{kind}" for m in MEASURES for kind in ("drift", "skew")]


@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_shares_of_one_or_null(name: str) -> None:
    assert getattr(from_dict(ValidationConfig, {name: None}), name) is None
    for wrong in (0, -1, 1.5):
        with pytest.raises(ConfigError, match=rf"validation\.{name}"):
            from_dict(ValidationConfig, {name: wrong}, path="validation")


@pytest.mark.parametrize(
    ("distinct", "a", "b"), [(10, 100, 100), (20, 2000, 1000), (200, 20000, 8000)]
)
def test_chance_stays_below_its_allowance_and_not_far_below(distinct: int, a: int, b: int) -> None:
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.full(distinct, 5.0))
    measured = [
        divergence(rng.multinomial(a, p) / a, rng.multinomial(b, p) / b) for _ in range(2000)
    ]
    allowed = divergence_by_chance(distinct, a, b)
    assert max(measured) < 1.1 * allowed  # one in 5,000 is above
    assert max(measured) > 0.7 * allowed


def test_the_divergence_is_that_of_jensen_and_shannon() -> None:
    rng = np.random.default_rng(1)
    p, q = rng.dirichlet(np.ones(30), 2)
    p[:5], q[5:10] = 0, 0
    p, q = p / p.sum(), q / q.sum()
    assert divergence(p, q) == pytest.approx(_by_entropies(p, q))
    assert divergence(p, p) == 0
    assert divergence(np.array([1.0, 0.0]), np.array([0.0, 1.0])) == 1


def _by_entropies(p: np.ndarray, q: np.ndarray) -> float:
    def entropy(x: np.ndarray) -> float:
        return float(-(x[x > 0] * np.log2(x[x > 0])).sum())

    return entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2
