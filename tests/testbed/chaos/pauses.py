"""A push that pauses before each of its operations, while another change of the registry is made.

So every check is held against what relies on it: what was true when it was looked at may be
no longer true a moment later. The other change waits for the lock where the push has it; else it is
done in between.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

from registry_models import blessed_record, fake_model

from chaos.forks import start
from chaos.trials import Trial
from chaos.writers import registry_flaws
from yt8m.components.registry.outcomes import StaleBaselineError
from yt8m.components.registry.push import push, rollback
from yt8m.components.registry.versions import InService, in_service, list_versions

_PAUSE = "pause"
_HANG_S = 60.0
_POLL_S = 0.005
Change = Callable[[], object]


def pauses(work: Path, chance: random.Random, *, stride: int = 1) -> Iterator[Trial]:
    """A push paused before every `stride`-th operation, beside a push and beside a rollback."""
    for part, other, expected in (
        ("a push beside a push", _push, (0, 1)),
        ("a push beside a rollback", _roll_back, (0, 0)),
    ):
        first = chance.randrange(1, stride + 1)
        for at in itertools.count(first, stride):
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir(parents=True)
            lost = _beside(work, other, expected, at)
            if lost is None:
                break
            yield Trial(kind="pauses", part=part, blow=_PAUSE, lost=lost)


def _beside(
    work: Path, other: Callable[[Path, InService], None], expected: tuple[int, int], at: int
) -> list[str] | None:
    """What was lost; None where the push has fewer operations."""
    registry = str(work / "push")
    for name in ("first", "second"):
        push(fake_model(work / name), registry, blessed_record(run_key=name))
    judged = in_service(registry)
    for name in ("here", "other"):
        fake_model(work / name)
    # Of two pushes that compared with the same version one is rejected; a rollback judges nothing.
    ours = judged if expected == (0, 1) else None
    logs = [work / "here.txt", work / "other.txt"]
    paused = start(
        partial(_push_model, work / "here", ours),
        kill_at=at,
        below=work / "push",
        log=logs[0],
        blow=signal.SIGSTOP,
    )
    if not _stops(paused):
        return None
    beside = start(partial(other, work, judged), log=logs[1])
    _ends_or_waits(beside)
    os.kill(paused.pid or 0, signal.SIGCONT)
    for process in (paused, beside):
        process.join(_HANG_S)
        process.kill()
    codes = tuple(sorted(process.exitcode or 0 for process in (paused, beside)))
    said = [log.read_text() for log in logs]
    lost = list(registry_flaws(registry, foreign=None))
    if codes != expected:
        lost.append(f"before operation {at}: exit codes {codes}: {said}")
    if 1 in codes and StaleBaselineError.__name__ not in "".join(said):
        lost.append(f"before operation {at}: {said}")
    numbers = list_versions(registry)
    if len(numbers) != 2 + codes.count(0) or in_service(registry).version != numbers[-1]:
        lost.append(f"before operation {at}: {numbers} are there, {in_service(registry)} serves")
    return lost


def _push(work: Path, judged: InService) -> None:
    _push_model(work / "other", judged)


def _push_model(model: Path, judged: InService | None) -> None:
    registry = str(model.parent / "push")
    push(str(model), registry, blessed_record(run_key=model.name), replaces=judged)


def _roll_back(work: Path, judged: InService) -> None:
    rollback(str(work / "push"), 1)


def _ends_or_waits(process: BaseProcess) -> None:
    """Give it all the time that it has: it makes its change, or the kernel lets it wait for a lock.

    However slow the machine is, a lock that keeps nobody out is so found out.
    """
    deadline = time.monotonic() + _HANG_S
    while process.is_alive() and time.monotonic() < deadline:
        locks = Path("/proc/locks").read_text().splitlines()
        if any(
            words[1] == "->" and words[5] == str(process.pid) for words in map(str.split, locks)
        ):
            return
        time.sleep(_POLL_S)


def _stops(process: BaseProcess) -> bool:
    """Whether it pauses before it ends."""
    deadline = time.monotonic() + _HANG_S
    while process.is_alive() and time.monotonic() < deadline:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            status = Path(f"/proc/{process.pid}/stat").read_text()
            if status.rpartition(")")[2].split()[0] == "T":
                return True
        time.sleep(_POLL_S)
    return False
