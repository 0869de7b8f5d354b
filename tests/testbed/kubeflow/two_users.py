"""Two people on one server: what each starts and schedules is what each has uploaded."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Runs `yt8m kubeflow ... --json`; gives its exit code and what it said.
Yt8m = Callable[..., tuple[int, Any]]
_STAMP_S = 1.1  # Kubeflow counts a version's time in seconds: the newest of one second is any


def check_two_users(yt8m: Yt8m, pipeline: str, files: tuple[Path, Path], *given: str) -> None:
    """`files` are two contents of that pipeline; `given` are what runs and schedules need."""
    anna, bert = ("--owner", "anna"), ("--owner", "bert")
    nightly = ("schedule", pipeline, "--name", pipeline, "--cron", "0 3 * * 1", "--disabled")
    nightly += given
    mine = _well(yt8m("upload", str(files[0]), *anna))
    assert _well(yt8m(*nightly, *anna))["version"] == mine["version"]
    time.sleep(_STAMP_S)
    theirs = _well(yt8m("upload", str(files[1]), *bert))
    assert theirs["version"] != mine["version"]

    again = _well(yt8m("upload", str(files[0]), *anna))
    assert (again["new_version"], again["version"]) == (False, mine["version"])
    assert again["run"] == f"yt8m kubeflow run {pipeline} --version {mine['version']}"

    kept = _well(yt8m(*nightly, *anna))  # a version stays until it is moved
    assert (kept["change"], kept["version"]) == ("already there", mine["version"])
    code, said = yt8m(*nightly, *bert)
    assert code == 2
    assert f"pipeline {pipeline}, made by anna" in said["error"]
    assert yt8m("unschedule", pipeline, *_experiment(given), *bert)[0] == 2
    moved = _well(yt8m(*nightly, *anna, "--latest"))
    assert (moved["change"], moved["version"]) == ("replaced", theirs["version"])
    _well(yt8m("unschedule", pipeline, *_experiment(given), *anna))


def _well(ended: tuple[int, Any]) -> dict[str, Any]:
    code, said = ended
    assert code == 0, said
    return dict(said)


def _experiment(given: tuple[str, ...]) -> tuple[str, ...]:
    place = given.index("--experiment")
    return given[place : place + 2]
