"""`yt8m run` from records to a pushed model, repeated, changed, broken and contended."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import signal
import sqlite3
import subprocess
import time
from pathlib import Path

import pytest
import warm_processes
from records import edit_record, read_all, set_feature
from yt8m_runs import COMPONENTS, START, TIMEOUT_S, Place, environment, generate, yt8m

from yt8m.components.artifacts.operating_points import ASSET_FILE, EMPTY_TABLE, parse_table
from yt8m.components.registry.push import find_damaged

pytestmark = pytest.mark.e2e

JUDGING = {"Evaluator", "Pusher", "Report"}
REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return generate(tmp_path_factory.mktemp("data"), evaluate=250)


@pytest.fixture(scope="module")
def finished(tmp_path_factory, data):
    """A place where one run has pushed version 1; tests take copies."""
    base = tmp_path_factory.mktemp("finished")
    place = Place(data=data, root=base / "root", push=base / "push", cold=True)
    done = place.run("--timings")
    place.cold = False
    assert done.returncode == 0, done.stderr
    return place, done


@pytest.fixture
def place(finished, tmp_path):
    """The finished place again, for a test to go on from; artifacts stay where they were made."""
    original, _ = finished
    kept = tmp_path / "kept"
    shutil.copytree(original.root, kept / "root", symlinks=True)
    shutil.copytree(original.push, kept / "push")
    yield original
    for name in ("root", "push"):
        at = getattr(original, name)
        shutil.rmtree(at)
        shutil.copytree(kept / name, at, symlinks=True)


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_a_run_pushes_a_version_and_says_where_everything_is(finished):
    place, done = finished
    assert place.versions() == [1]
    assert "pushed: version 1" in done.stdout
    (record,) = place.records()
    assert sorted(node["name"] for node in record["nodes"]) == sorted(COMPONENTS)
    assert set(place.states().values()) == {"done"}
    assert all(node["peak_mib"] > 100 for node in record["nodes"])
    spent = {node["name"]: node["cpu_seconds"] for node in record["nodes"]}
    assert spent["Trainer"] > spent["Pusher"] >= 0
    assert "where the time went" in done.stderr
    assert "loading TensorFlow" in done.stderr
    report = json.loads(Path(record["report"]).with_suffix(".json").read_text())
    assert {node["name"] for node in report["components"]} == set(COMPONENTS)
    assert all(node["seconds"] > 0 for node in report["components"])
    assert record["report"] in done.stdout
    logs = place.root / "logs" / record["run_id"]
    assert str(logs) in done.stderr
    assert {path.stem for path in logs.iterdir()} == {*COMPONENTS, "runner"}
    assert "30/30 steps" in (logs / "Trainer.log").read_text()
    figures = {node["name"]: node["figure"] for node in record["nodes"]}
    assert figures["ExampleGen"] == "550 records"
    assert figures["Trainer"].startswith("loss ")
    assert figures["Pusher"] == "version 1"


def test_the_same_command_again_starts_nothing_and_says_the_same(finished, place):
    before = digests(place.root)
    done = place.run()
    assert done.returncode == 0
    assert "nothing has changed" in done.stderr
    assert done.stdout == finished[1].stdout
    assert {k: v for k, v in digests(place.root).items() if "run.lock" not in k} == {
        k: v for k, v in before.items() if "run.lock" not in k
    }


def test_the_other_runner_takes_everything_from_the_cache_of_the_first(place):
    shutil.rmtree(place.root / "runs")  # else the known answer is given
    done = place.run("--runner", "local")
    assert done.returncode == 0, done.stderr
    assert place.executed() == set()
    assert place.versions() == [1]


def test_a_stricter_gate_judges_anew_trains_nothing_and_holds_back(place):
    done = place.run("--set", "gate.gap_threshold=0.999")
    assert done.returncode == 3, done.stderr
    assert place.executed() == JUDGING
    assert place.versions() == [1]
    assert "0.999" in done.stdout


def test_operating_points_come_with_the_version_and_train_nothing(place, tmp_path):
    done = place.run("--set", "evaluator.operating_points=true")
    assert done.returncode == 0, done.stderr
    assert place.executed() == JUDGING
    assert place.versions() == [1, 2]
    tables = [(place.push / str(n) / ASSET_FILE).read_text() for n in (1, 2)]
    assert tables[0] == EMPTY_TABLE
    assert parse_table(tables[1]) is not None
    assert list(find_damaged(str(place.push))) == []
    out = tmp_path / "accepted.jsonl"
    words = (
        "--data",
        place.data / "validate*",
        "--out",
        out,
        "--format",
        "jsonl",
        "--precision",
        0.9,
    )
    done = yt8m("predict", "--model", place.push, *words)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line)["class_ids"] for line in out.read_text().splitlines()]
    assert len(rows) == 250
    assert 0 < sum(map(len, rows)) < 20 * len(rows)


@pytest.mark.slow
def test_another_training_reruns_training_and_what_depends_on_it(place):
    done = place.run("--set", "trainer.seed=5")
    assert done.returncode == 0, done.stderr
    # The version pushed before is a baseline now, so what compares with it runs too.
    assert place.executed() == {"Baseline", "ValidationGate", "Trainer", *JUDGING}
    assert place.versions() == [1, 2]


@pytest.mark.slow
def test_another_vocabulary_reruns_exactly_what_reads_it(place, tmp_path):
    vocabulary = Path(shutil.copy(place.data / "vocabulary.csv", tmp_path))
    setting = ("--set", f"evaluator.vocabulary={vocabulary}")
    assert place.run(*setting).returncode == 0
    checkpoints = set((place.root / "checkpoints").iterdir())
    text = vocabulary.read_text()
    name = text.splitlines()[1].split(",")[3]
    vocabulary.write_text(text.replace(f",{name},", ",Renamed,"))
    done = place.run(*setting)
    assert done.returncode == 0, done.stderr
    # Names are no part of what is learned, so the version before is still no baseline.
    assert place.executed() == {"Trainer", *JUDGING}
    assert "Renamed" in Path(place.records()[0]["report"]).read_text()
    assert set((place.root / "checkpoints").iterdir()) == checkpoints


@pytest.mark.slow
def test_another_datum_reruns_what_depends_on_data(place, tmp_path):
    data = Path(shutil.copytree(place.data, tmp_path / "data"))
    elsewhere = Place(data=data, root=place.root, push=place.push)
    assert elsewhere.run().returncode == 0
    one, two = sorted(data.glob("train*"))
    content = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(content + content)
    done = elsewhere.run()
    assert done.returncode == 0, done.stderr
    assert place.executed() >= {"ExampleGen", "StatisticsGen", "Trainer", "Evaluator"}
    assert place.states()["SchemaGen"] == "cached"


@pytest.mark.slow
def test_changed_code_reruns_exactly_the_components_that_use_it(place, tmp_path):
    package = tmp_path / "site" / "yt8m"
    for layer in ("schemas", "components", "pipeline", "kubeflow"):
        shutil.copytree(REPOSITORY / layer, package / layer)
    shutil.copytree(REPOSITORY / "src" / "yt8m" / "cli", package / "cli")
    shutil.copy(REPOSITORY / "src" / "yt8m" / "__init__.py", package)
    place.env, place.cold = environment(PYTHONPATH=str(tmp_path / "site")), True
    try:
        shutil.rmtree(place.root / "runs")
        assert place.run().returncode == 0
        assert place.executed() == set()  # a copy of the code is the same code
        source = package / "components" / "evaluator" / "gate.py"
        source.write_text(source.read_text() + "# another line\n")
        done = place.run()
    finally:
        place.env, place.cold = environment(), False
    assert done.returncode == 0, done.stderr
    assert place.executed() == JUDGING


def test_bad_data_stop_the_run_name_the_record_and_stay_as_they_are(tmp_path, data):
    bad = Path(shutil.copytree(data, tmp_path / "data"))
    shard = sorted(bad.glob("train*"))[0]
    content = bytearray(shard.read_bytes())
    content[len(content) // 2] ^= 0xFF
    shard.write_bytes(content)
    before = digests(bad)
    place = Place(data=bad, root=tmp_path / "root", push=tmp_path / "push")
    done = place.run()
    assert done.returncode == 2  # a mistake in what was given, found late
    assert shard.name in done.stdout
    assert "ExampleGen failed" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    assert place.states()["ExampleGen"] == "failed"
    assert "Trainer" not in {n for n, s in place.states().items() if s != "waiting"}
    assert digests(bad) == before


def test_what_stopped_a_run_is_in_its_report(tmp_path, data):
    other = Path(shutil.copytree(data, tmp_path / "data"))
    for shard in other.glob("train*"):
        for at in range(len(read_all(shard))):
            edit_record(shard, at, set_feature("labels", [at % 3]))
    place = Place(data=other, root=tmp_path / "root", push=tmp_path / "push")
    alone = ("--set", "validation.share_skew=null")  # a class's share has changed too
    done = place.run("--set", "validation.on_drift=stop", *alone)
    assert done.returncode == 2  # a mistake in what was given, found late
    assert place.records()[0]["given_wrong"]
    assert "ValidationGate failed: validation stops the run: train against eval:" in done.stdout
    assert "failed: ValidationGate failed" not in done.stdout
    page = Path(place.records()[0]["report"])
    facts = json.loads(page.with_suffix(".json").read_text())
    assert facts["verdict"]["outcome"] == "stopped"
    assert "labels: skew: Jensen-Shannon" in facts["verdict"]["reason"]
    skew = {one["feature"]: one for one in facts["data"]["skew"]}
    assert skew["labels"]["distance"] > skew["labels"]["threshold"]
    assert skew["mean_rgb"]["distance"] < skew["mean_rgb"]["threshold"]
    assert "Skew: train against eval" in page.read_text()


def test_a_failing_trainer_leaves_the_linked_sources_as_they_are(place, tmp_path):
    before = digests(place.data)
    (tmp_path / "damaged.index").write_bytes(b"no checkpoint")
    done = place.run("--set", f"trainer.warm_start={tmp_path / 'damaged'}")
    assert done.returncode == 2  # a mistake in what was given, found late
    assert "Trainer failed" in done.stdout
    assert f"warm start from {tmp_path / 'damaged'}: cannot be read" in done.stdout
    assert digests(place.data) == before
    assert _mlmd_states(place)[-1] == "FAILED"
    assert place.versions() == [1]


def test_a_second_run_on_the_root_is_refused_with_the_first_ones_pid(place):
    first = place.start("--set", "trainer.seed=6")
    first.until("the full logs are in")
    second = place.run("--set", "trainer.seed=7")
    assert second.returncode == 1
    assert f"process {first.process.pid} " in second.stderr
    assert first.end(signal.SIGKILL) == -signal.SIGKILL


def test_ctrl_c_ends_with_130_and_the_same_command_continues(place):
    run = place.start("--set", "trainer.seed=8")
    run.until("Trainer running")
    assert run.end(signal.SIGINT) == 130
    assert place.records()[0]["verdict"] == "interrupted"
    assert place.states()["Trainer"] == "stopped"
    told = yt8m("status", "--root", place.root).stdout
    assert "Transform" in told
    assert not re.search(r"^Trainer +failed", told, re.MULTILINE)  # MLMD may not know it yet
    report = json.loads(Path(place.records()[0]["report"]).with_suffix(".json").read_text())
    assert report["verdict"]["outcome"] == "unfinished"
    assert "RUNNING" not in _mlmd_states(place)
    done = place.run("--set", "trainer.seed=8")
    assert done.returncode == 0, done.stderr
    assert place.states()["ValidationGate"] == "cached"


def test_a_closed_terminal_ends_with_143_and_the_same_command_continues(place):
    run = place.start("--set", "trainer.seed=10")
    run.until("Trainer running")
    assert run.end(signal.SIGHUP) == 143
    (record, *_) = place.records()
    assert (record["verdict"], record["reason"]) == (
        "terminated",
        "ended by SIGHUP; the same command continues",
    )
    done = place.run("--set", "trainer.seed=10")
    assert done.returncode == 0, done.stderr


def test_a_run_whose_reader_has_gone_goes_on_and_ends_with_its_own_exit_code(place):
    """As `yt8m run ... 2>&1 | head -1` does."""
    words = place.words("run", "--set", "gate.gap_threshold=0.998")
    run = warm_processes.Popen("-c", START, *words, stderr=subprocess.PIPE, env=place.env)
    with run.stderr as lines:
        assert any("the full logs are in" in line for line in lines)
    assert run.wait(TIMEOUT_S) == 3
    assert place.records()[0]["verdict"] == "rejected"
    assert set(place.states().values()) <= {"done", "cached"}


@pytest.mark.slow
def test_sigterm_while_the_trainer_finishes_is_never_followed_by_a_push(place):
    run = place.start("--set", "trainer.seed=9")
    run.until("Trainer running")
    log = place.root / "logs" / place.records()[0]["run_id"] / "Trainer.log"
    deadline = time.monotonic() + 200
    while not (log.is_file() and "30/30 steps" in log.read_text()):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    begun = time.monotonic()
    assert run.end(signal.SIGTERM) == 143
    assert time.monotonic() - begun < 60  # 30 s are promised; a busy machine writes slowly
    assert place.versions() == [1]
    assert place.records()[0]["verdict"] == "terminated"
    assert {place.states()[name] for name in JUDGING} == {"waiting"}
    done = place.run("--set", "trainer.seed=9")
    assert done.returncode == 0, done.stderr
    assert place.versions() == [1, 2]


def test_everything_wrong_is_listed_before_anything_starts(tmp_path):
    place = Place(
        data=tmp_path / "nothing",
        root=tmp_path / "root",
        push=tmp_path / "root" / "artifacts",
        env=environment(TF_CONFIG='{"cluster": {"worker": ["a:1"]}, "task": {"type": "wurker"}}'),
    )
    done = place.run(
        "--set",
        "gate.gap_threshold=null",
        "--set",
        "trainer.warm_start=/no/model",
        "--beam-runner",
        "dataflow",
    )
    assert done.returncode == 2
    for part in ("nothing", "push_dir", "gap_threshold", "wurker", "--project", "/no/model"):
        assert part in done.stderr
    assert not (place.root / "metadata.db").exists()


def _mlmd_states(place: Place) -> list[str]:
    names = {2: "RUNNING", 3: "COMPLETE", 4: "FAILED", 5: "CACHED", 6: "CANCELED"}
    with sqlite3.connect(place.root / "metadata.db") as connection:
        rows = connection.execute("SELECT last_known_state FROM Execution ORDER BY id")
        return [names.get(state, str(state)) for (state,) in rows]
