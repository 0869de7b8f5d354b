"""Runs whose clock jumps by an hour, a day or years, to and fro, as each component starts."""

from __future__ import annotations

import os
import random
import shutil
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import warm_processes
from yt8m_runs import COMPONENTS, Command, HungError

from chaos.lives import STEPS, World, known_reference, new_world, unlike
from chaos.trials import Trial

_SHIM = Path(__file__).with_name("clock_shim.c")
_HOUR, _DAY = 3600, 86_400
_JUMPS = (_HOUR, -_HOUR, _DAY, -_DAY, 400 * _DAY, -400 * _DAY)


def clocks(work: Path, chance: random.Random, *, runs: int = 4) -> Iterator[Trial]:
    """So many runs, each with eleven jumps, in pairs that go into one registry."""
    home = work.parent / "lives"  # lived undisturbed for both
    home.mkdir(parents=True, exist_ok=True)
    reference = known_reference(home, STEPS[:2])
    with _jumping_clock(work) as clock:
        for number in range(runs):
            if number % 2 == 0:
                shutil.rmtree(work / "life", ignore_errors=True)
                world = new_world(home, work / "life")
            step = STEPS[number % 2]
            yield from _run_through_jumps(world, step.name, clock, chance)
            lost = list(unlike(step, world.place, reference))
            if lost:
                yield Trial(kind="clocks", part="a run", blow="clock jumps", lost=lost)


def _run_through_jumps(
    world: World, name: str, clock: Path, chance: random.Random
) -> Iterator[Trial]:
    (step,) = (step for step in STEPS if step.name == name)
    command = Command(*step.words(world.place), log=world.log)
    lost: list[str] = []
    try:
        for component in COMPONENTS:
            if command.says(f"{component} running"):
                _set(clock, chance.choice(_JUMPS))
                yield Trial(kind="clocks", part="runs", blow="clock jump")
        code = command.end()
        if code != 0 or "Traceback" in command.said:
            lost.append(f"{name}: exit code {code}: {command.said[-800:]}")
    except HungError as error:
        lost.append(str(error))
    if lost:
        yield Trial(kind="clocks", part="runs", blow="clock jump", lost=lost)


def _set(clock: Path, seconds: int) -> None:
    """In place: processes have the file mapped, and one cut short for a moment kills them."""
    with clock.open("r+b") as file:
        file.write(struct.pack("<q", seconds))


@contextmanager
def _jumping_clock(work: Path) -> Iterator[Path]:
    """The file that says how far the clock of every process started within is off."""
    shim, clock = work / "clock_shim.so", work / "clock"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", shim, _SHIM, "-ldl"], check=True)
    clock.write_bytes(bytes(8))
    changes = {"LD_PRELOAD": str(shim), "CHAOS_CLOCK": str(clock)}
    with mock.patch.dict(os.environ, changes):
        warm_processes._server.cache_clear()  # the next one is started with this clock
        try:
            yield clock
        finally:
            warm_processes._server.cache_clear()
