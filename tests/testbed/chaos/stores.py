"""Registries in s3:// and gs://: pushes killed beside a reader, pushers and rollbacks at once.

Against `object_server`, so that requests cost little, and from processes of their own.
"""

from __future__ import annotations

import contextlib
import itertools
import random
import threading
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from object_server import object_server
from registry_models import blessed_record, fake_model

from chaos.forks import run_until
from chaos.trials import KILL, Trial
from chaos.writers import registry_flaws
from yt8m.components import storage
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.registry.outcomes import StaleBaselineError
from yt8m.components.registry.push import push, rollback
from yt8m.components.registry.versions import InService, in_service, list_versions, newest
from yt8m.components.storage import gcs, s3

_LAST_REQUEST = 90  # of a push; a number above lets it through


def stores(
    work: Path, chance: random.Random, *, kills: int = 30, pairs: int = 20, rollbacks: int = 10
) -> Iterator[Trial]:
    """So many of each, on s3:// and on gs://, by turns."""
    tries = (
        (kills, lambda scheme: _killed(work, scheme, chance.randrange(1, _LAST_REQUEST))),
        (pairs, lambda scheme: _two_pushers(work, scheme)),
        (rollbacks, lambda scheme: _rollback_and_push(work, scheme)),
    )
    with object_server():
        for number in range(max(kills, pairs, rollbacks)):
            for (times, attempt), scheme in itertools.product(tries, ("s3", "gs")):
                if number < times:
                    yield attempt(scheme)


def _killed(work: Path, scheme: str, kill_at: int) -> Trial:
    """A push killed before a request; a reader beside it, and the push again."""
    registry, first = _registry(work, scheme)
    write = partial(push_in_child, fake_model(work / uuid.uuid4().hex), registry)
    log = work / "said.txt"
    with _reader(registry, first) as lost:
        run_until(write, kill_at=kill_at, log=log)
        lost += registry_flaws(registry, foreign=None)
        if (code := run_until(write, log=log)) != 0:
            lost.append(f"again after request {kill_at}: exit code {code}: {log.read_text()}")
    lost += _not_served(registry, 2)
    return Trial(kind="stores", part=f"push into {scheme}:// with a reader", blow=KILL, lost=lost)


def _two_pushers(work: Path, scheme: str) -> Trial:
    """Of two that compared with the same version one is rejected."""
    registry, first = _registry(work, scheme)
    judged = in_service(registry)
    models = [fake_model(work / uuid.uuid4().hex) for _ in range(2)]
    with _reader(registry, first) as lost:
        codes, said = _at_once(
            work, [partial(push_in_child, model, registry, judged) for model in models]
        )
    if sorted(codes) != [0, 1] or StaleBaselineError.__name__ not in "".join(said):
        lost.append(f"exit codes {codes}: {said}")
    lost += [*registry_flaws(registry, foreign=None), *_not_served(registry, 2)]
    return Trial(kind="stores", part=f"two pushers on {scheme}://", blow="parallel", lost=lost)


def _rollback_and_push(work: Path, scheme: str) -> Trial:
    """Both are done, one after the other, and the later one is in service."""
    registry, first = _registry(work, scheme)
    push(fake_model(work / uuid.uuid4().hex), registry, blessed_record())
    model = fake_model(work / uuid.uuid4().hex)
    with _reader(registry, first) as lost:
        codes, said = _at_once(
            work,
            [partial(push_in_child, model, registry), partial(roll_back_in_child, registry, first)],
        )
    if codes != [0, 0]:
        lost.append(f"exit codes {codes}: {said}")
    lost += [*registry_flaws(registry, foreign=None), *_not_served(registry, 4)]
    return Trial(
        kind="stores", part=f"rollback and push on {scheme}://", blow="parallel", lost=lost
    )


def push_in_child(model: str, registry: str, judged: InService | None = None) -> None:
    _forget_connections()
    push(model, registry, blessed_record(run_key=model), replaces=judged)


def roll_back_in_child(registry: str, version: int) -> None:
    _forget_connections()
    rollback(registry, version)


def _forget_connections() -> None:
    s3.client.cache_clear()
    gcs.client.cache_clear()


def _registry(work: Path, scheme: str) -> tuple[str, int]:
    work.mkdir(parents=True, exist_ok=True)
    registry = f"{scheme}://bucket/{uuid.uuid4().hex}"
    return registry, push(fake_model(work / uuid.uuid4().hex), registry, blessed_record()).number


def _at_once(work: Path, actions: list[Callable[[], object]]) -> tuple[list[int], list[str]]:
    logs = [work / f"said-{number}.txt" for number in range(len(actions))]
    with ThreadPoolExecutor(len(actions)) as pool:
        ends = [pool.submit(run_until, a, log=log) for a, log in zip(actions, logs, strict=True)]
        codes = [end.result() for end in ends]
    return codes, [log.read_text() for log in logs]


@contextlib.contextmanager
def _reader(registry: str, first: int) -> Iterator[list[str]]:
    """Looks again and again; the list has what it saw and should not have."""
    lost: list[str] = []
    done = threading.Event()

    def read() -> None:
        last = first
        while not done.is_set():
            try:
                found, served = newest(registry, verify=True), in_service(registry)
            except Exception as error:
                lost.append(f"a reader met {type(error).__name__}: {error}")
                return
            if found is None or found.number < last:
                lost.append(f"a reader found {found and found.number} after {last}")
                return
            if served.version < last:
                lost.append(f"a reader saw {served} served after {last}")
                return
            last = found.number

    thread = threading.Thread(target=read)
    thread.start()
    try:
        yield lost
    finally:
        done.set()
        thread.join()


def _not_served(registry: str, count: int) -> Iterator[str]:
    """Unless so many versions are there, all whole, and the last of them is served."""
    numbers = list_versions(registry)
    whole = [n for n in numbers if storage.exists(f"{registry}/{n}/{MODEL_FILE}")]
    if len(whole) != count or in_service(registry).version != whole[-1]:
        yield f"of versions {numbers} {whole} are whole, and {in_service(registry)} is served"
