import pytest

from yt8m.components.trainer.config import (
    NoEarlyStopping,
    StopWhenNotBetter,
    StopWhenReached,
)
from yt8m.components.trainer.evaluation.early_stopping import best_step, should_stop
from yt8m.schemas.errors import UserError


def history(*gaps, every=100):
    return [(every * i, {"gap": gap, "loss": 10 - gap}) for i, gap in enumerate(gaps)]


NULL = [(0, {"gap": None, "loss": None})]
NULL_AT_100 = [(100, {"gap": None, "loss": None})]
TABLE = [
    (NoEarlyStopping(), history(0.1, 0.1, 0.1), False),
    (StopWhenNotBetter(patience_steps=200), [], False),
    (StopWhenNotBetter(patience_steps=200), history(0.1, 0.2, 0.2), False),
    (StopWhenNotBetter(patience_steps=200), history(0.1, 0.2, 0.2, 0.1), True),
    (StopWhenNotBetter(patience_steps=200), history(0.1, 0.2, 0.1, 0.3), False),
    (StopWhenNotBetter(patience_steps=200, min_steps=400), history(0.2, 0.1, 0.1, 0.1), False),
    (StopWhenNotBetter(patience_steps=200, min_change=0.1), history(0.1, 0.15, 0.19), True),
    # By a share of the best value: 0.15 is half of it more, 0.19 a quarter.
    (
        StopWhenNotBetter(patience_steps=150, min_relative_change=0.3),
        history(0.1, 0.15, 0.19),
        False,
    ),
    (
        StopWhenNotBetter(patience_steps=100, min_relative_change=0.3),
        history(0.1, 0.15, 0.19),
        True,
    ),
    (
        StopWhenNotBetter(patience_steps=200, metric="loss"),
        history(0.3, 0.2, 0.1),
        True,
    ),
    (StopWhenReached(value=0.3), history(0.1, 0.2), False),
    # A diverged model's metrics are null: never better, never enough.
    (StopWhenNotBetter(patience_steps=250), NULL + history(0.1, 0.1, 0.1, 0.2)[1:], False),
    (StopWhenNotBetter(patience_steps=100), history(0.1) + NULL_AT_100, True),
    (StopWhenReached(value=0.3), history(0.1) + NULL_AT_100, False),
    (StopWhenReached(value=0.3), history(0.1, 0.3), True),
    (StopWhenReached(value=9.8, metric="loss"), history(0.1, 0.3), True),
]


@pytest.mark.parametrize(("policy", "evaluations", "stops"), TABLE)
def test_policies_decide_from_the_history_of_evaluations(policy, evaluations, stops):
    assert should_stop(policy, evaluations) is stops


def test_a_metric_that_evaluations_do_not_give_is_named():
    with pytest.raises(UserError, match=r"'gap'.*give loss"):
        should_stop(StopWhenReached(value=1.0), [(0, {"loss": 1.0})])


def test_the_best_step_is_the_first_of_equals_and_never_one_without_a_number():
    policy = StopWhenNotBetter(metric="loss")
    found = [(2, 0.9), (4, 0.5), (6, None), (8, 0.5), (10, 0.7)]
    history = [(step, {"loss": value}) for step, value in found]
    assert best_step(policy, history) == 4
    assert best_step(policy, [(2, {"loss": None})]) is None
    assert best_step(policy, []) is None
    assert best_step(NoEarlyStopping(), history) is None
    gap = StopWhenReached(metric="gap", value=0.9)
    assert best_step(gap, [(1, {"gap": 0.0}), (2, {"gap": 0.3}), (3, {"gap": 0.2})]) == 2
