import pytest

from yt8m.components.trainer.config import EvaluationConfig
from yt8m.components.trainer.evaluation.continuous_eval import Throttle

TABLE = [
    # (step, now, final) of each checkpoint, and whether it is evaluated
    ([(10, 119, False)], [False]),  # within the start delay
    ([(10, 120, False)], [True]),
    ([(10, 120, False), (20, 719, False), (20, 720, False)], [True, False, True]),
    ([(10, 120, False), (10, 9000, False)], [True, False]),  # nothing new
    ([(10, 5, True)], [True]),  # the last one is always evaluated
    ([(10, 120, False), (20, 121, True)], [True, True]),
    ([(10, 120, False), (10, 130, True)], [True, True]),  # now it is known to be the last
    ([(10, 120, True), (10, 9000, True)], [True, False]),
]


@pytest.mark.parametrize(("checkpoints", "evaluated"), TABLE)
def test_checkpoints_are_evaluated_as_evalspec_says(checkpoints, evaluated):
    throttle = Throttle(EvaluationConfig(start_delay_s=120, throttle_s=600), started=0)
    found = []
    for step, now, final in checkpoints:
        found.append(throttle.admits(step, now, final=final))
        if found[-1]:
            throttle.evaluated(step, now, final=final)
    assert found == evaluated
