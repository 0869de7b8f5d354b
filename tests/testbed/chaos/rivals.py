"""Two at once: pushers that compared with the same version, and whole runs."""

from __future__ import annotations

import os
import random
import shutil
import time
import uuid
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from threading import Barrier

from registry_models import blessed_record, fake_model
from yt8m_runs import QUICK, Command, HungError, Place, generate

from chaos.forks import context, start
from chaos.trials import Trial
from chaos.writers import registry_flaws
from yt8m.components.registry.outcomes import StaleBaselineError
from yt8m.components.registry.push import push
from yt8m.components.registry.versions import in_service, list_versions, load_version

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
    said = push_judged([fake_model(work / name) for name in ("a", "b")], registry)
    lost = list(registry_flaws(registry, foreign=None))
    if said != ["2", "held"] or list_versions(registry) != (1, 2):
        lost.append(f"they said {said}, and versions {list_versions(registry)} are there")
    shutil.rmtree(work)
    return Trial(kind="rivals", part="two pushers", blow="parallel", lost=lost)


def push_judged(models: Sequence[str], registry: str) -> list[str]:
    """Push all models at once, each compared with what was in service before any of them.

    What their processes said, sorted: a new version's number, or "held".
    """
    barrier = context().Barrier(len(models))
    pushers = [
        start(partial(_push_judged, model, registry, barrier), log=Path(f"{model}.said"))
        for model in models
    ]
    for pusher in pushers:
        pusher.join(_HANG_S)
        pusher.kill()
    answers = [Path(f"{model}.answer") for model in models]
    said = [path if path.exists() else path.with_suffix(".said") for path in answers]
    return sorted(path.read_text() for path in said)


def _push_judged(model: str, registry: str, barrier: Barrier) -> None:
    judged = in_service(registry)
    barrier.wait()
    try:
        answer = str(push(model, registry, blessed_record(), replaces=judged).number)
    except StaleBaselineError:
        answer = "held"
    Path(f"{model}.answer").write_text(answer)


def push_often(model: str, registry: str, *, keep: int, count: int) -> None:
    """Each push has other content, or it would find its files there already."""
    print("ready", flush=True)
    for _ in range(count):
        (Path(model) / "variables" / "variables.index").write_bytes(os.urandom(50))
        push(model, registry, blessed_record(), keep=keep)


def _two_runs(work: Path, chance: random.Random, *, one_root: bool) -> Trial:
    """In one root the second is refused; in two, one pushes and the other is rejected or waits."""
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
    return Trial(kind="rivals", part=name, blow="parallel", lost=lost)


def _wrong_succession(registry: Path, codes: list[int], *, one_root: bool) -> Iterator[str]:
    """Every version was compared with the one that it replaced."""
    numbers = list_versions(str(registry))
    if one_root and codes != [0, 1]:
        yield f"exit codes {codes}, where one run should have been refused"
    if not one_root and codes != [0, 3] and codes != [0, 0]:
        yield f"exit codes {codes}, where one may be rejected and no other"
    if len(numbers) != codes.count(0):
        yield f"exit codes {codes}, and versions {numbers}"
    for before, number in zip((0, *numbers), numbers, strict=False):
        compared = load_version(str(registry), number).record.baseline_version
        if compared != before:
            yield f"version {number} was compared with {compared} and replaced {before}"
