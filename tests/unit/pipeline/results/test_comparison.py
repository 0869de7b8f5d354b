"""Two runs side by side: settings, metrics with the interval of their difference, classes."""

import json
from dataclasses import replace

import pytest
from run_reports import estimate

from yt8m.components.artifacts.decision import Decision
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.evaluation import ClassMetrics, Evaluation, SliceMetrics
from yt8m.components.artifacts.run_outputs import RunOutputs
from yt8m.pipeline.results.comparison import compare
from yt8m.pipeline.results.comparison_views import as_page, as_text
from yt8m.pipeline.results.model_results import ModelResults
from yt8m.schemas.features import Level


def results(tmp_path, name, *, gap, aps, steps, version=0, decision=None):
    folder = tmp_path / name
    folder.mkdir()
    evaluation = Evaluation(
        level=Level.VIDEO,
        top_k=20,
        videos=100,
        examples=100,
        overall=SliceMetrics(candidate={"gap": estimate(gap, 0.03)}),
        classes=tuple(
            ClassMetrics(
                class_id=i, name=f"class {i}" if i else "", positives=10 * (i + 1), candidate=ap
            )
            for i, ap in enumerate(aps)
        ),
    )
    (folder / "metrics.json").write_text(evaluation.to_json())
    if decision is not None:
        (folder / "decision.json").write_text(decision.to_json())
    kinds = ("train", "validation")
    rows = [{"kind": k, "step": s, "loss": 9 / s, "gap": gap} for k in kinds for s in (10, 20)]
    (folder / "training.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    place = str(folder)
    return ModelResults(
        name=f"run {name}",
        configuration={
            "trainer": {"max_steps": steps, "log": {"every_steps": steps}},
            "root": str(tmp_path / name),
            "bulk_inferrer": {"split": name},
        },
        version=version,
        outputs=RunOutputs({"evaluation": place, "model_blessing": place, "model_run": place}),
    )


@pytest.fixture
def two(tmp_path):
    a = results(tmp_path, "a", gap=0.7, aps=(0.1, 0.5, 0.9), steps=10, version=4)
    return a, results(tmp_path, "b", gap=0.72, aps=(0.9, 0.7, 0.6), steps=20)


def test_settings_that_make_the_model_are_compared_and_places_are_not(two):
    assert compare(*two).settings == {"trainer.max_steps": (10, 20)}


def test_the_difference_has_the_interval_of_two_independent_measurements(two):
    (gap,) = compare(*two).metrics
    assert gap.difference.value == pytest.approx(0.02)
    assert gap.difference.upper - gap.difference.value == pytest.approx(0.03 * 2**0.5)


def test_the_gates_paired_difference_is_taken_where_a_was_its_baseline(tmp_path, two):
    paired = Estimate(value=0.02, lower=0.018, upper=0.022)
    decision = Decision(
        blessed=True, reason="", baseline="version 4", differences={"gap": paired}, metrics={}
    )
    b = results(tmp_path, "c", gap=0.72, aps=(), steps=20, decision=decision)
    found = compare(two[0], b)
    assert found.metrics[0].difference == paired
    assert not any("pairs them" in note for note in found.notes)


def test_other_spans_are_said_to_be_a_reason_of_the_difference(tmp_path, two):
    a = replace(two[0], spans=(1,))
    notes = compare(a, replace(two[1], spans=(1, 2))).notes
    assert any("a was made from span 1 of the data and b from spans 1, 2" in n for n in notes)
    assert not any("was made from" in n for n in compare(a, replace(two[1], spans=(1,))).notes)
    paired = Decision(
        blessed=True, reason="", baseline="version 4", differences={"gap": Estimate(value=0.01)}
    )
    b = results(tmp_path, "c", gap=0.72, aps=(), steps=20, decision=paired)
    assert any("on the videos of b's" in n for n in compare(a, replace(b, spans=(2,))).notes)


def test_classes_come_by_their_gain_and_only_with_enough_videos(two):
    assert [one.class_id for one in compare(*two, support=20).classes] == [1, 2]
    assert [one.gain for one in compare(*two).classes] == pytest.approx([0.8, 0.2, -0.3])


def test_what_one_of_them_has_no_more_is_said(two):
    gone = ModelResults(name="version 2", configuration={}, recorded={"gap": Estimate(value=0.6)})
    found = compare(gone, two[1])
    assert found.metrics[0].difference == Estimate(value=pytest.approx(0.12))
    assert any(
        note.startswith("version 2: its evaluation no longer exists") for note in found.notes
    )


def test_text_and_page_say_it_all(two):
    found = compare(*two)
    text, page = as_text(found), as_page(found)
    for said in ("trainer.max_steps", "class 0", "class 2"):
        assert said in text
        assert said in page
    assert "gained most" in text
    assert page.count("<polyline") >= 4  # the loss and the GAP of both
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["b"] == "run b"


@pytest.mark.parametrize(("kind", "has_dots"), [("training", False), ("validation", True)])
def test_only_what_was_measured_now_and_then_is_drawn_with_dots(two, kind, has_dots):
    figures = [part for part in as_page(compare(*two)).split("<figure") if f", {kind}" in part]
    assert len(figures) == 2
    for figure in figures:
        assert ("<circle" in figure.partition("</figure>")[0]) is has_dots


@pytest.mark.parametrize(
    ("gap", "conclusion"),
    [
        (0.8, "b is better than a: GAP +0.1000 [+0.0"),
        (0.6, "b is worse than a: GAP -0.1000 [-0.1"),
        (0.71, "evaluations of each alone show no significant difference: GAP +0.0100 [-0.0"),
    ],
)
def test_it_begins_with_which_is_better_or_that_nobody_can_tell(tmp_path, two, gap, conclusion):
    found = compare(two[0], results(tmp_path, "c", gap=gap, aps=(), steps=20))
    assert found.conclusion.startswith(conclusion)
    assert found.to_dict()["conclusion"] == found.conclusion
    assert found.conclusion in as_text(found)
    assert "each alone" in as_page(found) or "than a: GAP" in as_page(found)


def test_a_class_without_a_name_is_called_by_its_number(two):
    assert {one.name for one in compare(*two).classes} == {"class 0", "class 1", "class 2"}
