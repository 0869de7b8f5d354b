import pytest

from yt8m.components.trainer.config import InTrainingValidationConfig
from yt8m.components.trainer.state.plateau import PlateauState, decide, is_due, parse_state


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


def test_gap_is_better_when_higher():
    verdicts = run([0.1, 0.3, 0.2], metric="gap")
    assert [v.is_better for v in verdicts] == [True, True, False]


def test_state_survives_its_text_form():
    state = run([3.0, 4.0, 5.0], num_tries=2)[-1].state
    assert parse_state(state.to_json()) == state
