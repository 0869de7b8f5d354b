"""A storage that fails is distinguished from files that are bad."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager

from yt8m.schemas.errors import Yt8mError

# What is wrong with the file or its name: who asked for it has to say so.
OF_THE_FILE = (
    FileNotFoundError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
    gzip.BadGzipFile,
)


class StorageError(Yt8mError):
    """The storage or the network failed after all retries; the data themselves may be fine."""


@contextmanager
def storage_failures_explained(uri: str) -> Iterator[None]:
    """Turn an IO error while `uri` is read into one that blames no record."""
    try:
        yield
    except OF_THE_FILE:
        raise
    except OSError as error:
        raise StorageError(
            f"{uri}: the storage or the network failed ({error}); the records may be sound: run "
            "the same command again"
        ) from error
