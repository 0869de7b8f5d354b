"""Run one training job on a cluster to its end, and come back to it after a restart."""

from __future__ import annotations

import math
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from yt8m.components.trainer.backends import kubernetes_status as status
from yt8m.components.trainer.backends.kubernetes_api import Clock, KubernetesApi
from yt8m.components.trainer.backends.kubernetes_manifest import DIGEST, kind_of
from yt8m.components.trainer.kubernetes_config import KubernetesBackend
from yt8m.schemas.errors import Terminated, UserError, Yt8mError

Say = Callable[[str], None]


def run_to_completion(
    api: KubernetesApi,
    backend: KubernetesBackend,
    manifest: Mapping[str, Any],
    *,
    say: Say,
    before_create: Callable[[], None] = lambda: None,
    clock: Clock | None = None,
    pod: str = "",
) -> None:
    """Create the job, or adopt the one that runs already; return when it has succeeded.

    Cancelling (Ctrl-C, SIGTERM) deletes it. A killed process leaves it running, and the next
    call with the same run key finds it. `before_create` is not called where one is adopted. The
    job belongs to the Workflow of the `pod` that asks: it goes when that is deleted.
    """
    clock = clock or Clock()
    name = str(manifest["metadata"]["name"])
    with _sigterm_raises():
        try:
            owners = api.workflows_of(pod) if pod else []
            metadata = {**manifest["metadata"], "ownerReferences": owners}
            owned = {**manifest, "metadata": metadata} if owners else manifest
            _create_or_adopt(api, owned, say, before_create, clock)
            _follow(api, backend, name, say, clock)
        except (KeyboardInterrupt, Terminated):
            say(f"cancelled: deleting {name}; its checkpoints stay")
            api.delete(name)
            raise


def _create_or_adopt(
    api: KubernetesApi,
    manifest: Mapping[str, Any],
    say: Say,
    before_create: Callable[[], None],
    clock: Clock,
) -> None:
    name = manifest["metadata"]["name"]
    for _ in range(60):
        existing = api.get(name)
        if existing is None:
            before_create()
            if api.create(manifest):
                say(f"created {manifest['kind']} {name}")
                return
            continue  # made by an attempt whose answer was lost, or by a twin: look again
        if "deletionTimestamp" not in existing["metadata"]:
            if _is_usable(existing, manifest):
                say(f"found {manifest['kind']} {name} of an earlier attempt; following it")
                owners = manifest["metadata"].get("ownerReferences")
                if owners and existing["metadata"].get("ownerReferences") != owners:
                    api.set_owners(name, owners)
                return
            say(f"replacing {manifest['kind']} {name}, which failed or was described otherwise")
            api.delete(name)
        clock.sleep(2.0)
    raise Yt8mError(f"{manifest['kind']} {name} is still being deleted; try again later")


def _is_usable(existing: Mapping[str, Any], manifest: Mapping[str, Any]) -> bool:
    was = existing["metadata"].get("annotations", {}).get(DIGEST)
    is_same = was == manifest["metadata"]["annotations"][DIGEST]
    return is_same and status.read_status(existing).phase is not status.Phase.FAILED


def _follow(
    api: KubernetesApi, backend: KubernetesBackend, name: str, say: Say, clock: Clock
) -> None:
    kind = kind_of(backend)
    log = _ChiefLog(api, say, clock)
    deadline = clock.now() + backend.start_timeout_s
    waiting_for = ""
    while True:
        job = api.get(name)
        if job is None:
            raise Yt8mError(f"{kind.kind} {name} was deleted by somebody else while it ran")
        pods = api.pods(name)
        chief = next((p for p in pods if status.is_chief(p, kind)), None)
        if chief is not None and status.has_started(chief):
            deadline = math.inf
            log.read(chief)
        state = status.read_status(job)
        if state.phase is status.Phase.SUCCEEDED:
            return
        if state.phase is status.Phase.FAILED:
            why = status.explain_failure(pods, kind) or state.message or "it does not say why"
            # What a person can put right, and what no restart does.
            failure = UserError if status.is_user_error(pods) else Yt8mError
            raise failure(f"{kind.kind} {name} failed: {why}")
        waiting = status.explain_waiting(pods, kind)
        if waiting and waiting != waiting_for:
            say(f"waiting: {waiting}")
        waiting_for = waiting
        if clock.now() > deadline:
            api.delete(name)
            why = waiting or "its pods were never made; does the operator run?"
            raise Yt8mError(
                f"{kind.kind} {name} did not start within {backend.start_timeout_s:.0f} s "
                f"(trainer.backend.start_timeout_s): {why}"
            )
        clock.sleep(backend.poll_s)


class _ChiefLog:
    """What the chief has said since the last time, line by line."""

    def __init__(self, api: KubernetesApi, say: Say, clock: Clock) -> None:
        self._api, self._say, self._clock = api, say, clock
        self._last_stamp = ""
        self._read_at: float | None = None

    def read(self, chief: Mapping[str, Any]) -> None:
        now = self._clock.now()
        since = None if self._read_at is None else math.ceil(now - self._read_at) + 5
        told = self._last_stamp
        for line in self._api.log(chief["metadata"]["name"], since_s=since).splitlines():
            stamp, _, text = line.partition(" ")
            if stamp > told:  # the stamps have a fixed width
                self._last_stamp = stamp
                self._say(f"chief: {text}")
        self._read_at = now


@contextmanager
def _sigterm_raises() -> Iterator[None]:
    """SIGTERM ends the waiting as Ctrl-C does; only the main thread may arrange that."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(signum: int, frame: object) -> None:
        raise Terminated("terminated; the same run continues from its last checkpoint")

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
