"""Remote schemes for TFX's own file IO: importing this module registers them.

What TensorFlow itself writes (SavedModels, checkpoints, events) does not go through TFX's file
IO; let it write to `storage.atomic_tree`.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Callable, Iterable
from typing import Any

from tfx.dsl.io import filesystem, filesystem_registry

from yt8m.components.storage import files
from yt8m.components.storage.schemes import REMOTE

# Before the plugin that hands every scheme to TensorFlow, which has no s3:// and takes a failing
# network for an empty directory.
_PRIORITY = -1


class RemoteFilesystem(filesystem.Filesystem):
    """TFX's interface over our functions."""

    SUPPORTED_SCHEMES = list(REMOTE)  # noqa: RUF012  (TFX's way)

    @staticmethod
    def open(name: Any, mode: str = "r") -> Any:
        name = _text(name)
        if "w" in mode:
            file: Any = _Writer(name)
        else:
            with _translated(name):
                file = files.open_file(name)
        return file if "b" in mode else io.TextIOWrapper(file, encoding="utf-8")

    @staticmethod
    def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
        _refuse_taken(dst, overwrite)
        with _translated(src):
            files.copy(_text(src), _text(dst))

    @staticmethod
    def exists(path: Any) -> bool:
        return files.exists(_text(path))

    @staticmethod
    def glob(pattern: Any) -> list[Any]:
        return list(files.glob(_text(pattern)))

    @staticmethod
    def isdir(path: Any) -> bool:
        return files.is_dir(_text(path))

    @staticmethod
    def listdir(path: Any) -> list[Any]:
        with _translated(path):
            return list(files.list_dir(_text(path)))

    @staticmethod
    def makedirs(path: Any) -> None:
        files.make_dirs(_text(path))

    @staticmethod
    def mkdir(path: Any) -> None:
        files.make_dirs(_text(path))

    @staticmethod
    def remove(path: Any) -> None:
        """Nothing there is no error: TFX removes directories it has made, which are none here."""
        with contextlib.suppress(FileNotFoundError):
            files.remove(_text(path))

    @staticmethod
    def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
        _refuse_taken(dst, overwrite)
        if files.is_dir(_text(dst)):
            files.remove_tree(_text(dst))
        elif files.exists(_text(dst)):
            files.remove(_text(dst))
        with _translated(src):
            files.rename(_text(src), _text(dst))

    @staticmethod
    def rmtree(path: Any) -> None:
        with _translated(path):
            files.stat(_text(path))
            files.remove_tree(_text(path))

    @staticmethod
    def stat(path: Any) -> Any:
        with _translated(path):
            return files.stat(_text(path))

    @staticmethod
    def walk(
        top: Any, topdown: bool = True, onerror: Callable[..., None] | None = None
    ) -> Iterable[tuple[Any, list[Any], list[Any]]]:
        with _translated(top):
            names = files.list_dir(_text(top))
        folders = [name for name in names if files.is_dir(files.join(_text(top), name))]
        row = (top, folders, [name for name in names if name not in folders])
        if topdown:
            yield row
        for name in folders:
            yield from RemoteFilesystem.walk(files.join(_text(top), name), topdown, onerror)
        if not topdown:
            yield row


class _Writer(io.BytesIO):
    """A file whose content becomes the object when it is closed."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    def close(self) -> None:
        if not self.closed:
            files.write_bytes(self._name, self.getvalue())
        super().close()


class _translated:  # noqa: N801  (reads as a statement)
    """TFX has a FileNotFoundError of its own."""

    def __init__(self, path: Any) -> None:
        self._path = path

    def __enter__(self) -> None: ...

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, FileNotFoundError):
            raise filesystem.NotFoundError(str(error)) from error


def _refuse_taken(path: Any, overwrite: bool) -> None:
    if not overwrite and files.exists(_text(path)):
        raise OSError(f"{_text(path)} exists already and overwrite is false")


def _text(path: Any) -> str:
    return path.decode() if isinstance(path, bytes) else str(path)


filesystem_registry.DEFAULT_FILESYSTEM_REGISTRY.register(RemoteFilesystem, priority=_PRIORITY)
