"""A sweep's table and exit code, where the runs themselves are not the question."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from dropped_signal import drop_signal

from yt8m.cli import sweep as command
from yt8m.cli.main import run as yt8m
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.pipeline.cache_keys import ExternalInputs
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.retraining import sweep as trials
from yt8m.pipeline.workspace import Layout, run_lock
from yt8m.schemas.errors import (
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_TERMINATED,
    EXIT_USER,
    UserError,
    Yt8mError,
)

_GAP = {1: 0.6, 2: 0.8, 3: 0.7}  # by the seed


@pytest.mark.parametrize(
    ("broken", "error", "code"),
    [
        (set(), Yt8mError, EXIT_DONE),
        ({2}, Yt8mError, EXIT_FAILED),
        ({1, 2, 3}, Yt8mError, EXIT_FAILED),
        ({1, 3}, UserError, EXIT_USER),
    ],
)
def test_the_best_trial_is_first_and_one_that_failed_decides_the_exit_code(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    broken: set[int],
    error: type[Yt8mError],
    code: int,
) -> None:
    def start(config: PipelineConfig, *, quiet: bool, wait: float) -> Any:
        seed = config.trainer.seed
        if seed in broken:
            raise error("it broke")
        record = RunRecord(run_id=str(seed), started=1.0, verdict=Verdict.PUSHED)
        return SimpleNamespace(record=record)

    def results(_: Any, record: RunRecord) -> Any:
        return SimpleNamespace(metrics={"gap": Estimate(value=_GAP[int(record.run_id)])})

    monkeypatch.setattr(command, "run_pipeline", start)
    monkeypatch.setattr(command, "results_of_run", results)
    monkeypatch.setattr(trials, "resolve_external_inputs", lambda *_: ExternalInputs())
    words = ["sweep", "smoke", "--root", str(tmp_path), "--set", "trainer.seed=1,2,3"]
    assert yt8m([*words, "--quiet", "--json"]) == code
    told = json.loads(capsys.readouterr().out)["trials"]
    done = [seed for seed in (2, 3, 1) if seed not in broken]
    assert [row["run_id"] for row in told if not row["problem"]] == list(map(str, done))
    failed = [row["settings"]["trainer.seed"] for row in told if row["problem"] == "it broke"]
    assert failed == sorted(map(str, broken))


@pytest.mark.parametrize("in_run", [True, False])
def test_a_problem_is_shown_once_whether_the_run_or_the_sweep_met_it(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    in_run: bool,
) -> None:
    def start(config: PipelineConfig, *, quiet: bool, wait: float) -> Any:
        sys.stderr.write("error: it broke\n")  # as the process of a run does
        raise Yt8mError("it broke")

    def inputs(*_: Any) -> ExternalInputs:
        if not in_run:
            raise UserError("it broke")
        return ExternalInputs()

    monkeypatch.setattr(command, "run_pipeline", start)
    monkeypatch.setattr(trials, "resolve_external_inputs", inputs)
    words = ["sweep", "smoke", "--root", str(tmp_path), "--set", "trainer.seed=1,2"]
    assert yt8m(words) != EXIT_DONE
    said = capsys.readouterr()
    assert said.err.count("it broke") == 2  # one of each combination
    assert "it broke" in said.out  # in the table


def test_an_option_that_sets_what_is_swept_over_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["sweep", "smoke", "--root", str(tmp_path), "--data", "a", "--set", "data.root=b,c"]
    assert yt8m(words) == EXIT_USER
    assert "data.root=b and data.root=c are the same run" in capsys.readouterr().err


@pytest.mark.parametrize("send", [signal.raise_signal, drop_signal])
def test_sigterm_ends_the_run_under_way_and_begins_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, send: Callable[[int], None]
) -> None:
    started = []

    def start(config: PipelineConfig, *, quiet: bool, wait: float) -> Any:
        started.append(config.trainer.seed)
        send(signal.SIGTERM)
        raise Yt8mError("its signal has not come")

    monkeypatch.setattr(command, "run_pipeline", start)
    monkeypatch.setattr(trials, "resolve_external_inputs", lambda *_: ExternalInputs())
    words = ["sweep", "smoke", "--root", str(tmp_path), "--set", "trainer.seed=1,2"]
    assert yt8m(words) == EXIT_TERMINATED
    assert started == [1]


def test_a_root_in_use_is_refused_once_before_the_first_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "run_pipeline", lambda *_, **__: pytest.fail("a run was started"))
    words = ["sweep", "smoke", "--root", str(tmp_path), "--set", "trainer.seed=1,2"]
    with run_lock(Layout(tmp_path).lock):
        assert yt8m(words) == EXIT_FAILED
    said = capsys.readouterr().err
    assert said.count("is in use") == 1
    assert "--wait SECONDS" in said


def test_a_sweep_waits_for_the_root_and_so_does_each_of_its_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = []

    def start(config: PipelineConfig, *, quiet: bool, wait: float) -> Any:
        waits.append(wait)
        raise Yt8mError("it broke")

    monkeypatch.setattr(command, "run_pipeline", start)
    monkeypatch.setattr(trials, "resolve_external_inputs", lambda *_: ExternalInputs())
    words = ["sweep", "smoke", "--root", str(tmp_path), "--set", "trainer.seed=1,2"]
    with ExitStack() as stack:
        stack.enter_context(run_lock(Layout(tmp_path).lock))
        threading.Timer(0.5, stack.pop_all().close).start()
        assert yt8m([*words, "--wait", "60"]) == EXIT_FAILED
    assert waits == [60.0, 60.0]
