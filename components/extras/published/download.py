"""Files from a server to a folder: several in parallel, continued where they stopped, verified."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Protocol, TypeVar

from yt8m.components.extras.published.http import (
    RangeError,
    TemporaryError,
    open_url,
    read_url,
)
from yt8m.components.storage.errors import StorageError
from yt8m.components.storage.local import flush_to_disk, naming_full_disk
from yt8m.components.storage.retry import Backoff
from yt8m.schemas.errors import DataError, UserError

T = TypeVar("T")
_READ_BYTES = 1 << 20
_SIZES_ASKED = 32  # of more files the mean of so many, spread over all, is taken
_MARGIN = 1.05  # of the estimate, and of what a file system needs beside the bytes
_GB = 1e9
_POLL_S = 0.2


class Hash(Protocol):
    """One of hashlib's."""

    def update(self, data: bytes, /) -> None: ...
    def hexdigest(self) -> str: ...


@dataclass(frozen=True, kw_only=True)
class Download:
    """Files to fetch, and the number of attempts."""

    files: Mapping[str, str]  # MD5 by name
    url_of: Callable[[str], str]
    out: Path
    workers: int = 8
    backoff: Backoff = field(default_factory=Backoff)
    free_bytes: Callable[[Path], int] = lambda path: shutil.disk_usage(path).free


@dataclass(frozen=True, kw_only=True)
class Downloaded:
    """Files in the directory after a download."""

    files: int
    fetched: int  # the others were there before
    bytes: int  # that came over the network


def read_with_retries(url: str, backoff: Backoff | None = None) -> bytes:
    """A small file; StorageError where it does not come after all attempts."""
    return _retried(lambda: read_url(url), url, backoff or Backoff())


def download(job: Download, *, advance: Callable[[int], None]) -> Downloaded:
    """Every file complete in `job.out`, with its checksum; `advance(bytes)` after each.

    A file that is there with the right checksum is not fetched; what an earlier run had begun is
    continued.
    """
    job.out.mkdir(parents=True, exist_ok=True)
    stop = threading.Event()
    fetched = received = 0
    with ThreadPoolExecutor(job.workers) as pool:
        there = pool.map(lambda item: _is_complete(job.out / item[0], item[1]), job.files.items())
        missing = [name for name, known in zip(job.files, there, strict=True) if not known]
        for _ in range(len(job.files) - len(missing)):
            advance(0)
        _check_room(job, missing, pool)
        futures = [pool.submit(_fetch, job, name, stop) for name in missing]
        try:
            for future in as_completed(futures):
                count = future.result()
                fetched, received = fetched + 1, received + count
                advance(count)
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return Downloaded(files=len(job.files), fetched=fetched, bytes=received)


def _is_complete(path: Path, md5: str) -> bool:
    return path.is_file() and _hash_of(path).hexdigest() == md5


def _hash_of(path: Path) -> Hash:
    digest = hashlib.md5()
    with path.open("rb") as file:
        while piece := file.read(_READ_BYTES):
            digest.update(piece)
    return digest


def _partial(out: Path, name: str) -> Path:
    return out / f".{name}.partial"


def _check_room(job: Download, missing: list[str], pool: ThreadPoolExecutor) -> None:
    """UserError where the files that are to come would not find room."""
    if not missing:
        return
    step = -(-len(missing) // _SIZES_ASKED)
    asked = missing[::step]
    sizes = list(pool.map(lambda name: _size(job, name), asked))
    partials = (_partial(job.out, name) for name in missing)
    begun = sum(path.stat().st_size for path in partials if path.is_file())
    needed = sum(sizes) / len(sizes) * len(missing) * _MARGIN - begun
    free = job.free_bytes(job.out)
    if needed > free:
        raise UserError(
            f"--out {job.out}: {len(missing)} files need about {needed / _GB:,.1f} GB, and "
            f"{free / _GB:,.1f} GB are free there; make room, or take fewer files with --shard"
        )


def _size(job: Download, name: str) -> int:
    def ask() -> int:
        with open_url(job.url_of(name), method="HEAD") as body:
            return body.total or 0

    return _retried(ask, job.url_of(name), job.backoff, ", or choose another --mirror")


def _fetch(job: Download, name: str, stop: threading.Event) -> int:
    """Bring one file; the number of bytes that came."""
    partial = _partial(job.out, name)
    with _alone(partial, stop):
        if _is_complete(job.out / name, job.files[name]):  # by another process meanwhile
            partial.unlink()
            return 0
        return _fetch_into(partial, job, name, stop)


@contextmanager
def _alone(partial: Path, stop: threading.Event) -> Iterator[None]:
    """No other process writes `partial` during the block; the file itself is the lock."""
    while True:
        with partial.open("ab") as file:
            _lock(file, stop)
            if stop.is_set() or _is_at(file, partial):  # else its holder completed it
                yield
                return


def _lock(file: IO[bytes], stop: threading.Event) -> None:
    while not stop.is_set():
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            stop.wait(_POLL_S)
        except OSError:  # a file system where nothing can be locked
            return
        else:
            return


def _is_at(file: IO[bytes], path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False


def _fetch_into(partial: Path, job: Download, name: str, stop: threading.Event) -> int:
    url, md5 = job.url_of(name), job.files[name]
    received = attempt = wrong = 0
    while not stop.is_set():
        try:
            count = _continue(url, partial, stop)
        except TemporaryError as error:
            received += error.received
            # A connection that brings something may break as often as it likes.
            attempt = 0 if error.received else attempt + 1
            if attempt >= job.backoff.attempts:
                raise StorageError(
                    f"{url}: {error} ({attempt} attempts); the downloaded part is kept: run the "
                    "same command again, or choose another --mirror"
                ) from error
            stop.wait(job.backoff.wait_s(attempt))
            continue
        received += count
        if _hash_of(partial).hexdigest() == md5:
            flush_to_disk(partial)  # the name says that it is whole, after a loss of power too
            partial.replace(job.out / name)
            return received
        wrong += 1
        if wrong > 1:
            partial.unlink()
            raise DataError(
                f"{url}: its MD5 differs from the plan's ({md5}) after two attempts; choose "
                "another --mirror"
            )
        os.truncate(partial, 0)  # not another file, for this one is the lock
    return received


def _continue(url: str, partial: Path, stop: threading.Event) -> int:
    """Bring what of the file is missing; the number of bytes that came."""
    begin = partial.stat().st_size if partial.exists() else 0
    received = 0
    try:
        with open_url(url, begin=begin) as body:
            if begin and not body.is_part:
                begin = 0
            with naming_full_disk(partial), partial.open("ab" if begin else "wb") as file:
                for piece in body.pieces():
                    file.write(piece)
                    received += len(piece)
                    if stop.is_set():
                        break
            if body.total is not None and begin + received < body.total:
                raise TemporaryError(f"{begin + received} of {body.total} bytes came")
    except RangeError:
        pass  # all of it is there, or more than all: the checksum tells
    except TemporaryError as error:
        raise TemporaryError(str(error), received) from error
    return received


def _retried(request: Callable[[], T], url: str, backoff: Backoff, advice: str = "") -> T:
    try:
        return backoff.call(request, again=lambda error: isinstance(error, TemporaryError))
    except TemporaryError as error:
        raise StorageError(f"{url}: {error}; run the same command again{advice}") from error
