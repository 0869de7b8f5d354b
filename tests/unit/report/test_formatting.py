"""Numbers read well, and axes end on round ones beyond the data."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.report import formatting


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (formatting.metric(None), "–"),
        (formatting.metric(0.71844), "0.7184"),
        (formatting.signed(-0.00091), "−0.0009"),
        (formatting.signed(0.01), "+0.0100"),
        (formatting.interval(Estimate(value=1.0)), ""),
        (formatting.interval(Estimate(value=0.5, lower=0.4, upper=0.6)), "0.4000 to 0.6000"),
        (formatting.count(1234567.0), "1,234,567"),
        (formatting.short(0), "0"),
        (formatting.short(0.1 + 0.2), "0.3"),
        (formatting.short(2_000_000), "2M"),
        (formatting.short(20_000), "20k"),
        (formatting.short(-0.25), "−0.25"),
        (formatting.short(1e-5), "1e−5"),
        (formatting.size(0), "0 B"),
        (formatting.size(31e9), "31 GB"),
        (formatting.duration(0.25), "250 ms"),
        (formatting.duration(59.94), "59.9 s"),
        (formatting.duration(522), "8 min 42 s"),
        (formatting.duration(7500), "2 h 05 min"),
    ],
)
def test_a_number_is_written_as_people_read_it(shown: str, expected: str) -> None:
    assert shown == expected


FINITE = st.floats(-1e9, 1e9, allow_nan=False)


@given(FINITE, FINITE, st.booleans())
def test_ticks_span_the_data_and_are_few(one: float, other: float, whole: bool) -> None:
    low, high = min(one, other), max(one, other)
    found = formatting.ticks(low, high, whole=whole)
    assert not whole or all(tick.is_integer() for tick in found)
    slack = (found[1] - found[0]) * 1e-6
    assert found[0] <= low + slack
    assert found[-1] >= high - slack
    assert 2 <= len(found) <= 9
    assert found == sorted(set(found))


@given(st.floats(1e-9, 1e9), st.floats(1e-9, 1e9))
def test_logarithmic_ticks_span_the_data_and_are_few(one: float, other: float) -> None:
    low, high = min(one, other), max(one, other)
    found = formatting.log_ticks(low, high)
    assert found[0] <= low * (1 + 1e-9)
    assert found[-1] >= high * (1 - 1e-9)
    assert 2 <= len(found) <= 8
