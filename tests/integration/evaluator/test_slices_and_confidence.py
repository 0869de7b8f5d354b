"""Slices by vertical and by any feature, sampled intervals, and sure differences, as they run."""

import shutil

import numpy as np
import pytest
from evaluator_run import CLASSES, create_world, run_evaluator
from records import edit_record, read_all, set_feature

from yt8m.components.records.decode import decode_record
from yt8m.components.records.vocabulary import load_vocabulary
from yt8m.schemas.features import Level

COUNTRIES = (b"de", b"fr", b"de", b"at")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return create_world(tmp_path_factory.mktemp("world"), videos=90)


@pytest.fixture(scope="module")
def good(world):
    return world.model("good")


def eval_records(world):
    shards = sorted(world.data.glob("validate*.tfrecord"))
    return [decode_record(record) for shard in shards for record in read_all(shard)]


def test_a_video_counts_in_every_vertical_of_the_vocabulary(world, good, tmp_path):
    file = world.data / "vocabulary.csv"
    config = {"slices": [{"by": "vertical"}], "vocabulary": str(file)}
    outcome = run_evaluator(world, tmp_path, model=good, gate={"gap_threshold": 0.1}, config=config)
    vocabulary = load_vocabulary(str(file), num_classes=CLASSES)
    expected = {}
    for record in eval_records(world):
        labels = np.asarray(record.features["labels"]).tolist()
        of_video = {v for label in labels for v in vocabulary.verticals_of_class[label]}
        for vertical in of_video:
            name = vocabulary.verticals[vertical]
            expected[name] = expected.get(name, 0) + 1
    parts = outcome.evaluation.slices
    assert {part.value: part.examples for part in parts} == expected
    assert len(expected) > 1
    assert {c.name for c in outcome.evaluation.classes} <= set(vocabulary.names)


@pytest.mark.parametrize("level", [Level.VIDEO, Level.FRAME], ids=lambda level: level.value)
def test_any_feature_of_the_record_or_its_context_parts_the_data(level, tmp_path):
    world = create_world(tmp_path / "world", level, videos=12)
    shards = sorted(world.data.glob("validate*.tfrecord"))
    for shard in shards:
        for row in range(len(read_all(shard))):
            edit_record(shard, row, set_feature("country", (COUNTRIES[row % len(COUNTRIES)],)))
    threshold = {"metric": "gap", "slice": "country=fr", "minimum": 0.999}
    outcome = run_evaluator(
        world,
        tmp_path / "run",
        model=world.model("good"),
        gate={"gap_threshold": 0.001, "thresholds": [threshold]},
        config={"slices": [{"by": "feature", "feature": "country"}]},
    )
    texts = [record.features["country"][0].decode() for record in eval_records(world)]
    expected = {country: texts.count(country) for country in set(texts)}
    assert {part.value: part.examples for part in outcome.evaluation.slices} == expected
    (check,) = [c for c in outcome.decision.checks if c.slice]
    (fr,) = [part for part in outcome.evaluation.slices if part.value == "fr"]
    assert (check.slice, check.observed) == ("country=fr", fr.candidate["gap"].value)
    assert outcome.blessed is (check.observed >= 0.999)


def test_a_change_that_may_be_chance_is_refused_where_the_gate_wants_to_be_sure(
    world, good, tmp_path
):
    nearly = world.model("nearly", noise=0.05)
    free = {"gap_threshold": 0.1}
    difference = run_evaluator(
        world, tmp_path / "a", model=good, baseline=nearly, gate=free
    ).decision.differences["gap"]
    assert difference.lower < difference.value < difference.upper
    between = (difference.lower + difference.value) / 2
    gate = {**free, "gap_change_threshold": between}
    by_point = run_evaluator(world, tmp_path / "b", model=good, baseline=nearly, gate=gate)
    assert by_point.blessed
    sure = {**gate, "confident": True}
    by_bound = run_evaluator(world, tmp_path / "c", model=good, baseline=nearly, gate=sure)
    assert not by_bound.blessed
    (failed,) = [c for c in by_bound.decision.checks if c.applied and not c.passed]
    assert failed.observed == pytest.approx(difference.lower)
    reason = by_bound.decision.reason
    assert "lower bound of change of gap" in reason
    assert failed.videos == by_bound.decision.videos < failed.videos_needed
    assert (
        f"not significant with {failed.videos:,} videos, about {failed.videos_needed:,}" in reason
    )


def test_every_metric_and_its_difference_have_an_interval_that_may_gate(world, good, tmp_path):
    nearly = world.model("nearly", noise=0.05)
    asked = [
        {"metric": metric, "min_change": -0.5, "confident": True}
        for metric in ("map", "perr", "hit_at_1")
    ]
    gate = {"gap_threshold": 0.1, "thresholds": asked}
    outcome = run_evaluator(world, tmp_path, model=good, baseline=nearly, gate=gate)
    decision = outcome.decision
    assert decision.blessed, decision.reason
    for estimates in (decision.metrics, decision.baseline_metrics, decision.differences):
        assert all(e.lower <= e.value <= e.upper for e in estimates.values()), estimates
    for check in decision.checks[2:]:
        difference = decision.differences[check.metric]
        assert (check.observed, check.lower) == (difference.lower, difference.lower)


def test_intervals_of_a_sample_say_so(world, good, tmp_path):
    intervals = {"max_videos": 100, "seed": 3}
    big = create_world(tmp_path / "world", videos=150)
    shutil.copytree(good, tmp_path / "good")
    outcome = run_evaluator(
        big,
        tmp_path / "run",
        model=tmp_path / "good",
        gate={"gap_threshold": 0.001},
        config={"intervals": intervals},
    )
    assert [n for n in outcome.decision.notes if "100 of 150 videos" in n and "seed 3" in n]
    gap = outcome.decision.metrics["gap"]
    assert gap.lower < gap.value < gap.upper
