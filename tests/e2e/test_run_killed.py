"""A run that is killed in any component, started again, ends as if nothing had happened."""

from __future__ import annotations

import json
import signal
import sqlite3

import pytest
from yt8m_runs import COMPONENTS, Place, environment, generate, yt8m

# tests/e2e/test_chaos.py kills a run in make test.
pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return generate(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory, data):
    base = tmp_path_factory.mktemp("uninterrupted")
    place = Place(data=data, root=base / "root", push=base / "push")
    assert place.run().returncode == 0
    return place.outcome()


@pytest.mark.parametrize("node", COMPONENTS)
def test_killed_and_started_again_the_outcome_is_the_same(tmp_path, data, uninterrupted, node):
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    env = environment(TMPDIR=str(temporary))
    place = Place(data=data, root=tmp_path / "root", push=tmp_path / "push", env=env)
    first = place.start()
    first.until(f"{node} running")
    assert first.end(signal.SIGKILL) == -signal.SIGKILL
    assert list(temporary.rglob("beam-pipeline-temp*"))
    done_before = {name for name, state in place.states().items() if state == "done"}
    _is_told_as_killed(place, node)

    again = place.run()
    assert again.returncode == 0, again.stderr
    assert f"was killed while {node} was running" in again.stderr
    assert "this one continues it" in again.stderr
    assert place.outcome() == uninterrupted
    assert list(temporary.iterdir()) == []  # neither of them left anything there
    assert done_before - place.executed() == done_before  # all of it came from the cache
    assert [record["verdict"] for record in place.records()] == ["pushed", "killed"]
    with sqlite3.connect(place.root / "metadata.db") as connection:
        (running,) = connection.execute(
            "SELECT COUNT(*) FROM Execution WHERE last_known_state IN (1, 2)"
        ).fetchone()
    assert running == 0  # what the dead run left is called failed
    history = json.loads(yt8m("history", "--root", place.root, "--json").stdout)["runs"]
    assert f"while {node} was running" in history[1]["reason"]


def _is_told_as_killed(place: Place, node: str) -> None:
    """Though its record says that it is under way, and nothing has run since."""
    assert place.records()[0]["verdict"] == "running"
    status = yt8m("status", "--root", place.root).stdout
    first = f"run {place.records()[0]['run_id']}: killed while {node} was running"
    assert status.startswith(first)
    history = yt8m("history", "--root", place.root).stdout
    assert f"killed while {node} was running" in history
    report = yt8m("report", "--root", place.root)
    assert report.returncode == 2
    assert f"it was killed while {node} was running" in report.stderr
