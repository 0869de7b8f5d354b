"""Where a training ends, whatever its batches were before."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.trainer.plan import plan_training
from yt8m.schemas.config_tree import from_dict


@pytest.mark.parametrize(
    ("values", "steps"),
    [
        ({"max_steps": 7, "num_epochs": None}, 7),
        ({"max_steps": 7, "num_epochs": 100}, 7),
        ({"num_epochs": 2, "batch_size": 10}, 100),  # 1000 examples, twice, in 20s
        ({"num_epochs": 2, "batch_size": 10, "accumulate": 5}, 20),
        ({"num_epochs": 0.001, "batch_size": 10}, 1),
    ],
)
def test_steps_follow_from_limits_and_rows_of_an_update(values, steps):
    config = from_dict(TrainerConfig, values)
    plan = plan_training(config, rows_per_epoch=1000, rows=config.window_rows * 2)
    assert plan.last_step == steps
    assert plan.total_examples == steps * plan.rows


def test_a_doubled_batch_goes_on_to_the_same_number_of_examples():
    config = TrainerConfig(batch_size=64, num_epochs=4.0)  # of 4,000 rows: 250 steps
    plan = plan_training(config, rows_per_epoch=4000, rows=128, step=132, examples=132 * 64)
    assert plan.last_step == 132 + 59
    assert abs(plan.total_examples - 16_000) <= 64


@given(
    st.lists(st.tuples(st.integers(1, 64), st.integers(1, 1024), st.floats(0, 1)), max_size=6),
    st.integers(1, 100_000),
    st.floats(0.1, 20),
)
def test_any_restarts_end_within_a_batch_of_the_epochs(restarts, rows_per_epoch, epochs):
    config = TrainerConfig(num_epochs=epochs)
    step = examples = 0
    largest = 0
    for workers, batch, share in [*restarts, (1, 7, 1.0)]:
        rows = largest = workers * batch
        plan = plan_training(
            config, rows_per_epoch=rows_per_epoch, rows=rows, step=step, examples=examples
        )
        taken = round((plan.last_step - step) * share)
        step, examples = step + taken, examples + taken * rows
        largest = max(largest, rows)
        if step == plan.last_step:
            break
    assert step == plan.last_step
    assert abs(examples - rows_per_epoch * epochs) <= largest + 1


@given(st.integers(1, 5000), st.integers(1, 300), st.floats(0.1, 9), st.integers(0, 100))
def test_an_unchanged_training_ends_at_the_same_step_however_often_it_is_started(
    rows_per_epoch, rows, epochs, done
):
    config = TrainerConfig(num_epochs=epochs)
    whole = plan_training(config, rows_per_epoch=rows_per_epoch, rows=rows)
    step = min(done, whole.last_step)
    again = plan_training(
        config, rows_per_epoch=rows_per_epoch, rows=rows, step=step, examples=step * rows
    )
    assert again == whole
