"""The numbers of retrain.prom."""

from __future__ import annotations

import pytest

from yt8m.components.artifacts.decision import Check
from yt8m.components.artifacts.estimate import Estimate
from yt8m.pipeline.run.prometheus import margin, metrics_text
from yt8m.pipeline.run.retrain_status import Outcome, RetrainStatus


@pytest.mark.parametrize(
    ("is_maximum", "expected"),
    [
        (False, Estimate(value=0.25, lower=-0.5, upper=1.0)),
        (True, Estimate(value=-0.25, lower=-1.0, upper=0.5)),
    ],
)
def test_a_margin_is_positive_where_the_threshold_is_kept(is_maximum, expected):
    check = Check(
        metric="gap",
        needed="",
        threshold=0.5,
        is_maximum=is_maximum,
        observed=0.75,
        lower=0.0,
        upper=1.5,
    )
    assert margin(check) == expected


def test_what_was_not_observed_has_no_margin():
    assert margin(Check(metric="gap", needed="", threshold=0.5)) == Estimate()
    assert margin(Check(metric="gap", needed="", observed=0.5)) == Estimate()


def test_every_outcome_is_counted_from_the_start_so_that_rates_are_right():
    lines = metrics_text({"root": "/r"}, RetrainStatus(), None, None).splitlines()
    counts = [line for line in lines if line.startswith("yt8m_retrain_runs_total")]
    assert counts == [
        f'yt8m_retrain_runs_total{{root="/r",outcome="{outcome.value}"}} 0' for outcome in Outcome
    ]
