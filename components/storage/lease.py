"""A lock in an object store: a lease, which its holder renews by conditional writes.

Nothing there ends with a process, so the holder raises a counter, and whoever waits takes the lease
over once the counter has stood still for long enough on the clock of the one who looks. Clocks are
never compared. On the holder's own machine a killed process is seen immediately.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from yt8m.components.storage import files
from yt8m.components.storage.lock import LockedError
from yt8m.schemas.errors import Yt8mError

_RENEW_S = 10.0
_LOOK_S = 1.0
_STANDS_STILL_S = 60.0  # then its holder is gone
_SEEN_ALIVE_S = 15.0  # within which a holder that is there has renewed it
_LOST_AFTER_S = 40.0  # without a renewal; less than others wait
_log = logging.getLogger(__name__)


class LeaseLostError(Yt8mError):
    """Somebody else may hold the lease by now."""


@dataclass(frozen=True, kw_only=True)
class _Holder:
    owner: str
    said: str  # what the holder says of itself
    machine: str  # of the process; another machine's cannot be looked at
    pid: int
    began: str
    count: int = 0

    def to_bytes(self) -> bytes:
        return json.dumps(dataclasses.asdict(self)).encode()

    @property
    def is_dead(self) -> bool:
        """Whether it was a process of this machine that is not there any more."""
        return self.machine == _machine() and self.began != _began(self.pid)


_UNKNOWN = _Holder(owner="", said="", machine="", pid=0, began="")


@dataclass(frozen=True)
class _Entry:
    holder: _Holder | None
    tag: str | None


class Lease:
    """A lease that is held; renewed by a thread of its own until the block ends."""

    def __init__(
        self, uri: str, holder: _Holder, tag: str, *, on_lost: Callable[[], None] | None
    ) -> None:
        self._uri, self._holder, self._tag, self._on_lost = uri, holder, tag, on_lost
        self._renewed, self._taken = time.monotonic(), False
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._renew, name="lease", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """LeaseLostError where somebody else may have begun here."""
        if self._taken:
            raise LeaseLostError(f"{self._uri}: another process has taken it over; end it first")
        silent = time.monotonic() - self._renewed
        if silent > _LOST_AFTER_S:
            raise LeaseLostError(
                f"{self._uri}: it could not be renewed for {silent:.0f} s, so another process may "
                "have begun here; see to the storage, and give the same command again"
            )

    def release(self) -> None:
        """Leave the lease to others; what was done under it stands if that fails."""
        self._ended.set()
        self._thread.join()
        with contextlib.suppress(OSError):
            files.write_if(self._uri, b"", tag=self._tag)

    def _renew(self) -> None:
        while not self._ended.wait(_RENEW_S):
            began = time.monotonic()
            self._holder = dataclasses.replace(self._holder, count=self._holder.count + 1)
            try:
                if self._written():
                    self._renewed = began
                else:
                    self._taken = True
            except OSError as error:
                _log.warning("%s: the lease was not renewed: %s", self._uri, error)
            if self._is_lost():
                return

    def _is_lost(self) -> bool:
        try:
            self.check()
        except LeaseLostError as error:
            _log.error("%s", error)
            if self._on_lost is not None:
                self._on_lost()
            return True
        return False

    def _written(self) -> bool:
        """Whether the lease is still ours; a write whose answer was lost is found again."""
        wrote = files.write_if(self._uri, self._holder.to_bytes(), tag=self._tag)
        entry = _read(self._uri)
        if entry.holder is None or entry.holder.owner != self._holder.owner:
            return False
        self._tag = entry.tag or ""
        return wrote or files.write_if(self._uri, self._holder.to_bytes(), tag=self._tag)


@contextlib.contextmanager
def held_lease(
    uri: str, *, said: str, wait_s: float = 0.0, on_lost: Callable[[], None] | None = None
) -> Iterator[Lease]:
    """Hold `uri` for the time of the block; LockedError where another holds it after `wait_s`.

    One that does not renew it is waited for in any case, until it counts as gone.
    """
    own = _Holder(
        owner=uuid.uuid4().hex,
        said=said,
        machine=_machine(),
        pid=os.getpid(),
        began=_began(os.getpid()),
    )
    lease = Lease(uri, own, _acquire(uri, own, wait_s), on_lost=on_lost)
    try:
        yield lease
    finally:
        lease.release()


def is_leased(uri: str) -> bool:
    """Whether somebody holds the lease now; another machine's holder is waited for to renew it."""
    first = _read(uri)
    began = time.monotonic()
    while first.holder is not None and not first.holder.is_dead:
        if first.holder.machine == _machine() or _read(uri).tag != first.tag:
            return _read(uri).holder is not None
        if time.monotonic() - began > _SEEN_ALIVE_S:
            return False
        time.sleep(_LOOK_S)
    return False


def _acquire(uri: str, own: _Holder, wait_s: float) -> str:
    """The tag of our own entry."""
    began = since = time.monotonic()
    before = _read(uri)
    entry = before
    while True:
        holder, now = entry.holder, time.monotonic()
        if entry.tag != before.tag:
            before, since = entry, now
            if holder is not None and now - began > wait_s:
                raise LockedError(holder.said)
        is_free = holder is None or holder.is_dead or now - since > _STANDS_STILL_S
        if is_free and files.write_if(uri, own.to_bytes(), tag=entry.tag):
            return _own_tag(uri, own)
        is_here = holder is not None and holder.machine == own.machine
        if holder is not None and is_here and not is_free and now - began > wait_s:
            raise LockedError(holder.said)
        if not is_free:
            time.sleep(_LOOK_S)
        entry = _read(uri)


def _own_tag(uri: str, own: _Holder) -> str:
    entry = _read(uri)
    if entry.holder is None or entry.holder.owner != own.owner:
        raise LeaseLostError(f"{uri}: another process has taken it over")
    return entry.tag or ""


def _read(uri: str) -> _Entry:
    tagged = files.read_tagged(uri)
    if tagged is None:
        return _Entry(None, None)
    content, tag = tagged
    try:
        return _Entry(_Holder(**json.loads(content)), tag)
    except (ValueError, TypeError):  # released, or of a newer yt8m
        return _Entry(_UNKNOWN if content else None, tag)


def _machine() -> str:
    """The same for processes that see each other's numbers, and for no others."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:  # no Linux: then every holder is waited for
        return uuid.uuid4().hex


def _began(pid: int) -> str:
    """When the process began, "" where there is none: numbers are given again."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    state, *fields = text.rpartition(")")[2].split()
    return "" if state in "ZX" else fields[18]
