"""The catalogue's own rules, and metrics that are made like its own."""

import numpy as np
import pytest

from yt8m.components.metrics import (
    METRICS,
    Batch,
    Metric,
    MetricAccumulator,
    mean_metric,
    values_of,
)
from yt8m.components.metrics.catalogue import info_of, leave_one_out
from yt8m.components.metrics.intervals import spread_of
from yt8m.schemas.errors import DataError
from yt8m.schemas.metric_names import GAP, LOSS

RECALL = mean_metric(
    "recall_at_3",
    "Recall@3",
    lambda rows: rows.hits[:, :3].sum(axis=1) / np.maximum(rows.label_counts, 1),
)
VIDEOS = Metric(name="rows", title="Rows", value=len, is_share=False)


def model_of(seed=0, videos=60):
    rng = np.random.default_rng(seed)
    hot = rng.random((videos, 12)) < 0.2
    scores = rng.random((videos, 12)) + 0.5 * hot
    metrics = MetricAccumulator(12)
    ids = [f"v{row}" for row in range(videos)]
    metrics.update(Batch(predictions=scores, multi_hot=hot, ids=ids))
    return metrics, scores, hot


def test_names_are_distinct_and_every_metric_has_an_interval_a_title_and_a_meaning():
    names = [metric.name for metric in METRICS]
    assert len(set(names)) == len(names)
    assert {GAP, LOSS} <= set(names)
    assert all(metric.left_out and metric.title and metric.meaning for metric in METRICS)


def test_the_mean_of_figures_is_computed_for_all_videos_and_without_each():
    metrics, scores, hot = model_of()
    recalls = [
        sum(labels[c] for c in np.argsort(-row)[:3]) / max(labels.sum(), 1)
        for row, labels in zip(scores, hot, strict=True)
    ]
    assert values_of(metrics, [RECALL]) == {"recall_at_3": pytest.approx(np.mean(recalls))}
    videos = np.unique(metrics.rows.keys)
    without = leave_one_out(metrics, videos, [RECALL])["recall_at_3"].without
    place = np.searchsorted(videos, metrics.rows.keys)
    for row in range(len(recalls)):
        assert without[place[row]] == pytest.approx(np.mean(np.delete(recalls, row)))


def test_a_metric_without_left_out_has_a_value_and_no_interval():
    metrics, *_ = model_of()
    assert values_of(metrics, [VIDEOS]) == {"rows": 60}
    spread = spread_of([metrics], [VIDEOS, RECALL], max_videos=100, seed=0)
    assert spread.interval("rows", 60.0) is None
    assert spread.interval("recall_at_3", 0.5) is not None


def test_figures_of_another_shape_are_refused_by_name():
    wrong = mean_metric("wrong", "Wrong", lambda rows: rows.scores)
    with pytest.raises(DataError, match=r"metric wrong: its figures have shape \(60, 12\)"):
        values_of(model_of()[0], [wrong])


def test_a_value_that_is_no_number_is_undefined():
    nothing = Metric(name="nothing", title="Nothing", value=lambda metrics: float("nan"))
    assert values_of(model_of()[0], [nothing]) == {"nothing": None}


def test_of_an_unknown_metric_neither_scale_nor_direction_is_assumed():
    assert info_of(GAP).title == "GAP"
    assert info_of("recall_at_3", [RECALL.info]) == RECALL.info
    unknown = info_of("recall_at_3")
    assert unknown.title == "recall_at_3"
    assert (unknown.is_share, unknown.lower_is_better) == (False, None)
