"""`yt8m retrain`: with no, one and two new spans, on a schedule, and what is told of it."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path

import pytest
from yt8m_runs import QUICK, Place, generate, yt8m

pytestmark = pytest.mark.e2e

SPANS = "data.splits={train: ['span-{SPAN}/train*'], eval: ['span-{SPAN}/validate*'], test: []}"
# Drift stops here, as it does by default: these spans are samples of one distribution.
SETTINGS = (*(s for s in QUICK[:-1] if "on_drift" not in s), SPANS)


def place_in(folder) -> Place:
    return Place(
        data=folder / "data", root=folder / "root", push=folder / "push", settings=SETTINGS
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """One place for this module's story; its tests run in their order."""
    place = place_in(tmp_path_factory.mktemp("retrain"))
    generate(place.data, spans=1)
    return place


def test_the_first_span_is_trained_on_and_pushed(place):
    done = place.run(command="retrain")
    assert done.returncode == 0, done.stderr
    assert place.versions() == [1]
    assert place.records()[0]["spans"] == [1]


def test_without_a_new_span_nothing_happens_and_it_says_so(place):
    runs = len(place.records())
    done = place.run(command="retrain")
    assert done.returncode == 4
    assert "nothing new" in done.stdout
    assert place.run("--exit-zero", command="retrain").returncode == 0
    assert len(place.records()) == runs
    assert place.versions() == [1]


def test_on_an_empty_root_the_registry_still_knows_what_was_seen(place, tmp_path):
    elsewhere = Place(data=place.data, root=tmp_path / "root", push=place.push, settings=SETTINGS)
    done = elsewhere.run(command="retrain")
    assert done.returncode == 4
    assert "span 1" in done.stdout


def test_two_new_spans_make_one_retraining_on_the_window_from_the_newest_model(place, tmp_path):
    told = tmp_path / "told.json"
    hook = [sys.executable, "-c", f"import sys; open({str(told)!r}, 'w').write(sys.stdin.read())"]
    generate(place.data, spans=3)
    done = place.run(
        "--set",
        "retrain.window=2",
        "--set",
        f"notify.command={json.dumps(hook)}",
        command="retrain",
    )
    assert done.returncode == 0, done.stderr
    record = place.records()[0]
    assert record["spans"] == [2, 3]
    assert record["baseline_version"] == 1
    assert record["differences"]["gap"] is not None
    assert place.versions() == [1, 2]
    # Trained on both spans, judged by the newest alone.
    report = json.loads(Path(record["report"]).with_suffix(".json").read_text())
    assert report["data"]["spans"] == [2, 3]
    assert report["evaluation"]["spans"] == [3]
    assert report["evaluation"]["videos"] == 100
    assert "span 3, the newest, only" in report["evaluation"]["notes"][0]
    outcome = json.loads(told.read_text())
    assert (outcome["verdict"], outcome["version"]) == ("pushed", 2)
    log = place.root / "logs" / record["run_id"] / "Trainer.log"
    assert "warm start from" in log.read_text()


def test_a_model_that_is_rejected_ends_with_3_or_0_as_asked(place):
    generate(place.data, spans=4)
    strict = ("--set", "gate.gap_threshold=0.999")
    assert place.run(*strict, command="retrain").returncode == 3
    assert place.versions() == [1, 2]
    # The same data were judged: nothing new, until there are newer ones.
    assert place.run(*strict, command="retrain").returncode == 4


def test_history_lists_every_run_with_spans_difference_and_reason(place):
    done = yt8m("history", "--root", place.root, "--json")
    runs = json.loads(done.stdout)["runs"]
    assert [run["spans"] for run in runs] == ["4", "2,3", "1"]
    assert [run["verdict"] for run in runs] == ["rejected", "pushed", "pushed"]
    assert "0.999" in runs[0]["reason"]
    assert runs[1]["gap_difference"] is not None
    text = yt8m("history", "--root", place.root).stdout
    assert "pushed version 2" in text


def test_status_and_report_find_the_newest_run(place):
    newest = place.records()[0]
    status = json.loads(yt8m("status", "--root", place.root, "--json").stdout)
    assert status["run_id"] == newest["run_id"]
    by_node = {execution["node"]: execution for execution in status["executions"]}
    assert by_node["ExampleGen"]["outputs"]
    assert by_node["Trainer"]["state"] == "COMPLETE"
    assert yt8m("report", "--root", place.root).stdout.strip() == newest["report"]


def test_gc_keeps_what_pushed_models_and_the_newest_run_need(place):
    words = ("gc", "--root", str(place.root), "--keep-runs", "1", "--keep-days", "0")
    planned = json.loads(yt8m(*words, "--dry-run", "--json").stdout)
    # Three runs: the newest is kept, the two before it made versions that are in the registry.
    assert planned["runs"] == []
    assert place.run("--set", "trainer.seed=3", "--set", "gate.gap_threshold=0.999").returncode == 3
    assert place.run("--set", "trainer.seed=4", "--set", "gate.gap_threshold=0.999").returncode == 3
    planned = json.loads(yt8m(*words, "--dry-run", "--json").stdout)
    assert len(planned["runs"]) == 2
    removed = json.loads(yt8m(*words, "--json").stdout)
    assert removed == planned
    assert not [path for path in removed["paths"] if Path(path).exists()]
    assert place.versions() == [1, 2]
    again = place.run("--set", "trainer.seed=4", "--set", "gate.gap_threshold=0.999")
    assert again.returncode == 3
    assert "nothing has changed" in again.stderr


@pytest.mark.slow
def test_on_a_schedule_it_retrains_when_due_and_ends_cleanly_on_sigterm(tmp_path):
    place = place_in(tmp_path)
    generate(place.data, spans=1)
    staying = place.start("--cron", "* * * * *", command="retrain")
    staying.until("Report done")
    time.sleep(5)
    assert staying.end(signal.SIGTERM) == 143
    assert place.versions() == [1]
    assert place.records()[0]["verdict"] == "pushed"
