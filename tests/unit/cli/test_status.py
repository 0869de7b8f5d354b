"""`yt8m status --watch`: what it says, and when it ends."""

from __future__ import annotations

import contextlib
import time
from dataclasses import replace
from pathlib import Path

import pytest

from yt8m.cli import status
from yt8m.cli.arguments.runs import StatusArguments
from yt8m.components.artifacts.run_record import NodeRecord, RunRecord, State, Verdict
from yt8m.components.console.console import Console
from yt8m.components.storage.lock import file_lock
from yt8m.pipeline.metadata import ExecutionFacts
from yt8m.pipeline.run.retrain_status import RetrainStatus, write_status
from yt8m.pipeline.run_record import begin_record, write_record
from yt8m.pipeline.workspace import Layout

DONE = {"verdict": Verdict.PUSHED, "seconds": 1.0}


@pytest.fixture
def layout(tmp_path, monkeypatch):
    monkeypatch.setattr(status, "_LOOK_EVERY_S", 0.01)
    return Layout(tmp_path)


@pytest.fixture
def running():
    """Holds locks until the test closes them."""
    with contextlib.ExitStack() as locks:
        yield locks


def watch(layout, run=""):
    args = StatusArguments(root=layout.root, run=run, watch=True)
    return status._changes(args, Console())


def run_of(name):
    return RunRecord(run_id=name, started=time.time())


def test_a_schedule_is_watched_from_before_its_first_run_to_its_end(layout, running):
    running.enter_context(file_lock(Path(layout.schedule_lock), holder=""))
    write_status(layout, RetrainStatus(cron="0 3 * * *", started=1.0))
    changes = watch(layout)
    assert "schedule 0 3 * * *: running" in next(changes)[1]
    with file_lock(Path(layout.lock), holder=""):
        begin_record(layout, run_of("20260301-1"))
        assert "run 20260301-1: running" in next(changes)[1]
        write_record(layout, replace(run_of("20260301-1"), **DONE))
    assert "run 20260301-1: pushed" in next(changes)[1]
    begin_record(layout, replace(run_of("20260302-1"), **DONE))
    assert "run 20260302-1: pushed" in next(changes)[1]
    running.close()
    (last,) = changes
    assert "NOT running" in last[1]


def test_a_run_that_was_named_is_watched_to_its_own_end(layout, running):
    running.enter_context(file_lock(Path(layout.schedule_lock), holder=""))
    write_status(layout, RetrainStatus(cron="0 3 * * *", started=1.0))
    begin_record(layout, replace(run_of("20260301-1"), **DONE))
    assert len(list(watch(layout, "20260301-1"))) == 1


def test_of_a_run_that_loads_its_libraries_it_is_said_that_no_component_has_begun(layout, running):
    running.enter_context(file_lock(Path(layout.lock), holder=""))
    begin_record(layout, run_of("20260301-1"))
    assert next(watch(layout))[1].endswith("no component has begun")


def test_a_component_under_way_has_the_time_since_its_start():
    node = NodeRecord(name="Trainer", state=State.RUNNING, started=time.time() - 75)
    execution = ExecutionFacts(
        execution_id=8, node="Trainer", state="RUNNING", started=0.0, ended=0.0, outputs=()
    )
    shown = status._row(replace(run_of("20260301-1"), nodes=(node,)), execution)
    assert shown[3].startswith("75.")
