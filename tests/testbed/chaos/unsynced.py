"""Crashes of the machine: what was not flushed to the disk is not there afterwards.

A recording layer under `os`. It remembers what each `fsync` has put on the disk, and before every
change of a name it builds what a crash at this moment may leave, in two ways:

- every name is there, and of a file's content only what was flushed (a file system that writes
  names before contents);
- of a directory, too, only the names that were there when it was flushed.

Nothing half-written may be seen in either; what is said to be done must be there in the second.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

from registry_models import blessed_record, fake_model

from chaos.trials import Trial
from chaos.writers import REGISTRY_WRITERS, RUN_RECORDS, Writer, registry_flaws
from yt8m.components.registry.push import push
from yt8m.components.registry.versions import list_baselines, list_versions

_CHANGES = ("rename", "replace", "mkdir", "unlink", "rmdir", "link")
CRASH = "power cut"
_Names = dict[str, tuple[int, bool]]  # inode, and whether it is a directory


def unsynced(work: Path, chance: random.Random) -> Iterator[Trial]:
    """Each change of a registry, and of a run's records, cut off before each change of a name."""
    for writer in (_FIRST_PUSH, *REGISTRY_WRITERS, RUN_RECORDS):
        yield from _crashes(writer, work)


def _crashes(writer: Writer, work: Path) -> Iterator[Trial]:
    here, crashed = work / "here", work / "crashed"
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir(parents=True)
    writer.prepare(here)
    disk = Disk(here)
    trials: list[list[str]] = []

    def look() -> None:
        for keeps_names in (True, False):
            disk.rebuild(crashed, keeps_names=keeps_names)
            trials.append(list(writer.flaws(crashed)))

    with contextlib.closing(disk), disk.recording(before_change=look):
        writer.write(here)
    look()
    trials[-1] += _not_there(here, crashed)
    for lost in trials:
        yield Trial(kind="unsynced", part=writer.part, blow=CRASH, lost=lost)


def _not_there(here: Path, crashed: Path) -> Iterator[str]:
    """Versions of `here` that are said to be pushed and were lost."""
    for registry in ("push", "a/push"):
        for numbers in (list_versions, list_baselines):
            lost = set(numbers(str(here / registry))) - set(numbers(str(crashed / registry)))
            if lost:
                yield f"versions {sorted(lost)} are said to be there and are lost"


_FIRST_PUSH = Writer(
    part="first push",
    prepare=lambda here: fake_model(here / "new"),
    write=lambda here: push(str(here / "new"), str(here / "a" / "push"), blessed_record()),
    flaws=lambda here: registry_flaws(str(here / "a" / "push"), foreign=None),
    result=lambda here: list_versions(str(here / "a" / "push")),
)


class Disk:
    """What of a directory is on the disk. All that is there at first is."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._contents: dict[int, bytes] = {}
        self._names: dict[int, _Names] = {}
        self._held: list[int] = []  # descriptors, so that no inode's number is used again
        for path in (root, *root.rglob("*")):
            self._note(path)

    def recording(self, *, before_change: Callable[[], None]) -> ExitStack:
        """In the block flushes are recorded, and `before_change` is called as names change."""
        stack = ExitStack()
        flush = os.fsync

        def fsync(descriptor: Any) -> None:
            flush(descriptor)
            number = descriptor if isinstance(descriptor, int) else descriptor.fileno()
            path = Path(f"/proc/self/fd/{number}").readlink()
            if path.is_relative_to(self._root):
                self._note(path)

        stack.enter_context(mock.patch.object(os, "fsync", fsync))
        for name in _CHANGES:
            change = getattr(os, name)

            def changed(*words: Any, _change: Callable[..., Any] = change, **more: Any) -> Any:
                before_change()
                return _change(*words, **more)

            stack.enter_context(mock.patch.object(os, name, changed))
        return stack

    def rebuild(self, target: Path, *, keeps_names: bool) -> None:
        """What a crash now leaves, at `target`."""
        with mock.patch.multiple(os, **_REAL):  # this is no change of the recorded directory
            shutil.rmtree(target, ignore_errors=True)
            self._rebuild(self._root, self._root.stat().st_ino, target, keeps_names)

    def _rebuild(self, path: Path, inode: int, target: Path, keeps_names: bool) -> None:
        target.mkdir()
        names = _names_in(path) if keeps_names else self._names.get(inode, {})
        for name, (number, is_directory) in names.items():
            if is_directory:
                self._rebuild(path / name, number, target / name, keeps_names)
            else:
                (target / name).write_bytes(self._contents.get(number, b""))

    def _note(self, path: Path) -> None:
        if path.is_symlink():
            return
        self._held.append(os.open(path, os.O_RDONLY))
        inode = path.stat().st_ino
        if path.is_dir():
            self._names[inode] = _names_in(path)
        else:
            self._contents[inode] = path.read_bytes()

    def close(self) -> None:
        for descriptor in self._held:
            os.close(descriptor)


_REAL = {name: getattr(os, name) for name in _CHANGES}


def _names_in(path: Path) -> _Names:
    return {
        entry.name: (entry.inode(), entry.is_dir())
        for entry in os.scandir(path)
        if not entry.is_symlink()
    }
