"""An object store in this process's memory, as a third scheme beside gs:// and s3://: mem://.

    with memory_store() as store:
        storage.write_text("mem://bucket/a", "1")

`store.requests` has each request as (operation, path); `store.answer`, where it is set, is called
before each one and may raise, or answer something else.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from yt8m.components.storage import schemes
from yt8m.components.storage.backend import Stat
from yt8m.components.storage.objects import ObjectBackend, ObjectFile, folder, split


class MemoryBackend(ObjectBackend):
    """Objects by bucket and name, each with the number of its writing for a tag."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], tuple[bytes, Stat]] = {}
        self.requests: list[tuple[str, str]] = []
        self.answer: Callable[[str, str], object] | None = None
        self._tags = itertools.count(1)

    def put(self, local_path: str, path: str) -> None:
        self._request("put", path)
        self._store(path, Path(local_path).read_bytes())

    def stat(self, path: str) -> Stat:
        self._request("stat", path)
        bucket, key = split(path)
        if (bucket, key) in self.objects:
            return self.objects[bucket, key][1]
        below = [stat for (_, name), (_, stat) in self._below(bucket, folder(key))]
        if not below:
            raise FileNotFoundError(f"{path} does not exist")
        return Stat(0, below[0].mtime, is_dir=True)

    def list_dir(self, path: str) -> list[str]:
        self._request("list", path)
        bucket, key = split(path)
        prefix = folder(key)
        names = {
            name.removeprefix(prefix).split("/")[0] for (_, name), _ in self._below(bucket, prefix)
        }
        if not names:
            raise FileNotFoundError(f"{path} does not exist")
        return sorted(names)

    def copy(self, source: str, target: str) -> None:
        self._request("copy", target)
        self._store(target, self._content(source))

    def remove(self, path: str) -> None:
        self._request("remove", path)
        self._content(path)
        del self.objects[split(path)]

    def remove_tree(self, path: str) -> None:
        self._request("remove", path)
        bucket, key = split(path)
        for name, _ in self._below(bucket, folder(key)):
            del self.objects[name]

    def read_tagged(self, path: str) -> tuple[bytes, str] | None:
        self._request("read", path)
        found = self.objects.get(split(path))
        return None if found is None else (found[0], found[1].tag)

    def write_if(self, path: str, data: bytes, *, tag: str | None) -> bool:
        self._request("write_if", path)
        found = self.objects.get(split(path))
        if (found[1].tag if found else None) != tag:
            return False
        self._store(path, data)
        return True

    def _file(self, path: str, found: Stat) -> ObjectFile:
        self._request("read", path)
        return _MemoryObject(path, found, self._content(path))

    def _listed(self, path: str, prefix: str) -> Iterator[tuple[str, Stat]]:
        self._request("list", path)
        for (_, name), (_, stat) in self._below(split(path)[0], prefix):
            yield name, stat

    def _request(self, operation: str, path: str) -> None:
        self.requests.append((operation, path))
        if self.answer is not None:
            self.answer(operation, path)

    def _below(self, bucket: str, prefix: str) -> list[tuple[tuple[str, str], tuple[bytes, Stat]]]:
        return sorted(
            (name, found)
            for name, found in self.objects.items()
            if name[0] == bucket and name[1].startswith(prefix)
        )

    def _content(self, path: str) -> bytes:
        try:
            return self.objects[split(path)][0]
        except KeyError:
            raise FileNotFoundError(f"{path} does not exist") from None

    def _store(self, path: str, data: bytes) -> None:
        stat = Stat(len(data), time.time(), tag=str(next(self._tags)))
        self.objects[split(path)] = (data, stat)


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
    with mock.patch.object(schemes, "BACKENDS", {**schemes.BACKENDS, "mem": store}):
        yield store
