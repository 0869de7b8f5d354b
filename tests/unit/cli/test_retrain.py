"""`yt8m retrain --cron` and `yt8m status`, as they are typed: refusals, and health."""

import contextlib
import dataclasses
import json

import pytest
from records import make_dataset

from yt8m.cli.main import run
from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.pipeline.run.retrain_status import RetrainStatus, read_status, write_status
from yt8m.pipeline.run_record import RunResult
from yt8m.pipeline.workspace import Layout, run_lock
from yt8m.schemas.errors import Terminated, UserError


@pytest.fixture
def words(tmp_path):
    """A command line that is right, but for what comes behind it."""
    make_dataset(tmp_path / "data")
    places = {"--data": "data", "--root": "root", "--push": "push"}
    given = [word for name, place in places.items() for word in (name, str(tmp_path / place))]
    return ["retrain", "smoke", *given]


def test_everything_that_a_run_would_refuse_is_refused_when_the_schedule_starts(capsys, tmp_path):
    """It sat there, and failed at three in the night."""
    words = ["retrain", "smoke", "--cron", "0 3 * * *", "--data", str(tmp_path / "nothing")]
    assert run([*words, "--root", str(tmp_path / "root")]) == 2
    said = capsys.readouterr().err
    assert "the run cannot start, 2 problems" in said
    assert "no records below" in said
    assert "--push DIR" in said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--cron", ""], "must be five fields"),
        (["--cron", "0 3 * *"], "must be five fields"),
        (["--cron", "0 3 * * 8"], "Sunday is 0 or 7"),
        (["--cron", "0 3 30 2 *"], "never matches"),
        (["--cron", "0 3 * * 1", "--timezone", "Europe/Brusels"], "did you mean Europe/Brussels?"),
        (["--cron", "0 3 * * 1", "--set", "retrain.timezone=Nowhere"], "no time zone 'Nowhere'"),
    ],
)
def test_a_wrong_schedule_is_refused_as_what_it_is(words, options, said, capsys):
    assert run([*words, *options]) == 2
    assert said in capsys.readouterr().err


def test_a_second_schedule_on_a_root_is_refused(words, tmp_path, capsys):
    (tmp_path / "root").mkdir()
    settings = ["--set", "features.num_classes=20", "--set", "gate.mode=none"]
    with run_lock(Layout(tmp_path / "root").schedule_lock):
        assert run([*words, "--cron", "0 3 * * *", *settings]) == 1
    said = capsys.readouterr().err
    assert "is in use: process" in said
    assert "a root has one, so stop it first" in said


@pytest.mark.parametrize(
    ("error", "outcome", "failures"),
    [
        (KeyboardInterrupt(), "stopped", 0),
        (Terminated("SIGTERM"), "stopped", 0),
        (UserError("no such data"), "user_error", 1),
        (RuntimeError("no memory"), "failed", 1),
    ],
)
def test_a_single_retraining_counts_as_what_it_came_to(
    words, tmp_path, monkeypatch, error, outcome, failures
):
    def fail(*_):
        raise error

    monkeypatch.setattr("yt8m.cli.retrain._run_once", fail)
    (tmp_path / "root").mkdir()
    with contextlib.suppress(KeyboardInterrupt, RuntimeError, SystemExit):
        run(words)
    status = read_status(Layout(tmp_path / "root"))
    assert (status.outcomes, status.failures) == ({outcome: 1}, failures)


STATUS = RetrainStatus(
    cron="0 0 3 * * * (UTC)",
    started=1.0,
    last_run=1772334000.0,
    last_end=1772334100.0,
    last_exit_code=4,
    next_run=1772420400.0,
)


def test_status_tells_the_health_of_a_schedule_before_there_is_any_run(tmp_path, capsys):
    layout = Layout(tmp_path)
    write_status(layout, STATUS)
    with run_lock(layout.schedule_lock):
        assert run(["status", "--root", str(tmp_path)]) == 0
        text = capsys.readouterr().out
        assert run(["status", "--root", str(tmp_path), "--json"]) == 0
    assert "schedule 0 0 3 * * * (UTC): running" in text
    assert "(exit code 4)" in text
    assert "next run 2026-03-02" in text
    found = json.loads(capsys.readouterr().out)["schedule"]
    assert found["running"] is True
    assert found["next_run"] == STATUS.next_run
    assert run(["status", "--root", str(tmp_path)]) == 0  # the process has died
    dead = capsys.readouterr().out
    assert "NOT running" in dead
    assert "next run" not in dead
    write_status(layout, dataclasses.replace(STATUS, last_end=None))
    assert run(["status", "--root", str(tmp_path)]) == 0
    assert "(the schedule was killed before its end)" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["status", "retrain"])
def test_a_damaged_status_is_told(words, tmp_path, caplog, command):
    root = tmp_path / "root"
    (root / "runs").mkdir(parents=True)
    (root / "retrain.json").write_text('{"format": 1, "fail')
    run(["status", "--root", str(root)] if command == "status" else words)
    assert f"{root / 'retrain.json'} is damaged" in caplog.text


def test_a_status_that_the_storage_does_not_deliver_is_not_replaced(words, tmp_path):
    status = tmp_path / "root" / "retrain.json"
    status.mkdir(parents=True)  # in place of a file whose reading fails
    assert run(words) != 0
    with pytest.raises(IsADirectoryError):
        read_status(Layout(tmp_path / "root"))


def test_without_a_run_and_without_a_schedule_status_says_so(tmp_path, capsys):
    assert run(["status", "--root", str(tmp_path)]) == 2
    assert "no run was started there" in capsys.readouterr().err


def test_what_another_retraining_made_meanwhile_is_nothing_new(words, tmp_path, monkeypatch):
    """This one waited for it, and pushed nothing itself."""
    theirs = RunRecord(run_id="theirs", started=1.0, verdict=Verdict.PUSHED, version=3)
    monkeypatch.setattr("yt8m.cli.retrain.run_pipeline", lambda *_: RunResult(theirs, is_new=False))
    (tmp_path / "root").mkdir()
    settings = ["--set", "features.num_classes=20", "--set", "gate.mode=none"]
    assert run([*words, "--wait", "60", *settings]) == 4
    assert read_status(Layout(tmp_path / "root")).outcomes == {"nothing_new": 1}


def test_a_status_of_a_newer_yt8m_is_refused_before_the_run_and_not_after_it(
    words, tmp_path, monkeypatch, capsys
):
    started = []
    monkeypatch.setattr("yt8m.cli.retrain.run_pipeline", lambda *_: started.append("a run"))
    (tmp_path / "root").mkdir()
    status = tmp_path / "root" / "retrain.json"
    status.write_text('{"format": 3, "yt8m": "1.4.0"}')
    settings = ["--set", "features.num_classes=20", "--set", "gate.mode=none"]
    assert run([*words, *settings]) == 2
    assert f"{status}: yt8m 1.4.0 wrote it" in capsys.readouterr().err
    assert not started


def test_a_schedule_that_is_to_tell_nobody_has_runs_that_do_not(words, tmp_path, monkeypatch):
    made = []

    class Scheduler:
        def __init__(self, command, config, *_):
            made.append((command, config))

        def run_forever(self):
            return

    monkeypatch.setattr("yt8m.cli.retrain.RetrainScheduler", Scheduler)
    settings = ["--set", "features.num_classes=20", "--set", "gate.mode=none"]
    settings += ["--set", "notify.command=[cat]", "--cron", "0 3 * * *"]
    for more in ([], ["--no-notify"]):
        assert run([*words, *settings, *more]) == 0
    (told, config), (quiet, quiet_config) = made
    assert (config.notify.command, quiet_config.notify.command) == (("cat",), ())
    assert "--no-notify" in told  # the schedule itself tells of runs
    assert set(quiet) - set(told) == {"--set=notify.command=[]"}
