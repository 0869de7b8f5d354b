"""Push, import, rollback and prune, with each system call or request failing in turn.

What each says (exit code and message) must agree with `yt8m models list` afterwards, and the next
push must succeed and leave nothing behind.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import errno
import io
import itertools
import json
import os
import random
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from unittest import mock

from faulty_proxy import FaultyProxy
from object_server import object_server
from registry_models import blessed_record, fake_model

from chaos.planted import PLANTED
from chaos.syscalls import in_process_with_shim
from chaos.trials import OUTCOMES, Trial
from yt8m.cli.main import run
from yt8m.components import storage
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.registry import object_store
from yt8m.components.registry.push import push
from yt8m.components.registry.versions import list_versions
from yt8m.components.storage import gcs, retry, s3
from yt8m.schemas.errors import EXIT_DONE, EXIT_FAILED, EXIT_UNKNOWN, Yt8mError

_ERRNOS = (errno.EIO, errno.ENOSPC, errno.EACCES)
_ONCE = ("403", "expired", "404", "html", "empty", "reset", "lost")
_FROM_THEN_ON = ("403", "expired")


@dataclass(frozen=True, kw_only=True)
class Said:
    """How a command ended."""

    code: int
    text: str


@dataclass(frozen=True, kw_only=True)
class World:
    """A registry with a damaged version and three sound ones, and a model to push."""

    registry: str
    model: str
    sound: int  # what is rolled back to; not asked for while calls fail


def _push(world: World) -> None:
    push(world.model, world.registry, blessed_record(run_key="new"), keep=2)


def _import(world: World) -> None:
    push(world.model, world.registry, blessed_record(run_key="new"), served=False)


CHANGES: dict[str, Callable[[World], Said]] = {
    "push": lambda world: _called(_push, world),
    "import of a baseline": lambda world: _called(_import, world),
    "rollback": lambda world: _command("rollback", str(world.sound), "--push", world.registry),
    "prune": lambda world: _command("prune", "--yes", "--push", world.registry),
}


def outcomes(work: Path, chance: random.Random, *, stride: int = 3) -> Iterator[Trial]:
    """Every `stride`-th system call, and request to s3:// and gs://.

    Each kind of failure starts at another call: with a stride of no more than their number, each
    call fails at least once.
    """
    yield from on_this_machine(work, chance, stride=stride)
    for scheme in ("s3", "gs"):
        yield from in_a_store(work, scheme, chance, stride=stride)


def on_this_machine(
    work: Path, chance: random.Random, *, stride: int = 1, planted: str = ""
) -> Iterator[Trial]:
    """In processes that have the shim before libc; each forks one that is hit.

    `planted` names a defect of `planted.py` that the code is to have.
    """
    arguments = [str(work), str(stride), str(chance.randrange(stride)), planted]
    yield from in_process_with_shim(work, "chaos.outcomes", *arguments)


def in_a_store(
    work: Path, scheme: str, chance: random.Random, *, stride: int = 1, planted: str = ""
) -> Iterator[Trial]:
    """Each request of a client in turn; what came of it is looked at in the server's memory."""
    blows = [(fault, False) for fault in _ONCE] + [(fault, True) for fault in _FROM_THEN_ON]
    with (
        object_server() as server,
        mock.patch.object(object_store.ObjectStore, "waits_s", (0.0, 0.0)),
        _impatient_clients(),
        PLANTED[planted]() if planted else contextlib.nullcontext(),
    ):
        seen = _build(work, "mem://bucket/push")
        template, before = dict(server.store.objects), _listing(seen.registry)
        world = dataclasses.replace(seen, registry=f"{scheme}://bucket/push")
        ways = list(itertools.product(CHANGES.items(), blows))
        starts = first_calls(len(ways), stride, chance.randrange(stride))
        for ((name, change), (fault, lasting)), first in zip(ways, starts, strict=True):
            at, has_failed = first - stride, True
            while has_failed:
                at += stride
                server.store.objects = dict(template)
                hit = _hit(server, at, fault, lasting=lasting)
                said = change(world)
                server.choose = None
                has_failed = hit()
                lost = list(disagreements(name, before, said, seen))
                until = " from then on" if lasting else ""
                if has_failed:
                    blow = f"request: {fault}{until}"
                    yield _trial(f"{name} on {scheme}://", blow, at, said, lost)


def first_calls(ways: int, stride: int, first: int) -> list[int]:
    """For each way to fail the number of the call, from 1, that fails first."""
    return [1 + (first + way) % stride for way in range(ways)]


def disagreements(
    change: str, before: Mapping[str, object], said: Said, world: World
) -> Iterator[str]:
    """Where what was said, what is listed, and what the next push leaves do not fit."""
    now = _listing(world.registry)
    if "bug in yt8m" in said.text or "Traceback" in said.text:
        yield "called a bug"
    if said.code == EXIT_DONE:
        yield from _not_done(change, before, now)
    elif said.code != EXIT_UNKNOWN and change != "prune" and now["sound"] != before["sound"]:
        yield f"said to be not done, and {before} became {now}"
    if not before["sound"] <= now["sound"] and change in ("prune", "import of a baseline"):  # type: ignore[operator]
        yield f"a sound version is gone: {before} became {now}"
    last = push(world.model, world.registry, blessed_record(run_key="last"), keep=2)
    then = _listing(world.registry)
    if then["served"] != last.number or then["leftovers"]:
        yield f"the next push left {then}"


def _not_done(
    change: str, before: Mapping[str, object], now: Mapping[str, object]
) -> Iterator[str]:
    if change in ("push", "rollback") and not now["served"] > before["served"]:  # type: ignore[operator]
        yield f"said to be in service, and {before} became {now}"
    if change == "import of a baseline" and len(now["sound"]) != len(before["sound"]) + 1:  # type: ignore[arg-type]
        yield f"said to be a baseline, and {before} became {now}"
    if change == "prune" and now["damaged"]:
        yield f"said to be removed, and {before} became {now}"


def _listing(registry: str) -> dict[str, object]:
    """What `yt8m models list` says."""
    said = _command("list", "--push", registry, "--json")
    value = json.loads(said.text)
    rows = value["versions"]
    sound = {row["version"] for row in rows if row["state"] in ("blessed", "not blessed")}
    return {
        "served": next((row["version"] for row in rows if row["served"]), 0),
        "sound": sound,
        "damaged": {row["version"] for row in rows if row["state"] == "damaged"},
        "leftovers": value["leftovers"],
    }


def _command(*words: str) -> Said:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run(["models", *words])
    return Said(code=code, text=out.getvalue() if code == EXIT_DONE else err.getvalue())


def _called(action: Callable[[World], None], world: World) -> Said:
    """As a command would end that does this."""
    try:
        action(world)
    except Yt8mError as error:
        return Said(code=error.exit_code, text=str(error))
    except OSError as error:
        return Said(code=EXIT_FAILED, text=str(error))
    except Exception as error:
        return Said(code=EXIT_FAILED, text=f"a bug in yt8m: {type(error).__name__}: {error}")
    return Said(code=EXIT_DONE, text="")


def _build(work: Path, registry: str) -> World:
    for name in ("damaged", "first", "second", "third"):
        shutil.rmtree(work / name, ignore_errors=True)
        version = push(fake_model(work / name), registry, blessed_record(run_key=name))
        if name == "damaged":
            storage.write_text(storage.join(version.path, MODEL_FILE), "damaged")
    shutil.rmtree(work / "new", ignore_errors=True)
    model = fake_model(work / "new")
    return World(registry=registry, model=model, sound=list_versions(registry)[1])


def _hit(proxy: FaultyProxy, at: int, fault: str, *, lasting: bool) -> Callable[[], bool]:
    seen = 0

    def choose(method: str, path: str) -> str:
        nonlocal seen
        seen += 1
        return fault if seen == at or (lasting and seen > at) else ""

    proxy.choose = choose
    return lambda: seen >= at


@contextlib.contextmanager
def _impatient_clients() -> Iterator[None]:
    """Which give up soon: what stays away does so for the whole of a trial."""
    with (
        mock.patch.object(s3, "_ATTEMPTS", 2),
        mock.patch.object(s3, "_BAD_ANSWERS", 2),
        mock.patch.object(gcs, "_ATTEMPTS", 2),
        mock.patch.object(retry.Backoff, "wait_s", return_value=0.0),
        mock.patch.object(time, "sleep"),  # boto3's own waits
    ):
        s3.client.cache_clear()
        yield
    s3.client.cache_clear()


def _trial(part: str, blow: str, at: int, said: Said, lost: list[str]) -> Trial:
    lost = [f"number {at}: exit code {said.code}, {said.text}: {text}" for text in lost]
    return Trial(kind=OUTCOMES, part=part, blow=blow, lost=lost)


def _local_trials(work: Path, stride: int, first: int) -> Iterator[Trial]:
    shim = ctypes.CDLL(None)
    shutil.rmtree(work / "template", ignore_errors=True)
    template = _build(work, str(work / "template"))
    ways = [
        (name, number, n) for name, number in itertools.product(CHANGES, _ERRNOS) for n in (1, -1)
    ]
    starts = first_calls(len(ways), stride, first)
    for (name, number, sign), start in zip(ways, starts, strict=True):
        at, has_failed = start - stride, True
        while has_failed:
            at += stride
            world = dataclasses.replace(template, registry=str(work / "here"))
            shutil.rmtree(world.registry, ignore_errors=True)
            shutil.copytree(template.registry, world.registry)
            before = _listing(world.registry)
            said, has_failed = _forked(shim, name, world, sign * at, number)
            lost = list(disagreements(name, before, said, world))
            until = " from then on" if sign < 0 else ""
            if has_failed:
                blow = f"system call: {errno.errorcode[number]}{until}"
                yield _trial(f"{name} on this machine", blow, at, said, lost)


def _forked(shim: ctypes.CDLL, name: str, world: World, at: int, number: int) -> tuple[Said, bool]:
    """How the change ends in a process of its own, and whether it came to the call `at`."""
    with tempfile.TemporaryFile("w+") as file:
        if (child := os.fork()) == 0:
            try:
                shim.fail_at(ctypes.c_long(at), number, os.fsencode(world.registry))
                said = CHANGES[name](world)
                calls = shim.calls()
                shim.fail_at(ctypes.c_long(0), 0, b"")
                json.dump([asdict(said), calls >= abs(at)], file)
                file.flush()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        file.seek(0)
        said, has_failed = json.load(file)
        return Said(**said), has_failed


if __name__ == "__main__":
    with PLANTED[sys.argv[4]]() if sys.argv[4] else contextlib.nullcontext():
        for trial in _local_trials(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])):
            print(json.dumps(asdict(trial)), flush=True)
