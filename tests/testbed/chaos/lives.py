"""The life of a registry, every run of it killed, interrupted or out of disk in every component.

    a foreign model is there; a run on span 1; one on span 2; a rollback; a run on span 3

First it is lived undisturbed. Then each command is started again and again, and struck at a random
moment of the component whose turn it is, until it gets through. What comes of each must be the
same to the last bit, and after every blow each version that can be seen is whole, the foreign one
and the records are untouched, and after a signal nothing is pushed and the process ends in time.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from registry_models import fake_model
from requirements import is_there
from yt8m_runs import COMPONENTS, QUICK, Command, HungError, Place, generate

from chaos.trials import FULL_DISK, HUP, INT, KILL, OUTSIDE, SIGNALS, TERM, Trial
from chaos.writers import registry_flaws
from yt8m.components.registry.versions import list_versions

SPANS = (1, 2, 3)
SIGNAL_S = 30.0  # a run ends within that after a signal
_NUMBERS = {
    KILL: signal.SIGKILL,
    TERM: signal.SIGTERM,
    INT: signal.SIGINT,
    HUP: signal.SIGHUP,
}
_CODES = {KILL: -signal.SIGKILL, TERM: 143, INT: 130, HUP: 143}
_SETTINGS = (
    *(setting for setting in QUICK if not setting.startswith("data.splits")),
    "data.splits={train: ['span-{SPAN}/train*'], eval: ['span-{SPAN}/validate*'], test: []}",
    "pusher.keep_versions=2",
)
_FOREIGN = 1
_DISK_MB = 900
# Between the kernel's clock of files, which ticks, and ours.
_TICK_NS = 20_000_000


@dataclass(frozen=True, kw_only=True)
class Step:
    """One command of the life."""

    name: str
    words: Callable[[Place], list[str]]
    components: Sequence[str] = COMPONENTS


def _run_on(span: int, *more: str) -> Step:
    extra = [f"--set=data.span={span}", *(f"--set={setting}" for setting in more)]
    return Step(name=f"span {span}", words=lambda place: place.words("run", *extra))


STEPS = (
    _run_on(1, "baseline.version=none"),
    _run_on(2),
    Step(
        name="rollback",
        words=lambda place: ["models", "rollback", "2", "--push", str(place.push)],
        components=("models rollback",),
    ),
    _run_on(3),
)


@dataclass(kw_only=True)
class Reference:
    """What an undisturbed life left after each step, and how long each component took."""

    outcomes: dict[str, dict[str, Any]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class World:
    """A root, a registry and the records; `disk` is the small file system they are on, if any."""

    place: Place
    base: Path
    disk: Path | None = None

    @property
    def log(self) -> Path:
        return self.base / "said.txt"


def lives(
    work: Path,
    chance: random.Random,
    *,
    kills: int = 110,
    signals: int = 66,
    full_disks: int = 22,
    only: str = "",
) -> Iterator[Trial]:
    """About so many blows, evenly over the components; with `only` those of this name."""
    blows = [KILL] * kills + [SIGNALS[n % len(SIGNALS)] for n in range(signals)]
    blows = [blow for blow in blows if only in ("", blow)]
    chance.shuffle(blows)
    while blows:
        taken = iter(blows[:])
        count = 0
        for trial in live(work, chance, taken):
            yield trial
            count += 1
        blows = blows[max(count, 1) :]
    if full_disks and only in ("", FULL_DISK) and is_there("tmpfs mounts"):
        yield from _on_a_small_disk(work, chance, iter([FULL_DISK] * full_disks))


def known_reference(work: Path, steps: Sequence[Step] = STEPS) -> Reference:
    """Lived once for all pieces of a session, and as far as was needed."""
    path, base = work / "reference.json", work / "undisturbed"
    reference = Reference(**json.loads(path.read_text())) if path.exists() else Reference()
    if not (work / "data").exists():
        generate(work / "data", spans=len(SPANS))
    if not reference.outcomes:
        shutil.rmtree(base, ignore_errors=True)
    world = new_world(work, base)
    for step in steps[len(reference.outcomes) :]:
        begun = time.monotonic()
        command = Command(*step.words(world.place), log=world.log)
        if command.end() != 0:
            raise SystemExit(f"undisturbed, {step.name} failed: {command.said}")
        if step.components == COMPONENTS:
            nodes = world.place.records()[0]["nodes"]
            reference.seconds |= {node["name"]: node["seconds"] for node in nodes}
        else:
            reference.seconds[step.components[0]] = time.monotonic() - begun
        reference.outcomes[step.name] = _outcome(step, world.place)
        path.write_text(json.dumps(dataclasses.asdict(reference)))
        print(f"undisturbed, {step.name}: {time.monotonic() - begun:.0f} s", file=sys.stderr)
    return reference


def live(
    work: Path,
    chance: random.Random,
    blows: Iterator[str],
    *,
    disk: Path | None = None,
    steps: Sequence[Step] = STEPS,
) -> Iterator[Trial]:
    """One life, struck by `blows` as long as there are any."""
    base = (disk or work) / "life"
    shutil.rmtree(base, ignore_errors=True)
    world = new_world(work, base, disk=disk)
    known_reference(work, steps[:1])  # which makes the records
    sources = _digest_tree(world.place.data)
    for number, step in enumerate(steps, 1):
        reference = known_reference(work, steps[:number])
        blow = None
        for component in step.components:
            if (blow := next(blows, None)) is None:
                break
            trial, ended = _strike(world, step, component, blow, reference, chance)
            if trial is not None:
                changed = _digest_tree(world.place.data) != sources
                lost = ("the records are changed",) if changed else ()
                yield dataclasses.replace(trial, lost=(*trial.lost, *lost))
            if ended:
                break
        yield from _finish(world, step, reference)
        if blow is None:
            return
    shutil.rmtree(base)


def _strike(
    world: World,
    step: Step,
    component: str,
    blow: str,
    reference: Reference,
    chance: random.Random,
) -> tuple[Trial | None, bool]:
    """The trial, if the blow came in time; and whether the command got through."""
    before = _versions(world.place.push)
    command = Command(*step.words(world.place), log=world.log)
    lost: list[str] = []
    seconds = None
    try:
        if step.components == COMPONENTS and not command.says(f"{component} running"):
            code = command.end()
            return None, code == 0
        time.sleep(chance.uniform(0, reference.seconds[component]))
        struck = time.time_ns()
        if blow == FULL_DISK:
            _fill(world)
            code = command.end()
        else:
            code = command.end(_NUMBERS[blow], within_s=SIGNAL_S * 2)
            seconds = (time.time_ns() - struck) / 1e9
    except HungError as error:
        lost, code = [str(error)], None
    finally:
        _make_room(world)
    if code == 0:
        return None, True  # it had come through when the blow fell
    part = _part_hit(world.place, step, component)
    lost += _wrong_end(blow, code, command.said)
    lost += _flaws(world.place.push, before)
    if blow in SIGNALS:
        lost += _pushed_after(world.place.push, struck, before)
        if seconds is not None and seconds > SIGNAL_S:
            lost.append(f"it ended {seconds:.0f} s after the signal")
    signalled = seconds if blow in SIGNALS else None
    return Trial(kind="lives", part=part, blow=blow, lost=lost, seconds=signalled), False


def _wrong_end(blow: str, code: int | None, said: str) -> Iterator[str]:
    if "Traceback" in said:
        yield f"a traceback: {said[said.index('Traceback') :][:2000]}"
    if code is None:
        return
    right = 1 if blow == FULL_DISK else _CODES[blow]
    # A signal ends Python itself while it is still starting, or about to be gone.
    early = -_NUMBERS[blow] if blow in SIGNALS else right
    if code not in (right, early):
        yield f"exit code {code}, not {right}: {said[-500:]}"


def _finish(world: World, step: Step, reference: Reference) -> Iterator[Trial]:
    """The command once more, undisturbed; only a loss is worth a trial."""
    before = _versions(world.place.push)
    command = Command(*step.words(world.place), log=world.log)
    lost = []
    try:
        code = command.end()
        if code != 0 or "Traceback" in command.said:
            lost.append(f"{step.name} did not continue, exit code {code}: {command.said[-800:]}")
    except HungError as error:
        lost.append(str(error))
    lost += _flaws(world.place.push, before)
    if not lost:
        lost += unlike(step, world.place, reference)
    if lost:
        yield Trial(kind="lives", part=OUTSIDE, blow="continued", lost=lost)


def unlike(step: Step, place: Place, reference: Reference) -> Iterator[str]:
    """In what the outcome is not that of an undisturbed life."""
    found, expected = _outcome(step, place), reference.outcomes[step.name]
    for key in expected:
        if found[key] != expected[key]:
            yield f"after {step.name}, {key}: {found[key]} instead of {expected[key]}"


def _outcome(step: Step, place: Place) -> dict[str, Any]:
    """What must be the same however often the life was disturbed."""
    found: dict[str, Any] = {
        "versions": {
            str(number): _digest_tree(place.push / str(number) / "variables")
            for number in place.versions()
        },
        "rubbish": sorted(p.name for p in place.push.iterdir() if p.name.startswith(".yt8m-")),
    }
    if step.components == COMPONENTS:
        record = next(r for r in place.records() if r["verdict"] not in ("killed", "running"))
        found |= {key: record[key] for key in ("verdict", "version", "metrics", "differences")}
        with sqlite3.connect(place.root / "metadata.db") as connection:
            query = "SELECT COUNT(*) FROM Execution WHERE last_known_state IN (1, 2)"
            (found["running executions"],) = connection.execute(query).fetchone()
    return found


def _part_hit(place: Place, step: Step, component: str) -> str:
    """Where the blow fell: the run may have been further by then."""
    if step.components != COMPONENTS:
        return component
    nodes = place.records()[0]["nodes"]
    hit = [n["name"] for n in nodes if n["state"] in ("running", "stopped", "failed", "killed")]
    return hit[0] if hit else OUTSIDE


def _versions(push: Path) -> dict[int, str]:
    """The content of every version that a model server would see."""
    return {number: _digest_tree(push / str(number)) for number in list_versions(str(push))}


def _flaws(push: Path, before: dict[int, str]) -> Iterator[str]:
    """What can be seen of the registry that is not whole, or is not what it was."""
    yield from registry_flaws(str(push), foreign=_FOREIGN)
    after = _versions(push)
    for number, digest in after.items():
        if before.get(number, digest) != digest:
            yield f"version {number} was changed"
    if before and after and max(after) < max(before):
        yield f"version {max(before)} is gone"


def _pushed_after(push: Path, moment_ns: int, before: dict[int, str]) -> Iterator[str]:
    for number in set(list_versions(str(push))) - set(before):
        late = (push / str(number)).stat().st_ctime_ns - moment_ns
        if late > _TICK_NS:
            yield f"version {number} was pushed {late / 1e9:.2f} s after the signal"


def _digest_tree(root: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(p for p in root.rglob("*") if p.is_file()):
        digest.update(f"{path.relative_to(root)} {path.stat().st_size} ".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def new_world(work: Path, base: Path, *, disk: Path | None = None) -> World:
    foreign = base / "push" / str(_FOREIGN)
    if not (work / "foreign").exists():
        fake_model(work / "foreign")
    if not foreign.exists():
        shutil.copytree(work / "foreign", foreign)
    place = Place(data=work / "data", root=base / "root", push=base / "push", settings=_SETTINGS)
    return World(place=place, base=base, disk=disk)


def _on_a_small_disk(work: Path, chance: random.Random, blows: Iterator[str]) -> Iterator[Trial]:
    disk = work / "disk"
    disk.mkdir(exist_ok=True)
    options = ["-o", f"size={_DISK_MB}m"]
    subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", str(disk)], check=True)
    try:
        yield from live(work, chance, blows, disk=disk)
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def _fill(world: World) -> None:
    """To the last byte."""
    assert world.disk is not None
    with (world.disk / "filler").open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            try:
                while True:
                    file.write(b"\0" * size)
            except OSError:
                continue


def _make_room(world: World) -> None:
    if world.disk is not None:
        (world.disk / "filler").unlink(missing_ok=True)
