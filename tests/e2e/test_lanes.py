"""One root, one registry, two lanes by turns: each goes on from what the other left.

Of the two, this process has one; the other is lane B in a Debian 13 root (`make test-lane-b`).
"""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path

import pytest
from lane_b import NEEDS, lane_b
from yt8m_runs import QUICK, Place, generate, yt8m

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.lane_b,
    pytest.mark.needs(*NEEDS),
    pytest.mark.skipif(version("tfx") >= "1.21", reason="lane B is this machine's own lane"),
]
SPANS = "data.splits={train: ['span-{SPAN}/train*'], eval: ['span-{SPAN}/validate*'], test: []}"


def test_a_model_is_pushed_retrained_and_judged_by_the_lanes_in_turn(tmp_path: Path) -> None:
    place = Place(
        data=generate(tmp_path / "data", spans=1),
        root=tmp_path / "root",
        push=tmp_path / "push",
        settings=(*QUICK[:-1], SPANS),
    )
    first = place.run(command="retrain")
    assert first.returncode == 0, first.stderr

    # There: what is known needs no new run, and a new span is trained from this lane's model.
    assert lane_b(["yt8m", *place.words("retrain", "--exit-zero")], [tmp_path]) == 0
    assert place.versions() == [1]
    generate(place.data, spans=2)
    assert lane_b(["yt8m", *place.words("retrain")], [tmp_path]) == 0
    there = place.records()[0]
    assert (there["baseline_version"], there["version"], there["spans"]) == (1, 2, [2])
    assert lane_b(["yt8m", "models", "verify", "1", "--push", str(place.push)], [tmp_path]) == 0

    # Back here.
    for number in ("1", "2"):
        verified = yt8m("models", "verify", number, "--push", place.push)
        assert verified.returncode == 0, verified.stdout
    generate(place.data, spans=3)
    last = place.run(command="retrain")
    assert last.returncode == 0, last.stderr
    here = place.records()[0]
    assert (here["baseline_version"], here["version"], here["spans"]) == (2, 3, [3])
    history = yt8m("history", "--root", place.root)
    assert history.returncode == 0, history.stderr
    assert all(record["run_id"] in history.stdout for record in place.records())
