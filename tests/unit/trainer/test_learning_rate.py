import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt8m.components.trainer.learning_rate import (
    ConstantSchedule,
    CosineSchedule,
    ExponentialSchedule,
    StaircaseSchedule,
    multiplier,
)

TABLE = [
    (StaircaseSchedule(), 0, 1.0),
    (StaircaseSchedule(), 3_999_999, 1.0),
    (StaircaseSchedule(), 4_000_000, 0.95),
    (StaircaseSchedule(), 8_000_001, 0.95**2),
    (StaircaseSchedule(decay=0.25, decay_examples=100, is_smooth=True), 50, 0.5),
    (CosineSchedule(), 0, 1.0),
    (CosineSchedule(), 500, 0.5),
    (CosineSchedule(), 1000, 0.0),
    (CosineSchedule(final=0.2), 2000, 0.2),
    (ExponentialSchedule(final=0.01), 500, 0.1),
    (ConstantSchedule(), 12345, 1.0),
    (ConstantSchedule(warmup_examples=100), 25, 0.25),
    (ConstantSchedule(warmup_examples=100), 100, 1.0),
]


@pytest.mark.parametrize(("schedule", "examples", "expected"), TABLE)
def test_rate_is_a_function_of_examples(schedule, examples, expected):
    assert multiplier(schedule, examples, total_examples=1000) == pytest.approx(expected)


@given(
    st.sampled_from(
        [StaircaseSchedule(decay_examples=70), CosineSchedule(), ExponentialSchedule()]
    ),
    st.integers(0, 2000),
    st.integers(0, 2000),
)
def test_rate_never_rises_after_warm_up(schedule, first, second):
    early, late = sorted((first, second))
    total = {"total_examples": 1000}
    assert multiplier(schedule, late, **total) <= multiplier(schedule, early, **total) + 1e-12
    assert math.isfinite(multiplier(schedule, late, **total))
