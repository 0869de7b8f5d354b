"""The decision as people read it."""

import pytest

from yt8m.components.artifacts.decision import Check, Decision, decision_text, evidence_text


@pytest.mark.parametrize(
    ("videos", "needed", "expected"),
    [
        (2000, 5400, "not significant with 2,000 videos, about 5,400 are needed"),
        (2000, 900, "significant with 2,000 videos, about 900 are enough"),
        (2000, 2000, "significant with 2,000 videos, about 2,000 are enough"),
        (2000, None, ""),
    ],
)
def test_a_check_says_how_many_videos_it_had_and_needed(videos, needed, expected):
    check = Check(metric="gap", needed="gap >= 0.7", videos=videos, videos_needed=needed)
    assert evidence_text(check) == expected


def test_the_evidence_stands_behind_what_was_observed():
    check = Check(
        metric="gap",
        needed="change of gap against the baseline >= 0",
        observed=0.0012,
        passed=True,
        videos=2000,
        videos_needed=5400,
    )
    text = decision_text(Decision(blessed=True, reason="fine", checks=(check,)))
    assert text.splitlines()[-1] == (
        "  passed    change of gap against the baseline >= 0: 0.0012 "
        "(not significant with 2,000 videos, about 5,400 are needed)"
    )
