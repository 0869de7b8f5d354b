"""What the gate refuses before a run starts, and the operator's thresholds."""

import pytest

from yt8m.components.evaluator.config import EvaluatorConfig, GateConfig
from yt8m.components.evaluator.gate import GateLimit, Quantity
from yt8m.components.evaluator.thresholds import check_gate, limits_of, resolve_gate
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import ConfigError

SLICES = {"slices": [{"by": "num_labels", "edges": [2, 5]}]}


def gate(**values):
    return from_dict(GateConfig, values, path="gate")


def evaluator(**values):
    return from_dict(EvaluatorConfig, values, path="evaluator")


@pytest.mark.parametrize(
    ("values", "passes"),
    [
        ({}, False),
        ({"gap_threshold": 0.5}, True),
        ({"gap_change_threshold": 0.0}, False),
        ({"gap_relative_change_threshold": 0.01}, False),
        ({"gap_threshold": 0.5, "gap_change_threshold": 0.0}, True),
        ({"mode": "none"}, True),
        ({"thresholds": [{"metric": "map", "minimum": 0.3}]}, True),
        ({"thresholds": [{"metric": "loss", "maximum": 9}]}, True),
        ({"thresholds": [{"metric": "map", "min_change": 0.0}]}, False),
        ({"thresholds": [{"metric": "gap", "minimum": 0.3, "slice": "num_labels=<2"}]}, False),
    ],
)
def test_a_value_threshold_on_all_data_is_required_unless_the_gate_is_off(values, passes):
    problems = check_gate(gate(**values))
    assert (problems == []) is passes
    assert all("gate.mode: none" in problem for problem in problems)


@pytest.mark.parametrize(
    ("values", "node", "words"),
    [
        (
            {"thresholds": [{"metric": "gpa", "minimum": 1}]},
            {},
            "metric = 'gpa': must be one of gap",
        ),
        (
            {"thresholds": [{"metric": "gap", "minimum": 1, "slice": "vertical=Pets"}]},
            SLICES,
            "no such slice; known: num_labels",
        ),
        ({"confident": True}, {"intervals": {"enabled": False}}, "needs confidence intervals"),
    ],
)
def test_what_will_not_exist_is_found_before_the_run(values, node, words):
    problems = check_gate(gate(gap_threshold=0.5, **values), evaluator(**node))
    assert len(problems) == 1
    assert words in problems[0]


def test_a_metric_of_the_users_own_eval_config_is_not_refused():
    values = {"thresholds": [{"metric": "auc", "minimum": 1}]}
    assert check_gate(gate(gap_threshold=0.5, **values), evaluator(eval_config="x")) == []


@pytest.fixture(scope="module")
def own_metrics(tmp_path_factory):
    """A module with a metric that has an interval, and one that has none."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "gated_metrics.py").write_text(
        "from yt8m.components.metrics import Metric, mean_metric\n"
        "mean = mean_metric('mean', 'Mean', lambda rows: rows.label_counts, is_share=False)\n"
        "plain = Metric(name='plain', title='Plain', value=len)\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield {"metrics": ["gated_metrics.mean", "gated_metrics.plain"]}


@pytest.mark.parametrize(
    ("threshold", "problem"),
    [
        ({"metric": "mean", "minimum": -3, "confident": True}, None),
        ({"metric": "plain", "minimum": 0.5}, None),
        (
            {"metric": "plain", "minimum": 0.5, "confident": True},
            "gate.thresholds[0].confident = True: plain has no interval; leave confident out, or "
            "give the Metric its left_out",
        ),
        ({"metric": "plain", "minimum": 2}, "no model passes, for plain is from 0 to 1"),
        ({"metric": "other", "minimum": 1}, "must be one of gap, hit_at_1, perr, map, loss, mean"),
    ],
)
def test_a_metric_of_the_users_own_gates_like_ours(own_metrics, threshold, problem):
    problems = check_gate(gate(gap_threshold=0.5, thresholds=[threshold]), evaluator(**own_metrics))
    assert len(problems) == (problem is not None)
    assert all(problem in found for found in problems)


def test_confidence_in_what_tfma_computes_is_refused():
    threshold = {"metric": "auc", "minimum": 1, "confident": True}
    (problem,) = check_gate(
        gate(gap_threshold=0.5, thresholds=[threshold]), evaluator(eval_config="x")
    )
    assert "auc has no interval, because TFMA computes it" in problem


def test_a_metric_of_a_module_that_only_an_image_has_is_not_refused():
    threshold = {"metric": "auc", "minimum": 1, "confident": True}
    node = evaluator(metrics=["in_the_image.auc"])
    assert check_gate(gate(gap_threshold=0.5, thresholds=[threshold]), node) == []


def test_a_metric_that_is_none_is_one_line_of_the_gates_problems(own_metrics):
    node = evaluator(metrics=["gated_metrics.mean_metric"])
    (problem,) = check_gate(gate(gap_threshold=0.5), node)
    assert problem.startswith("evaluator.metrics: gated_metrics.mean_metric is a function")


def test_an_operators_thresholds_win_and_empty_is_as_configured():
    configured = gate(gap_threshold=0.5, gap_change_threshold=0.01)
    assert resolve_gate(configured) == configured
    given = resolve_gate(configured, gap_threshold=" 0.7 ", gap_change_threshold="1e-3")
    assert (given.gap_threshold, given.gap_change_threshold) == (0.7, 0.001)


@pytest.mark.parametrize("text", ["high", "1.5", "nan"])
def test_an_operators_nonsense_is_refused(text):
    with pytest.raises(ConfigError, match="gap_threshold"):
        resolve_gate(gate(gap_threshold=0.5), gap_threshold=text)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"gap_threshold": 1.5}, "gate.gap_threshold = 1.5: must be between 0 and 1"),
        ({"min_examples": 0}, "gate.min_examples = 0: must be 1 or more"),
        ({"mode": "off"}, "gate.mode = 'off': must be one of enforce, none"),
        ({"thresholds": [{"metric": "gap"}]}, "minimum = None: must be set"),
        (
            {"thresholds": [{"metric": "loss", "maximum": 1, "confident": True}]},
            "confident = True: must be false",
        ),
        (
            {"thresholds": [{"metric": "gap", "minimum": 1, "slice": "labels"}]},
            "must be written name=value",
        ),
    ],
)
def test_wrong_values_name_their_place(values, words):
    with pytest.raises(ConfigError) as error:
        gate(**values)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"slices": [{"by": "num_labels"}]}, "edges"),
        ({"slices": [{"by": "num_labels", "edges": [5, 2]}]}, "ascending"),
        ({"slices": [{"by": "feature"}]}, "the name of a feature"),
        ({"slices": [{"by": "vertical"}]}, "vocabulary.csv"),
        ({"slices": SLICES["slices"] * 2}, "distinct"),
        ({"intervals": {"level": 1.0}}, "0.5 or more and below 1"),
        ({"bootstrap": {"level": 0.9}}, "bootstrap: unknown key; it is now called intervals"),
        ({"top_k": 0}, "1 or more"),
    ],
)
def test_wrong_evaluator_values_say_what_is_allowed(values, words):
    with pytest.raises(ConfigError, match=words):
        evaluator(**values)


def test_configurations_survive_json():
    whole = gate(gap_threshold=0.5, thresholds=[{"metric": "map", "minimum": 0.3}])
    assert from_dict(GateConfig, to_dict(whole)) == whole
    node = evaluator(**SLICES, intervals={"seed": 4})
    assert from_dict(EvaluatorConfig, to_dict(node)) == node


def test_the_three_on_gap_and_the_others_become_limits_in_one_form():
    expected = [
        GateLimit(metric="example_count", bound=7),
        GateLimit(metric="gap", bound=0.5, confident=True),
        GateLimit(metric="gap", bound=0.0, quantity=Quantity.CHANGE, confident=True),
        GateLimit(metric="gap", bound=0.1, quantity=Quantity.RELATIVE_CHANGE, confident=True),
        GateLimit(metric="loss", bound=9.0, is_maximum=True, slice="num_labels=5+"),
        GateLimit(
            metric="loss",
            bound=1.0,
            quantity=Quantity.CHANGE,
            is_maximum=True,
            slice="num_labels=5+",
        ),
        GateLimit(metric="gap", bound=0.0, quantity=Quantity.CHAMPION_CHANGE),
    ]
    loss = {"metric": "loss", "maximum": 9.0, "max_change": 1.0, "slice": "num_labels=5+"}
    configured = gate(
        gap_threshold=0.5,
        gap_change_threshold=0.0,
        gap_relative_change_threshold=0.1,
        confident=True,
        min_examples=7,
        thresholds=[loss],
    )
    assert list(limits_of(configured)) == expected


@pytest.mark.parametrize("metric", ["map", "perr", "hit_at_1", "loss"])
def test_every_metric_may_be_asked_with_confidence(metric):
    asked = {"metric": metric, "min_change": 0.0, "confident": True}
    limit = limits_of(gate(gap_threshold=0.5, thresholds=[asked]))[-2]
    assert limit.text == f"lower bound of change of {metric} against the baseline >= 0"


@pytest.mark.parametrize(
    ("against_the_newest", "against_the_champion"),
    [(-0.01, [-0.005]), (-0.2, [-0.1]), (0.0, [0.0]), (0.05, [0.0]), (None, [])],
)
def test_below_the_champion_half_is_allowed_of_what_is_below_the_newest(
    against_the_newest, against_the_champion
):
    asked = limits_of(gate(gap_threshold=0.5, gap_change_threshold=against_the_newest))
    assert [limit.bound for limit in asked if limit.needs_champion] == against_the_champion


def test_no_gate_asks_nothing():
    assert limits_of(gate(mode="none", gap_threshold=0.9)) == ()


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ({"metric": "loss", "minimum": 0}, "minimum = 0: every model passes"),
        ({"metric": "loss", "minimum": 0}, "ask for a maximum"),
        ({"metric": "gap", "minimum": 65}, "minimum = 65: no model passes, for gap is from 0 to 1"),
        ({"metric": "map", "minimum": -1}, "minimum = -1: every model passes"),
        ({"metric": "perr", "maximum": 1}, "maximum = 1: every model passes"),
        ({"metric": "loss", "maximum": -0.5}, "maximum = -0.5: no model passes"),
        ({"metric": "gap", "min_change": -1}, "min_change = -1: every model passes"),
        ({"metric": "gap", "max_change": 5}, "for a change of gap is from -1 to 1; leave it out"),
        ({"metric": "map", "min_change": 1.5}, "min_change = 1.5: no model passes"),
        ({"metric": "loss", "min_relative_change": -1}, "relative change of loss is from -1"),
        ({"metric": "gpa", "minimum": 0.5}, "did you mean gap?"),
    ],
)
def test_a_limit_that_says_nothing_is_refused(limits, words):
    problems = check_gate(gate(gap_threshold=0.5, thresholds=[limits]), evaluator())
    assert len(problems) == 1
    assert problems[0].startswith("gate.thresholds[0].")
    assert words in problems[0]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"gap_threshold": 0}, "gate.gap_threshold = 0: every model passes"),
        ({"gap_threshold": 0}, "gate.mode: none"),
        (
            {"gap_threshold": 0.5, "gap_change_threshold": -1},
            "gate.gap_change_threshold = -1: every model passes, for a change of gap is from -1 "
            "to 1; null allows any loss",
        ),
        (
            {"gap_threshold": 0.5, "gap_relative_change_threshold": -1.5},
            "gate.gap_relative_change_threshold = -1.5: every model passes",
        ),
    ],
)
def test_a_gate_that_cannot_fail_is_refused_by_the_name_of_its_key(values, words):
    problems = check_gate(gate(**values), evaluator())
    assert len(problems) == 1
    assert words in problems[0]


def test_limits_within_reach_are_not_refused():
    limits = [{"metric": "gap", "minimum": 1}, {"metric": "loss", "maximum": 0.0}]
    assert check_gate(gate(gap_threshold=0.5, thresholds=limits), evaluator()) == []
