"""Metrics of a user's own, in the catalogue's form and in TFMA's, from the scores to the report."""

import numpy as np
import pytest
from evaluator_run import create_world, run_evaluator
from exported_models import read_matrix

from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.report.model import RunReport
from yt8m.components.report.page import render_report

MODULE = '''
"""Two metrics of our own: one with an interval, and one without."""

import numpy as np

from yt8m.components.metrics import Metric, mean_metric


def _recalled(rows):
    return rows.hits[:, :3].sum(axis=1) / np.maximum(rows.label_counts, 1)


def _rarest(metrics):
    return float(metrics.class_precision().positives.min())


recall_at_3 = mean_metric("recall_at_3", "Recall@3", _recalled)
rarest = Metric(name="rarest", title="Rarest class", value=_rarest, is_share=False)
'''
LABELS = """metrics_specs { metrics { class_name: "MeanLabel" config: '"name": "labels"' } }"""


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return create_world(tmp_path_factory.mktemp("world"), videos=90)


@pytest.fixture(scope="module")
def outcome(world, tmp_path_factory):
    place = tmp_path_factory.mktemp("own")
    (place / "evaluated_metrics.py").write_text(MODULE)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(place)
        return run_evaluator(
            world,
            place / "run",
            model=world.model("good"),
            baseline=world.model("worse", noise=2.0),
            gate={
                "gap_threshold": 0.1,
                "thresholds": [
                    {"metric": "recall_at_3", "minimum": 0.5, "confident": True},
                    {"metric": "recall_at_3", "min_change": 0.01, "confident": True},
                    {"metric": "recall_at_3", "slice": "num_labels=<2", "maximum": 0.01},
                    {"metric": "rarest", "minimum": 1},
                ],
            },
            config={
                "metrics": ["evaluated_metrics.recall_at_3", "evaluated_metrics.rarest"],
                "eval_config": LABELS,
                "slices": [{"by": "num_labels", "edges": [2]}],
            },
        )


def test_its_value_and_interval_are_beside_ours(world, outcome):
    overall = outcome.evaluation.overall
    assert list(overall.candidate)[-3:] == ["recall_at_3", "rarest", "labels"]
    recall, difference = overall.candidate["recall_at_3"], overall.difference["recall_at_3"]
    assert recall.lower < recall.value < recall.upper
    assert difference.lower < difference.value < difference.upper
    assert difference.value == recall.value - overall.baseline["recall_at_3"].value
    hot = read_matrix(sorted(world.data.glob("validate*.tfrecord")), 20)[1]
    assert overall.candidate["rarest"] == Estimate(value=hot.sum(axis=0).min())
    share = [
        part.candidate["recall_at_3"].value * part.examples for part in outcome.evaluation.slices
    ]
    assert sum(share) / 90 == pytest.approx(recall.value)


def test_what_tfma_computes_is_an_estimate_without_an_interval(world, outcome):
    hot = read_matrix(sorted(world.data.glob("validate*.tfrecord")), 20)[1]
    for part in (outcome.evaluation.overall, *outcome.evaluation.slices):
        assert part.candidate["labels"].lower is None
        assert part.baseline["labels"] == part.candidate["labels"]
        assert part.difference["labels"] == Estimate(value=0.0)
    assert outcome.evaluation.overall.candidate["labels"].value == pytest.approx(np.mean(hot))


def test_the_gate_decides_on_it(outcome):
    *_, sure, change, of_slice, plain = outcome.decision.checks
    overall = outcome.evaluation.overall
    assert sure.observed == overall.candidate["recall_at_3"].lower
    assert change.observed == overall.difference["recall_at_3"].lower
    assert (sure.passed, change.passed, of_slice.passed, plain.passed) == (True, True, False, True)
    assert not outcome.blessed
    assert "recall_at_3 <= 0.01 is needed on num_labels=<2" in outcome.decision.reason
    assert set(outcome.decision.metrics) == set(overall.candidate)


def test_the_report_shows_it_by_its_title(outcome):
    page = render_report(RunReport(decision=outcome.decision, evaluation=outcome.evaluation))
    for title in ("Recall@3", "Rarest class", "labels"):
        assert f'<div class="name">{title}</div>' in page
