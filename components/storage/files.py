"""The functions that everybody calls; which backend serves a path, its scheme decides."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import BinaryIO

from yt8m.components.storage.backend import Stat
from yt8m.components.storage.local import flush_to_disk
from yt8m.components.storage.objects import ObjectBackend
from yt8m.components.storage.schemes import backend_of, has_scheme
from yt8m.schemas.errors import UserError


def local_path(uri: str) -> Path | None:
    """The path of `uri` on this machine, for libraries and system calls; None where it has none."""
    return backend_of(uri).local_path(_path(uri))


def absolute(uri: str) -> str:
    """The same place, named so that it does not depend on the working directory."""
    return backend_of(uri).absolute(_path(uri))


def real_name(uri: str) -> str:
    """One name for a place that has several, by links or by how it is written."""
    local = local_path(uri)
    return uri.rstrip("/") if local is None else os.path.realpath(local)  # of a loop, too


def unwritable(directory: str) -> str:
    """Why nothing can be written there, "" where something can; a missing one is created."""
    return backend_of(directory).unwritable(_path(directory))


def free_bytes(directory: str) -> int | None:
    """Free space; None where there is no limit, or no directory."""
    return backend_of(directory).free_bytes(_path(directory))


def join(base: str, *parts: str) -> str:
    """`base/part/part`, with exactly one slash between them; an absolute part starts again."""
    for part in parts:
        starts_again = part.startswith("/") or has_scheme(part)
        base = part if starts_again or not base else f"{base.rstrip('/')}/{part}"
    return base


def open_file(uri: str) -> BinaryIO:
    """A seekable binary file to read; for writing see `atomic_write`."""
    return backend_of(uri).open(_path(uri))


@contextmanager
def open_ranges(uri: str) -> Iterator[BinaryIO]:
    """A seekable file without read-ahead: of an object each `read` is a request of that range."""
    with open_file(uri) as file:
        yield getattr(file, "raw", file)


def read_range(uri: str, start: int, end: int) -> bytes:
    """The bytes from `start` up to `end`, or those of them that are there; no others are read."""
    with open_ranges(uri) as file:
        file.seek(start)
        return file.read(end - start)


def stat(uri: str) -> Stat:
    """Size and time; FileNotFoundError where there is nothing."""
    return backend_of(uri).stat(_path(uri))


def exists(uri: str) -> bool:
    """Whether a file or a directory is there; a broken link is not."""
    try:
        stat(uri)
    except (FileNotFoundError, NotADirectoryError):  # nothing is below a file
        return False
    return True


def is_dir(uri: str) -> bool:
    """Whether a directory is there."""
    try:
        return stat(uri).is_dir
    except (FileNotFoundError, NotADirectoryError):
        return False


def is_same(one: str, other: str) -> bool:
    """Whether two names mean one file or directory that is there; links are followed."""
    here, there = local_path(one), local_path(other)
    if here is None or there is None:
        return absolute(one).rstrip("/") == absolute(other).rstrip("/")
    return here.exists() and there.exists() and here.samefile(there)


def is_within(uri: str, directory: str) -> bool:
    """Whether `uri`, which need not be there, is the directory or below it."""
    path = local_path(uri)
    if path is None:
        return f"{uri.rstrip('/')}/".startswith(f"{directory.rstrip('/')}/")
    path = path.resolve()
    return any(is_same(str(above), directory) for above in (path, *path.parents))


def list_dir(uri: str) -> list[str]:
    """Names in the directory, sorted."""
    return backend_of(uri).list_dir(_path(uri))


def listed_sizes(uri: str) -> dict[str, int]:
    """Sizes of the files below a directory where one listing tells them, else nothing."""
    return backend_of(uri).listed_sizes(_path(uri))


def listed(uri: str) -> dict[str, Stat]:
    """In an object store: the object `uri`, else all below it, by address."""
    return _objects(uri).listed(uri)


def list_directories(uri: str) -> list[str]:
    """Names of the directories in the directory, sorted; none where nothing is."""
    return backend_of(uri).list_directories(_path(uri))


def glob(pattern: str) -> list[str]:
    """URIs that match `*`, `?` and `[...]`, sorted; a star does not cross a slash."""
    return backend_of(pattern).glob(_path(pattern))


def find(pattern: str) -> dict[str, Stat]:
    """The files that `glob` finds, each with its size and time."""
    return backend_of(pattern).find(_path(pattern))


def escape(uri: str) -> str:
    """The pattern that matches `uri` alone."""
    return re.sub(r"([*?[])", r"[\1]", uri)


def wildcards(uri: str) -> str:
    """The characters of `uri` that TensorFlow and TFX, which search by patterns, misread."""
    return " ".join(sorted({*"*?[\\"} & {*uri}))


def make_dirs(uri: str) -> None:
    """Create the directory and those above it."""
    backend_of(uri).make_dirs(_path(uri))


def remove(uri: str) -> None:
    """One file or link; never what a link points to."""
    backend_of(uri).remove(_path(uri))


def remove_tree(uri: str) -> None:
    """A directory and all in it; links go, their targets stay. Nothing there is no error."""
    backend_of(uri).remove_tree(_path(uri))


def touch(uri: str) -> None:
    """Renew the file's time where that is cheap; an object keeps that of its writing."""
    backend_of(uri).touch(_path(uri))


def link(source: str, target: str) -> None:
    """Make `target` a symbolic link to the file `source`, in place of one that is there."""
    there, here = local_path(source), local_path(target)
    if there is None or here is None:
        raise UserError(f"{source if there is None else target}: cannot be linked")
    here.unlink(missing_ok=True)
    here.symlink_to(there.resolve())


def hard_link(source: str, target: str) -> None:
    """Give the file `source` a second name, `target`, which takes no space; else copy it.

    A copy is made where the two are on different storage, and where the file system refuses: it
    has no hard links, or the file belongs to someone else. Neither name may be written in place.
    """
    there, here = local_path(source), local_path(target)
    if there is not None and here is not None:
        here.parent.mkdir(parents=True, exist_ok=True)
        here.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            here.hardlink_to(there.resolve())
            return
    copy(source, target)


def copy(source: str, target: str) -> None:
    """One file, to any kind of storage from any other; complete or absent at the target."""
    if backend_of(source) is backend_of(target):
        backend_of(source).copy(_path(source), _path(target))
        return
    with open_file(source) as reader, atomic_write(target) as writer:
        while block := reader.read(1 << 20):
            writer.write(block)


def copy_tree(source: str, target: str, *, last: str | None = None) -> None:
    """All files below `source`. `last`, a path below it, is written after everything else."""
    names = [name for name in walk_files(source) if name != last]
    for name in [*names, *([last] if last is not None else [])]:
        copy(join(source, name), join(target, name))


def rename(source: str, target: str, *, last: str | None = None) -> None:
    """Move a file or a directory to a name that is free.

    Locally this is one action. Object stores have no such thing: there the files appear one by
    one, and `last`, the path below `source` by which readers recognise completeness, after all
    the others.
    """
    if backend_of(source) is not backend_of(target):
        raise ValueError(f"rename {source} to {target}: two kinds of storage; copy instead")
    if exists(target):
        raise FileExistsError(f"{target} exists already")
    backend = backend_of(source)
    if backend.atomic_rename or not is_dir(source):
        backend.rename(_path(source), _path(target))
        return
    copy_tree(source, target, last=last)
    backend.remove_tree(_path(source))


def walk_files(uri: str) -> Iterator[str]:
    """Paths of all files below a directory, relative to it, sorted in each directory."""
    return backend_of(uri).walk(_path(uri))


def atomic_write(uri: str) -> AbstractContextManager[BinaryIO]:
    """A binary file that becomes `uri` when the block ends well, and vanishes otherwise."""
    return backend_of(uri).write(_path(uri))


def append(uri: str) -> BinaryIO:
    """A binary file that grows; readers see what was flushed, of an object seconds later."""
    return backend_of(uri).append(_path(uri))


@contextmanager
def atomic_tree(uri: str, *, last: str | None = None) -> Iterator[str]:
    """A local path for a library to write a directory to, which becomes `uri`, over what is there.

    Of a link to a directory, that directory is replaced. `last` is as in `rename`.
    """
    there = local_path(uri)
    target = Path(os.path.realpath(there)) if there is not None else None
    parent = target.parent if target is not None else None
    if parent is not None:
        parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".yt8m-tree-", dir=parent) as staging:
        tree = join(staging, "tree")
        yield tree
        if target is not None:
            # As `write` does: after a loss of power no name stands for less than was written.
            for path in Path(tree).rglob("*"):
                if path.is_file():
                    flush_to_disk(path)
            _replace_tree(target, Path(tree), before=Path(staging) / "before")
        else:
            remove_tree(uri)
            copy_tree(tree, uri, last=last)


def _replace_tree(target: Path, tree: Path, *, before: Path) -> None:
    """Put `tree` in the place of what is at `target`, which stays where that cannot be done."""
    there = os.path.lexists(target)
    if there:
        target.rename(before)
    try:
        tree.rename(target)
    except OSError:
        if there:
            before.rename(target)
        raise


def read_bytes(uri: str) -> bytes:
    """The whole content."""
    with open_file(uri) as file:
        return file.read()


def read_text(uri: str) -> str:
    """The whole content as UTF-8."""
    return read_bytes(uri).decode("utf-8")


def write_bytes(uri: str, data: bytes) -> None:
    """Replace the content, atomically."""
    with atomic_write(uri) as file:
        file.write(data)


def write_text(uri: str, text: str) -> None:
    """Replace the content with UTF-8 text, atomically."""
    write_bytes(uri, text.encode("utf-8"))


def read_tagged(uri: str) -> tuple[bytes, str] | None:
    """In an object store: the content with a tag that changes whenever it does, or None."""
    return _objects(uri).read_tagged(uri)


def write_if(uri: str, data: bytes, *, tag: str | None) -> bool:
    """There: write if the object still has `tag` (None: is still absent); whether it was done.

    So writers agree who have no locks: of two, one succeeds.
    """
    return _objects(uri).write_if(uri, data, tag=tag)


def _path(uri: str) -> str:
    return uri.removeprefix("file://")


def _objects(uri: str) -> ObjectBackend:
    backend = backend_of(uri)
    if not isinstance(backend, ObjectBackend):
        raise TypeError(f"{uri}: not in an object store")
    return backend
