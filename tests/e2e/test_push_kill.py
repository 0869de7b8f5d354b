"""A push that is killed leaves nothing half-done, wherever it was; two at once do not clash."""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections import Counter
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
from chaos import forks
from chaos.rivals import push_often
from registry_models import fake_model

from yt8m.components.registry.versions import list_versions, load_version, newest

pytestmark = pytest.mark.e2e


def start(model: str, push_dir: Path, *, keep: int, count: int) -> BaseProcess:
    """A pushing process, as soon as it is about to push."""
    action = partial(push_often, model, str(push_dir), keep=keep, count=count)
    log = Path(f"{model}.said")
    log.write_text("")
    process = forks.start(action, log=log)
    while process.exitcode is None and not log.read_text():
        time.sleep(0.001)
    return process


def push(model: str, push_dir: Path, *, keep: int, count: int = 1, kill_at: int = 0) -> int:
    """The exit code of a process that pushes, killed before an operation of that number."""
    action = partial(push_often, model, str(push_dir), keep=keep, count=count)
    return forks.run_until(action, kill_at=kill_at, below=push_dir, log=Path(f"{model}.said"))


def check_versions(push_dir: Path) -> tuple[int, ...]:
    """Every version that a model server would see is whole, with every byte."""
    numbers = list_versions(str(push_dir))
    for number in numbers:
        load_version(str(push_dir), number, verify=True)
    return numbers


def rubbish(push_dir: Path) -> list[str]:
    return [p.name for p in push_dir.iterdir() if not p.name.isdigit() and p.name != ".lock"]


def test_a_push_killed_before_any_of_its_operations_leaves_whole_versions(tmp_path: Path) -> None:
    model = fake_model(tmp_path / "model", variables_bytes=100_000)
    three = tmp_path / "three"  # the first is the champion, which stays
    assert push(model, three, keep=2, count=3) == 0
    push_dir = tmp_path / "push"
    seen: Counter[tuple[int, ...]] = Counter()
    left_rubbish = kill_at = 0

    while True:
        kill_at += 1
        shutil.rmtree(push_dir, ignore_errors=True)
        shutil.copytree(three, push_dir)
        code = push(model, push_dir, keep=2, kill_at=kill_at)
        numbers = check_versions(push_dir)
        seen[numbers] += 1
        if code == 0:
            break
        assert code == -signal.SIGKILL
        left_rubbish += bool(rubbish(push_dir))
        if left_rubbish % 8 == 1:  # now and then: the next push clears it away
            assert push(model, push_dir, keep=2) == 0
            assert rubbish(push_dir) == []
            assert len(check_versions(push_dir)) == 3

    assert numbers == (1, 3, 4)
    assert rubbish(push_dir) == []
    # Nothing had happened, or the new version was whole, or the oldest after the champion was gone.
    assert set(seen) == {(1, 2, 3), (1, 2, 3, 4), (1, 3, 4)}
    assert kill_at > 20  # or the hook saw nothing


def test_versions_stay_whole_while_pushers_work_side_by_side_and_are_killed(tmp_path: Path) -> None:
    push_dir = tmp_path / "push"
    models = [fake_model(tmp_path / f"model-{i}", variables_bytes=300_000) for i in range(2)]
    chance = random.Random(7)
    highest = 0
    for turn in range(100):
        if turn >= 12 and highest > 10:  # on a busy machine there are few pushes in a turn
            break
        pushers = [start(model, push_dir, keep=3, count=1000) for model in models]
        try:
            deadline = time.monotonic() + chance.uniform(0.02, 0.3)
            while time.monotonic() < deadline:
                found = newest(str(push_dir))  # what a run that starts now would compare with
                assert found is None or found.number >= highest
                highest = found.number if found else highest
        finally:
            for pusher in pushers:
                pusher.kill()
                pusher.join(60)
                assert pusher.exitcode == -signal.SIGKILL
        numbers = check_versions(push_dir)
        assert numbers == tuple(sorted(set(numbers)))
        assert not numbers or numbers[-1] >= highest
    assert highest > 10
    assert push(models[0], push_dir, keep=3) == 0
    assert rubbish(push_dir) == []
    assert len(check_versions(push_dir)) == 4  # with the champion


def test_two_pushers_give_every_push_a_number_of_its_own(tmp_path: Path) -> None:
    push_dir = tmp_path / "push"
    models = [fake_model(tmp_path / f"model-{i}") for i in range(3)]
    pushers = [start(model, push_dir, keep=100, count=10) for model in models]
    for pusher in pushers:
        pusher.join(120)
    assert [pusher.exitcode for pusher in pushers] == [0, 0, 0]
    assert check_versions(push_dir) == tuple(range(1, 31))
