"""Two at once: pushers that compared with the same version, and whole runs."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import judged_push
from registry_models import blessed_record, fake_model
from yt8m_runs import QUICK, Place, generate

from chaos.processes import Command, HungError
from chaos.trials import Trial
from chaos.writers import registry_flaws
from yt8m.components.registry.push import push
from yt8m.components.registry.versions import list_versions, load_version

_HANG_S = 120


def rivals(
    work: Path, chance: random.Random, *, pushes: int = 40, runs: int = 4
) -> Iterator[Trial]:
    """`pushes` rounds of two pushers; half of `runs` in roots of their own, half in one root."""
    for _ in range(pushes):
        yield _two_pushers(work / uuid.uuid4().hex)
    if runs and not (work / "data").exists():
        generate(work / "data")
    for number in range(runs):
        yield _two_runs(work, chance, one_root=bool(number % 2))


def _two_pushers(work: Path) -> Trial:
    registry = str(work / "push")
    push(fake_model(work / "first"), registry, blessed_record())
    pushers = [_start_pusher(fake_model(work / name), registry) for name in ("a", "b")]
    said = []
    for pusher in pushers:
        assert pusher.stdin is not None
        pusher.stdin.write("\n")
        pusher.stdin.flush()
    for pusher in pushers:
        try:
            said.append(pusher.communicate(timeout=_HANG_S)[0].strip())
        except subprocess.TimeoutExpired:
            pusher.kill()
            said.append("it hung")
    lost = list(registry_flaws(registry, foreign=None))
    if sorted(said) != ["2", "held"] or list_versions(registry) != (1, 2):
        lost.append(f"they said {said}, and versions {list_versions(registry)} are there")
    shutil.rmtree(work)
    return Trial(kind="rivals", part="two pushers", blow="at once", lost=lost)


def _start_pusher(model: str, registry: str) -> subprocess.Popen[str]:
    script = str(judged_push.__file__)
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", script, model, registry],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(script).parent)},
    )
    assert process.stdout is not None
    process.stdout.readline()  # it has looked at what is in service
    return process


def _two_runs(work: Path, chance: random.Random, *, one_root: bool) -> Trial:
    """In one root the second is refused; in two, one pushes and the other is held back or waits."""
    base = work / uuid.uuid4().hex
    places = [
        Place(
            data=work / "data",
            root=base / ("root" if one_root else f"root-{name}"),
            push=base / "push",
            settings=(*QUICK, f"trainer.seed={seed}"),
        )
        for name, seed in (("a", 1), ("b", 2))
    ]
    base.mkdir(parents=True)
    commands = []
    for number, place in enumerate(places):
        commands.append(Command(*place.words("run"), log=base / f"said-{number}.txt"))
        time.sleep(chance.uniform(0.5, 2))
    try:
        codes = sorted(command.end() for command in commands)
        lost = [f"a traceback: {c.said[-500:]}" for c in commands if "Traceback" in c.said]
    except HungError as error:
        codes, lost = [], [str(error)]
    lost += registry_flaws(str(base / "push"), foreign=None)
    lost += _wrong_succession(base / "push", codes, one_root=one_root)
    name = "two runs in one root" if one_root else "two runs into one registry"
    shutil.rmtree(base)
    return Trial(kind="rivals", part=name, blow="at once", lost=lost)


def _wrong_succession(registry: Path, codes: list[int], *, one_root: bool) -> Iterator[str]:
    """Every version was compared with the one that it replaced."""
    numbers = list_versions(str(registry))
    if one_root and codes != [0, 1]:
        yield f"exit codes {codes}, where one run should have been refused"
    if not one_root and codes != [0, 3] and codes != [0, 0]:
        yield f"exit codes {codes}, where one may be held back and no other"
    if len(numbers) != codes.count(0):
        yield f"exit codes {codes}, and versions {numbers}"
    for before, number in zip((0, *numbers), numbers, strict=False):
        compared = load_version(str(registry), number).record.baseline_version
        if compared != before:
            yield f"version {number} was compared with {compared} and replaced {before}"
