"""An object store in this process's memory, as a third scheme beside gs:// and s3://: mem://.

    with memory_store() as store:
        storage.write_text("mem://bucket/a", "1")

`store.requests` has each request as (operation, path). `store.answer`, where it is set, is called
before each: an error that it raises is a request that failed, one that it returns is a request that
was done and whose answer was lost.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from yt8m.components.registry import readings
from yt8m.components.storage import schemes
from yt8m.components.storage.backend import Stat
from yt8m.components.storage.objects import ObjectBackend, ObjectFile, folder, split


class MemoryBackend(ObjectBackend):
    """Objects by bucket and name, each with the number of its writing for a tag."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], tuple[bytes, Stat]] = {}
        self.requests: list[tuple[str, str]] = []
        self.answer: Callable[[str, str], Exception | None] | None = None
        self.now = time.time  # by which it dates what is written
        self._tags = itertools.count(1)

    def put(self, local_path: str, path: str) -> None:
        with self._request("put", path):
            self.store(*split(path), Path(local_path).read_bytes())

    def stat(self, path: str) -> Stat:
        with self._request("stat", path):
            if split(path) in self.objects:
                return self.objects[split(path)][1]
            below = self._below(path)
            if not below:
                raise FileNotFoundError(f"{path} does not exist")
            return Stat(0, below[0][1].mtime, is_dir=True)

    def list_dir(self, path: str) -> list[str]:
        with self._request("list", path):
            names = {rest.split("/")[0] for rest, _ in self._below(path)}
            if not names:
                raise FileNotFoundError(f"{path} does not exist")
            return sorted(names)

    def list_directories(self, path: str) -> list[str]:
        with self._request("list", path):
            return sorted({rest.split("/")[0] for rest, _ in self._below(path) if "/" in rest})

    def copy(self, source: str, target: str) -> None:
        with self._request("copy", target):
            self.store(*split(target), self._content(source))

    def remove(self, path: str) -> None:
        with self._request("remove", path):
            self._content(path)
            del self.objects[split(path)]

    def remove_tree(self, path: str) -> None:
        with self._request("remove", path):
            bucket, key = split(path)
            for rest, _ in self._below(path):
                del self.objects[bucket, folder(key) + rest]

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        with self._request("read", path):
            found = self.objects.get(split(path))
            return None if found is None else (found[0], found[1].tag)

    def write_if(self, path: str, data: bytes, *, tag: str | None) -> bool:
        with self._request("write_if", path):
            found = self.objects.get(split(path))
            if (found[1].tag if found else None) != tag:
                return False
            self.store(*split(path), data)
            return True

    def _file(self, path: str, found: Stat) -> ObjectFile:
        with self._request("read", path):
            return _MemoryObject(path, found, self._content(path))

    def _listed(self, path: str, prefix: str) -> Iterator[tuple[str, Stat]]:
        with self._request("list", path):
            bucket = split(path)[0]
            found = self._starting(bucket, prefix)
        yield from found

    @contextmanager
    def _request(self, operation: str, path: str) -> Iterator[None]:
        self.requests.append((operation, path))
        lost = self.answer(operation, path) if self.answer is not None else None
        yield
        if lost is not None:
            raise lost

    def _starting(self, bucket: str, prefix: str) -> list[tuple[str, Stat]]:
        known = [(key, stat) for (b, key), (_, stat) in list(self.objects.items()) if b == bucket]
        return sorted((key, stat) for key, stat in known if key.startswith(prefix))

    def _below(self, path: str) -> list[tuple[str, Stat]]:
        """What is in the folder `path`, by the rest of each name."""
        prefix = folder(split(path)[1])
        found = self._starting(split(path)[0], prefix)
        return [(key.removeprefix(prefix), stat) for key, stat in found]

    def _content(self, path: str) -> bytes:
        try:
            return self.objects[split(path)][0]
        except KeyError:
            raise FileNotFoundError(f"{path} does not exist") from None

    def store(self, bucket: str, key: str, data: bytes) -> Stat:
        """Write an object without a request."""
        stat = Stat(len(data), self.now(), tag=str(next(self._tags)))
        self.objects[bucket, key] = (data, stat)
        return stat


class _MemoryObject(ObjectFile):
    def __init__(self, path: str, found: Stat, data: bytes) -> None:
        super().__init__(path, found)
        self._data = data

    def _fill(self, view: memoryview, start: int, end: int) -> None:
        view[: end - start] = self._data[start:end]
        self._at = end


@contextmanager
def memory_store() -> Iterator[MemoryBackend]:
    """An empty store behind mem://, by one more row in the table of schemes."""
    store = MemoryBackend()
    with (
        mock.patch.object(schemes, "BACKENDS", {**schemes.BACKENDS, "mem": store}),
        mock.patch.object(readings, "pause_s", 0.0),
    ):
        yield store
