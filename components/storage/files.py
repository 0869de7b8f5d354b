"""The functions that everybody calls; which backend serves a path, its scheme decides."""

from __future__ import annotations

import functools
import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO, cast

from yt8m.components.storage.backend import Backend, Stat
from yt8m.components.storage.local import LocalBackend, replacing
from yt8m.components.storage.objects import ObjectBackend
from yt8m.schemas.errors import UserError

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://")
_KNOWN = "a local path, gs:// or s3://"


def is_local(uri: str) -> bool:
    """Whether `uri` is a path on this machine."""
    return scheme(uri) == ""


def scheme(uri: str) -> str:
    """The kind of storage: the empty text for this machine's files, else gs or s3."""
    match = _SCHEME.match(uri)
    name = match.group(1) if match else ""
    return "" if name == "file" else name


def join(base: str, *parts: str) -> str:
    """`base/part/part`, with exactly one slash between them; an absolute part starts again."""
    for part in parts:
        absolute = part.startswith("/") or _SCHEME.match(part) is not None
        base = part if absolute or not base else f"{base.rstrip('/')}/{part}"
    return base


def open_file(uri: str) -> BinaryIO:
    """A seekable binary file to read; for writing see `atomic_write`."""
    return _backend(uri).open(_path(uri))


def read_range(uri: str, start: int, end: int) -> bytes:
    """The bytes from `start` up to `end`, or those of them that are there; no others are read."""
    with open_file(uri) as file:
        raw = getattr(file, "raw", file)  # the buffer would read ahead
        raw.seek(start)
        return cast(bytes, raw.read(end - start))


def stat(uri: str) -> Stat:
    """Size and time; FileNotFoundError where there is nothing."""
    return _backend(uri).stat(_path(uri))


def exists(uri: str) -> bool:
    """Whether a file or a directory is there; a broken link is not."""
    try:
        stat(uri)
    except FileNotFoundError:
        return False
    return True


def is_dir(uri: str) -> bool:
    """Whether a directory is there."""
    try:
        return stat(uri).is_dir
    except FileNotFoundError:
        return False


def list_dir(uri: str) -> list[str]:
    """Names in the directory, sorted."""
    return _backend(uri).list_dir(_path(uri))


def glob(pattern: str) -> list[str]:
    """URIs that match `*`, `?` and `[...]`, sorted; a star does not cross a slash."""
    return _backend(pattern).glob(_path(pattern))


def find(pattern: str) -> dict[str, Stat]:
    """What `glob` gives, each with its size and time."""
    return _backend(pattern).find(_path(pattern))


def escape(uri: str) -> str:
    """The pattern that matches `uri` alone."""
    return re.sub(r"([*?[])", r"[\1]", uri)


def make_dirs(uri: str) -> None:
    """Create the directory and those above it."""
    _backend(uri).make_dirs(_path(uri))


def remove(uri: str) -> None:
    """One file or link; never what a link points to."""
    _backend(uri).remove(_path(uri))


def remove_tree(uri: str) -> None:
    """A directory and all in it; links go, their targets stay. Nothing there is no error."""
    if is_local(uri) and not os.path.lexists(_path(uri)):
        return
    if is_local(uri) or exists(uri):
        _backend(uri).remove_tree(_path(uri))


def copy(source: str, target: str) -> None:
    """One file, to any kind of storage from any other; complete or absent at the target."""
    if scheme(source) == scheme(target):
        _backend(source).copy(_path(source), _path(target))
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
    if scheme(source) != scheme(target):
        raise ValueError(f"rename {source} to {target}: two kinds of storage; copy instead")
    if exists(target):
        raise FileExistsError(f"{target} exists already")
    backend = _backend(source)
    if backend.atomic_rename or not is_dir(source):
        backend.rename(_path(source), _path(target))
        return
    copy_tree(source, target, last=last)
    backend.remove_tree(_path(source))


def walk_files(uri: str, *, _above: tuple[str, ...] = ()) -> Iterator[str]:
    """Paths of all files below a directory, relative to it, sorted in each directory."""
    above = (*_above, os.path.realpath(_path(uri)) if is_local(uri) else uri)
    if above[-1] in _above:
        raise UserError(f"{uri}: a link to a directory above it; remove it")
    for name in list_dir(uri):
        path = join(uri, name)
        if is_dir(path):
            yield from (f"{name}/{below}" for below in walk_files(path, _above=above))
        else:
            yield name


@contextmanager
def atomic_write(uri: str) -> Iterator[BinaryIO]:
    """A binary file that becomes `uri` when the block ends well, and vanishes otherwise."""
    if is_local(uri):
        with replacing(_path(uri)) as file:
            yield file
        return
    with tempfile.NamedTemporaryFile(prefix="yt8m-") as file:
        yield cast(BinaryIO, file)
        file.flush()
        _backend(uri).put(file.name, uri)


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
    backend = _backend(uri)
    if not isinstance(backend, ObjectBackend):
        raise TypeError(f"{uri}: not in an object store")
    return backend


def _backend(uri: str) -> Backend:
    return _backend_of(scheme(uri))


@functools.cache
def _backend_of(name: str) -> Backend:
    if name == "":
        return LocalBackend()
    if name == "gs":
        from yt8m.components.storage.gcs import GcsBackend

        return GcsBackend()
    if name == "s3":
        from yt8m.components.storage.s3 import S3Backend

        return S3Backend()
    raise UserError(f"{name}:// is not a storage that yt8m supports; use {_KNOWN}")
