import pytest

from yt8m.components.metrics.catalogue import MetricInfo
from yt8m.components.trainer.config import InTrainingValidationConfig, TrainerConfig
from yt8m.components.trainer.state.plateau import PlateauState, decide, is_due, parse_state
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import ConfigError


def run(values, **config):
    """The states after validations at steps 0, 10, 20, ... that gave `values`."""
    node = InTrainingValidationConfig(every_steps=10, **config)
    state, verdicts = PlateauState(), []
    for number, value in enumerate(values):
        verdict = decide(node, state, value=value, step=10 * number)
        state = verdict.state
        verdicts.append(verdict)
    return verdicts


def test_the_first_validation_is_at_step_0_and_is_the_best_so_far():
    config = InTrainingValidationConfig(every_steps=10)
    assert is_due(config, PlateauState(), 0)
    first = run([3.0])[0]
    assert (first.is_better, first.state.best, first.state.best_step) == (True, 3.0, 0)


@pytest.mark.parametrize(
    ("step", "last", "due"), [(0, None, True), (0, 0, False), (9, 0, False), (10, 0, True)]
)
def test_each_nth_step_is_validated_once(step, last, due):
    config = InTrainingValidationConfig(every_steps=10)
    assert is_due(config, PlateauState(last_step=last), step) is due


def test_without_a_frequency_nothing_is_validated():
    assert not is_due(InTrainingValidationConfig(), PlateauState(), 0)


def test_halvings_compound_and_a_better_validation_keeps_the_factor():
    factors = [v.state.factor for v in run([3.0, 4.0, 2.0, 5.0, 6.0])]
    assert factors == [1.0, 0.5, 0.5, 0.25, 0.125]


def test_halving_can_be_left_out():
    assert [v.state.factor for v in run([3.0, 4.0], halve=False)] == [1.0, 1.0]


def test_worse_goes_back_to_the_best_step():
    verdicts = run([3.0, 2.0, 4.0], go_back=True)
    assert [v.go_back for v in verdicts] == [False, False, True]
    assert verdicts[-1].state.best_step == 10


def test_tries_are_reset_by_a_better_validation():
    verdicts = run([3.0, 4.0, 2.0, 5.0, 6.0], num_tries=2)
    assert [v.state.tries for v in verdicts] == [0, 1, 0, 1, 2]
    assert [v.state.has_stopped for v in verdicts] == [False, False, False, False, True]


def test_tries_add_up_without_reset():
    verdicts = run([3.0, 4.0, 2.0, 5.0], num_tries=2, reset_tries=False)
    assert [v.state.has_stopped for v in verdicts] == [False, False, False, True]


def test_equal_is_not_better():
    assert not run([3.0, 3.0])[1].is_better


def test_nan_is_worse_and_any_number_is_better_than_a_first_nan():
    nan = float("nan")
    assert [v.is_better for v in run([nan, 3.0, nan])] == [False, True, False]


@pytest.mark.parametrize("metric", ["gap", "map", "perr", "hit_at_1"])
def test_metrics_of_the_catalogue_are_better_when_higher(metric):
    verdicts = run([0.1, 0.3, 0.2], metric=metric)
    assert [v.is_better for v in verdicts] == [True, True, False]


def test_a_metric_of_ones_own_says_itself_which_values_are_better():
    own = MetricInfo(name="missed", title="Missed", lower_is_better=True)
    state, better = PlateauState(), []
    for value in (0.2, 0.3, 0.1):
        node = InTrainingValidationConfig(metric="missed")
        decision = decide(node, state, value=value, step=1, known=[own])
        state = decision.state
        better.append(decision.is_better)
    assert better == [True, False, True]


@pytest.mark.parametrize(
    "node",
    [
        {"validation": {"metric": "mpa"}},
        {"early_stopping": {"name": "reached", "metric": "mpa"}},
        {"evaluation": {"exporters": [{"name": "best", "metric": "mpa"}]}},
    ],
)
def test_what_is_no_metric_is_refused(node):
    with pytest.raises(ConfigError, match=r"metric = 'mpa'.*another metric of docs/gating\.md"):
        from_dict(TrainerConfig, node)


def test_improvements_that_are_too_small_count_as_tries_and_still_are_the_best():
    values = [4.0, 3.0, 2.99, 2.98, 2.0]
    verdicts = run(values, num_tries=2, min_relative_change=0.1)
    assert [v.is_better for v in verdicts] == [True] * 5
    assert [v.state.best for v in verdicts] == values
    assert [v.state.tries for v in verdicts] == [0, 0, 1, 2, 0]
    assert [v.state.has_stopped for v in verdicts] == [False, False, False, True, False]
    assert [v.state.factor for v in verdicts] == [1.0] * 5  # none of them was worse


def test_state_survives_its_text_form():
    state = run([3.0, 4.0, 5.0], num_tries=2)[-1].state
    assert parse_state(state.to_json()) == state
