"""The gate's decision: a table by hand, and every kind of limit against an obvious oracle."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt8m.components.artifacts.decision import Check, Decision, GateMode, decision_text
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.evaluation import Evaluation, SliceMetrics
from yt8m.components.evaluator.config import GateConfig
from yt8m.components.evaluator.gate import GateLimit, Quantity, decide
from yt8m.components.evaluator.thresholds import limits_of
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.features import Level

LOSS, COUNTRY = "loss", "country=de"


def estimates(values):
    return {
        name: Estimate(value=v[0], lower=v[1], upper=v[2])
        if isinstance(v, tuple)
        else Estimate(value=v)
        for name, v in values.items()
    }


def part(candidate, baseline=None, difference=None, *, examples=100, **name):
    """One slice; differences are those of the values where none are given."""
    if difference is None:
        difference = {
            n: None if candidate[n] is None or theirs is None else candidate[n] - theirs
            for n, theirs in (baseline or {}).items()
        }
    return SliceMetrics(
        examples=examples,
        videos=examples,
        candidate=estimates(candidate),
        baseline=estimates(baseline or {}),
        difference=estimates(difference),
        **name,
    )


def evaluation(overall, *slices, **more):
    return Evaluation(
        level=Level.VIDEO,
        top_k=20,
        videos=overall.videos,
        examples=overall.examples,
        overall=overall,
        slices=slices,
        **more,
    )


def limits(**gate):
    """The limits of `gate` alone: without those that it has by default."""
    values = {"gap_change_threshold": None, "min_examples": 1, **gate}
    return limits_of(from_dict(GateConfig, values, path="gate"))


def failed(decision):
    return [(check.metric, check.slice) for check in decision.checks if not check.passed]


ALONE = part({"gap": (0.7, 0.65, 0.75), "loss": 2.0})
PAIR = part(
    {"gap": (0.7, 0.65, 0.75), "loss": 2.0},
    {"gap": (0.5, 0.45, 0.55), "loss": 4.0},
    {"gap": (0.2, 0.1, 0.3), "loss": -2.0},
)
GERMANY = part({"gap": 0.4}, column="country", value="de", examples=10)


@pytest.mark.parametrize(
    ("data", "gate", "wrong"),
    [
        # values, on the bound too
        (ALONE, {"gap_threshold": 0.7}, []),
        (ALONE, {"gap_threshold": 0.701}, ["gap"]),
        (ALONE, {"gap_threshold": 0.65, "confident": True}, []),
        (ALONE, {"gap_threshold": 0.66, "confident": True}, ["gap"]),
        (ALONE, {"thresholds": [{"metric": LOSS, "maximum": 2.0}]}, []),
        (ALONE, {"thresholds": [{"metric": LOSS, "maximum": 1.9}]}, ["loss"]),
        # the number of examples
        (ALONE, {"gap_threshold": 0.1, "min_examples": 100}, []),
        (ALONE, {"gap_threshold": 0.1, "min_examples": 101}, ["example_count"]),
        # what nobody measured
        (ALONE, {"thresholds": [{"metric": "auc", "minimum": -9}]}, ["auc"]),
        (part({"gap": None}), {"gap_threshold": 0.0}, ["gap"]),
        (part({"gap": math.nan}), {"gap_threshold": 0.0}, ["gap"]),
        (part({"gap": math.nan}), {"thresholds": [{"metric": "gap", "maximum": 1}]}, ["gap"]),
        (part({"gap": 0.7}), {"gap_threshold": 0.1, "confident": True}, ["gap"]),
        # changes: absolute, relative, confident
        (PAIR, {"gap_change_threshold": 0.2}, []),
        (PAIR, {"gap_change_threshold": 0.21}, ["gap"]),
        (PAIR, {"gap_relative_change_threshold": 0.4}, []),
        (PAIR, {"gap_relative_change_threshold": 0.41}, ["gap"]),
        (PAIR, {"gap_change_threshold": 0.1, "confident": True}, []),
        (PAIR, {"gap_change_threshold": 0.11, "confident": True}, ["gap"]),
        (PAIR, {"gap_relative_change_threshold": 0.2, "confident": True}, []),
        (PAIR, {"gap_relative_change_threshold": 0.21, "confident": True}, ["gap"]),
        (PAIR, {"thresholds": [{"metric": LOSS, "max_change": -2.0}]}, []),
        (PAIR, {"thresholds": [{"metric": LOSS, "max_change": -2.1}]}, ["loss"]),
        # a share of nothing is undefined
        (
            part({"gap": 0.7}, {"gap": 0.0}),
            {"gap_relative_change_threshold": 0.0},
            ["gap"],
        ),
        # of a baseline below zero the interval turns round: this one is [-0.4, 0]
        (
            part({"gap": -0.4}, {"gap": -0.5}, {"gap": (0.1, 0.0, 0.2)}),
            {"gap_relative_change_threshold": -0.3, "confident": True},
            ["gap"],
        ),
        # two limits on one number: the one that fails is told from the one that does not
        (ALONE, {"thresholds": [{"metric": "gap", "minimum": 0.8, "maximum": 0.9}]}, ["gap"]),
    ],
)
def test_each_limit_is_kept_or_not(data, gate, wrong):
    baseline = "version 1" if data.baseline else None
    decision = decide(evaluation(data), limits(**gate), baseline=baseline)
    assert [metric for metric, _ in failed(decision)] == wrong
    assert decision.blessed is (wrong == [])


@pytest.mark.parametrize(("minimum", "blessed"), [(0.4, True), (0.41, False)])
def test_a_limit_on_a_slice_looks_at_that_slice_alone(minimum, blessed):
    gate = {"thresholds": [{"metric": "gap", "slice": COUNTRY, "minimum": minimum}]}
    decision = decide(evaluation(ALONE, GERMANY), limits(gap_threshold=0.7, **gate))
    assert decision.blessed is blessed
    assert decision.checks[-1].videos == 10


def test_a_slice_without_examples_fails_and_says_so():
    gate = {"thresholds": [{"metric": "gap", "slice": COUNTRY, "minimum": 0.0}]}
    decision = decide(evaluation(ALONE), limits(gap_threshold=0.7, **gate))
    assert failed(decision) == [("gap", COUNTRY)]
    assert "no evaluated example is in this slice" in decision.reason


def test_changes_do_not_apply_without_a_baseline():
    changes = {
        "gap_change_threshold": 0.9,
        "gap_relative_change_threshold": 9.0,
        "thresholds": [{"metric": LOSS, "max_change": -9.0}],
    }
    decision = decide(evaluation(ALONE), limits(gap_threshold=0.5, **changes))
    assert decision.blessed
    assert [check.applied for check in decision.checks] == [True, True, *[False] * 4]
    assert "no baseline yet" in decision.reason


def test_a_baseline_without_numbers_fails_changes():
    decision = decide(evaluation(ALONE), limits(gap_change_threshold=-0.5), baseline="version 1")
    assert failed(decision) == [("gap", "")]


def test_a_broken_model_is_not_blessed_with_or_without_a_gate():
    broken = evaluation(part({"gap": None}, examples=0), broken={"candidate": "predicts nan"})
    assert not decide(broken, limits(gap_threshold=0.0)).blessed
    scored = evaluation(ALONE, broken={"candidate": "predicts nan"})
    assert not decide(scored, limits(gap_threshold=0.1)).blessed
    without = decide(broken, (), mode=GateMode.NONE)
    assert (without.blessed, without.reason) == (False, "predicts nan")


def test_no_gate_blesses_whatever_was_scored_and_no_limits_are_no_gate():
    bad = evaluation(part({"gap": 0.0}))
    assert decide(bad, (), mode=GateMode.NONE).blessed
    empty = decide(bad, ())
    assert not empty.blessed
    assert "gate.mode=none" in empty.reason


def test_no_metric_of_the_users_own_stands_for_the_number_of_examples():
    overall = part({"gap": 0.7, "example_count": 5000.0}, examples=10)
    decision = decide(evaluation(overall), limits(gap_threshold=0.5, min_examples=100))
    assert failed(decision) == [("example_count", "")]


@pytest.mark.parametrize(("minimum", "needed"), [(0.6, 25), (0.65, 100), (0.69, 2500), (0.7, None)])
def test_a_check_says_how_many_videos_tell_the_value_from_its_limit(minimum, needed):
    check = decide(evaluation(ALONE), limits(gap_threshold=minimum)).checks[-1]
    # The interval reaches 0.05 down, and its reach shrinks with the root of the 100 videos.
    assert check.videos_needed == pytest.approx(needed, abs=1)


def test_a_check_made_elsewhere_counts():
    other = Check(metric="auc", needed="auc as evaluator.eval_config requires", note="needs 0.9")
    decision = decide(evaluation(ALONE), limits(gap_threshold=0.5), more=[other])
    assert not decision.blessed
    assert decision.reason == "auc as evaluator.eval_config requires: needs 0.9"
    assert decide(evaluation(ALONE), (), mode=GateMode.NONE, more=[other]).blessed


def test_a_relative_change_shows_its_own_interval():
    decision = decide(
        evaluation(PAIR), limits(gap_relative_change_threshold=0.0), baseline="version 1"
    )
    check = decision.checks[-1]
    assert (check.observed, check.lower, check.upper) == pytest.approx((0.4, 0.2, 0.6))
    # The change of 0.4 is one half-width of 0.2 away from the bound: a quarter of 100 videos.
    assert check.videos_needed == 25


NUMBERS = st.one_of(st.none(), st.integers(-4, 8).map(lambda n: n / 8))
METRICS = ("gap", "map", "loss")


@st.composite
def slices(draw, *, has_baseline, **name):
    candidate, baseline, difference = {}, {}, {}
    for metric in METRICS:
        ours = draw(NUMBERS)
        candidate[metric] = ours if ours is None else (ours, ours - draw(st.integers(0, 2)) / 8, 9)
        if has_baseline:
            theirs = baseline[metric] = draw(NUMBERS)
            if ours is not None and theirs is not None:
                change = ours - theirs
                difference[metric] = (change, change - draw(st.integers(0, 2)) / 8, 9)
            else:
                difference[metric] = None
    examples = draw(st.integers(1, 20))
    return part(candidate, baseline, difference, examples=examples, **name)


@st.composite
def evaluations(draw):
    """Any evaluation, with or without a baseline and a slice."""
    has_baseline = draw(st.booleans())
    overall = draw(slices(has_baseline=has_baseline))
    named = {"has_baseline": has_baseline, "column": "country", "value": "de"}
    more = [draw(slices(**named))] if draw(st.booleans()) else []
    return evaluation(overall, *more), "version 1" if has_baseline else None


BOUND = st.one_of(st.none(), st.integers(-4, 8).map(lambda n: n / 8))


@st.composite
def thresholds(draw):
    """A threshold as YAML has it."""
    given = {
        name: draw(BOUND)
        for name in ("minimum", "maximum", "min_change", "max_change", "min_relative_change")
    }
    given = {name: bound for name, bound in given.items() if bound is not None}
    confident = bool(given) and not {"maximum", "max_change"} & set(given) and draw(st.booleans())
    return {
        "metric": draw(st.sampled_from(METRICS)),
        "slice": draw(st.sampled_from(["", COUNTRY])),
        "confident": confident,
        **(given or {"minimum": 0.5}),
    }


GATES = st.fixed_dictionaries(
    {
        "min_examples": st.integers(1, 20),
        "thresholds": st.lists(thresholds(), max_size=3),
    }
)


def obviously_blessed(found, baseline, gate):
    """The rules one after the other, from the text of the configuration."""
    if found.overall.examples < gate["min_examples"]:
        return False
    for threshold in gate["thresholds"]:
        [*rows] = [p for p in (found.overall, *found.slices) if p.name == threshold["slice"]]
        for rule in set(threshold) - {"metric", "slice", "confident"}:
            if "change" in rule and baseline is None:
                continue
            if not rows:
                return False
            [row] = rows
            estimate = (row.difference if "change" in rule else row.candidate)[threshold["metric"]]
            number = estimate.lower if threshold["confident"] else estimate.value
            if number is None:
                return False
            if "relative" in rule:
                theirs = row.baseline[threshold["metric"]].value
                if not theirs:
                    return False
                if threshold["confident"] and theirs < 0:
                    number = estimate.upper
                number = number / theirs
            too_low = rule.startswith("min") and number < threshold[rule]
            too_high = rule.startswith("max") and number > threshold[rule]
            if too_low or too_high:
                return False
    return True


@given(evaluations(), GATES)
def test_every_decision_is_the_obvious_one(evaluated, gate):
    found, baseline = evaluated
    decision = decide(found, limits(**gate), baseline=baseline)
    assert decision.blessed is obviously_blessed(found, baseline, gate)
    # What is told follows from the decision, and nothing of it gets lost on the way to Pusher.
    assert decision.blessed is (failed(decision) == [])
    assert decision.blessed is ("clears every threshold" in decision.reason)
    assert Decision.from_json(decision.to_json()) == decision
    assert decision_text(decision).startswith("BLESSED" if decision.blessed else "NOT BLESSED")


@given(evaluations(), GATES, thresholds())
def test_another_threshold_never_helps(evaluated, gate, another):
    found, baseline = evaluated
    more = {**gate, "thresholds": [*gate["thresholds"], another]}
    if decide(found, limits(**more), baseline=baseline).blessed:
        assert decide(found, limits(**gate), baseline=baseline).blessed


@given(evaluations(), thresholds(), st.integers(1, 8).map(lambda n: n / 8))
def test_a_stricter_bound_never_helps(evaluated, threshold, step):
    found, baseline = evaluated
    stricter = {
        name: bound + step if name.startswith("min") else bound - step
        for name, bound in threshold.items()
        if isinstance(bound, float)
    }
    strict = limits(thresholds=[{**threshold, **stricter}])
    if decide(found, strict, baseline=baseline).blessed:
        assert decide(found, limits(thresholds=[threshold]), baseline=baseline).blessed


@given(
    st.sampled_from(Quantity),
    st.booleans(),
    st.floats(allow_nan=False),
    st.sampled_from([None, math.nan]),
)
def test_what_is_undefined_keeps_no_limit(quantity, is_maximum, bound, observed):
    limit = GateLimit(metric="gap", bound=bound, quantity=quantity, is_maximum=is_maximum)
    assert not limit.is_kept_by(observed)
