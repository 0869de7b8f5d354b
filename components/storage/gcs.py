"""gs:// and whatever else TensorFlow's own file IO reads. TensorFlow is imported on first use."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from yt8m.components.storage.backend import Stat
from yt8m.components.storage.errors import OF_THE_FILE
from yt8m.components.storage.retry import Backoff


class GfileBackend:
    """Objects reached through tf.io.gfile."""

    atomic_rename = False

    def open(self, path: str) -> BinaryIO:
        gfile = _gfile()
        with _translated(path):
            gfile.stat(path)  # GFile itself opens lazily, so a missing file would show late
            raw = gfile.GFile(path, "rb")
        return cast(BinaryIO, io.BufferedReader(_Raw(path, raw), buffer_size=1 << 20))

    def put(self, local_path: str, path: str) -> None:
        with _translated(path):
            _gfile().copy(local_path, path, overwrite=True)

    def stat(self, path: str) -> Stat:
        with _translated(path):
            found = _gfile().stat(path)
            is_dir = _gfile().isdir(path)
        return Stat(0 if is_dir else found.length, found.mtime_nsec / 1e9, is_dir)

    def list_dir(self, path: str) -> list[str]:
        with _translated(path):
            return sorted(name.rstrip("/") for name in _gfile().listdir(path))

    def glob(self, pattern: str) -> list[str]:
        with _translated(pattern):
            return sorted(_gfile().glob(pattern))

    def find(self, pattern: str) -> dict[str, Stat]:
        return {path: self.stat(path) for path in self.glob(pattern)}

    def make_dirs(self, path: str) -> None:
        with _translated(path):
            _gfile().makedirs(path)

    def copy(self, source: str, target: str) -> None:
        with _translated(source):
            _gfile().copy(source, target, overwrite=True)

    def rename(self, source: str, target: str) -> None:
        with _translated(source):
            _gfile().rename(source, target, overwrite=True)

    def remove(self, path: str) -> None:
        with _translated(path):
            _gfile().remove(path)

    def remove_tree(self, path: str) -> None:
        with _translated(path):
            _gfile().rmtree(path)


class _Raw(io.RawIOBase):
    """A GFile as a raw stream, so that `io.BufferedReader` gives it Python's full interface."""

    def __init__(self, path: str, file: Any) -> None:
        self._path, self._file = path, file

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        at = self._file.tell()
        data = Backoff().call(lambda: self._read(at, len(buffer)), again=_may_pass)
        buffer[: len(data)] = data
        return len(data)

    def _read(self, at: int, size: int) -> bytes:
        with _translated(self._path):
            self._file.seek(at)
            return cast(bytes, self._file.read(size))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        if whence == io.SEEK_CUR:
            offset += self._file.tell()
        elif whence == io.SEEK_END:
            offset += self._file.size()
        self._file.seek(offset)
        return offset

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        self._file.close()
        super().close()


def _may_pass(error: Exception) -> bool:
    return isinstance(error, OSError) and not isinstance(error, OF_THE_FILE)


def _gfile() -> Any:
    import tensorflow as tf

    return tf.io.gfile


@contextmanager
def _translated(path: str) -> Iterator[None]:
    """TensorFlow's errors as the ones that Python's own files raise."""
    import tensorflow as tf

    try:
        yield
    except tf.errors.NotFoundError as error:
        raise FileNotFoundError(f"{path}: {error.message}") from error
    except tf.errors.AlreadyExistsError as error:
        raise FileExistsError(f"{path}: {error.message}") from error
    except tf.errors.PermissionDeniedError as error:
        raise PermissionError(f"{path}: {error.message}") from error
    except tf.errors.OpError as error:
        raise OSError(f"{path}: {error.message}") from error
