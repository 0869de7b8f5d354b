"""Heartbeat file of the process that started a training on other machines and follows it.

Kubeflow's launcher kills a Trainer without a word, so nothing can be done at its end. What it no
longer does is seen instead. Clocks of two machines are never compared: a process measures how long
it has seen no change itself.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from yt8m.components import storage
from yt8m.schemas.errors import EXIT_ABANDONED, Yt8mError

FILE_NAME = "heartbeat"
_ENDED = ".ended"  # beside it: the sign after which a process ended itself
_LOOKS = 10  # in the time after which a training is abandoned
_log = logging.getLogger(__name__)


class Abandoned(Yt8mError):  # noqa: N818  (names what was found)
    """Nobody follows this training any more; its state is saved."""

    exit_code = EXIT_ABANDONED


@contextmanager
def sending_heartbeats(path: str, *, every_s: float) -> Iterator[None]:
    """Renew the sign at `path` until the block ends, whatever else this process waits for."""
    done = threading.Event()

    def renew() -> None:
        while True:
            try:
                storage.write_text(path, uuid.uuid4().hex)
            except OSError as error:
                _log.warning("the heartbeat %s cannot be renewed: %s", path, error)
            if done.wait(every_s):
                return

    thread = threading.Thread(target=renew, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


class Pulse:
    """Whether somebody renews a heartbeat: it changed within the last `within_s`, seen from here.

    Not known before it was looked at for that long.
    """

    def __init__(self, path: str, *, within_s: float, now: Callable[[], float]) -> None:
        self._path, self._within_s, self._now = path, within_s, now
        self._sign, self._since = _read(path), now()
        self._has_changed = False

    def beats(self) -> bool | None:
        """None as long as it is not known."""
        if not self._path:
            return False
        now, sign = self._now(), _read(self._path)
        if sign and sign != self._sign:
            self._sign, self._since, self._has_changed = sign, now, True
        if now - self._since < self._within_s:
            return self._has_changed or None
        return False


class Watch:
    """Looks at a heartbeat from time to time; without a path there is nothing to see."""

    def __init__(
        self, path: str, *, patience_s: float, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._path, self._patience_s, self._now = path, patience_s, now
        self._is_on = bool(path) and patience_s > 0
        self._sign = _read(path) if self._is_on else ""
        self._changed_at = self._looked_at = now()

    def check(self) -> None:
        """Abandoned where a process before this one found it so, and nothing has changed since."""
        if self._is_on and self._sign and self._sign == _read(self._path + _ENDED):
            raise Abandoned("no Trainer follows this training; an earlier attempt saved its state")

    def is_abandoned(self) -> bool:
        """True once the sign has not changed for as long as it may."""
        if not self._is_on:
            return False
        now = self._now()
        if now - self._looked_at >= self._patience_s / _LOOKS:
            self._looked_at = now
            sign = _read(self._path)
            if sign and sign != self._sign:
                self._sign, self._changed_at = sign, now
        return now - self._changed_at >= self._patience_s

    def end(self, message: str) -> None:
        """Raise Abandoned, and let those that are started after this process do so immediately."""
        storage.write_text(self._path + _ENDED, self._sign)
        raise Abandoned(
            f"no Trainer has followed this training for {self._patience_s:.0f} s "
            f"(trainer.backend.abandoned_after_s): {message}"
        )


def _read(path: str) -> str:
    if not path:
        return ""
    try:
        return storage.read_text(path)
    except OSError:  # not there (yet), or a storage that is away: no change is seen
        return ""
