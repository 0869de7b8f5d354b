"""Readers of yt8m's files, and of artifacts that an unfinished run may lack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from yt8m.components import storage
from yt8m.schemas.errors import DataError
from yt8m.schemas.json_file import reading

T = TypeVar("T")
_ADVICE = "put an undamaged copy there, or remove its directory and run the same command again"


def read_file(path: str, parse: Callable[[str], T], *, advice: str = _ADVICE) -> T:
    """Parse the file; NewerFormatError names one that a newer yt8m wrote.

    DamagedFileError names one that cannot be parsed, with `advice` on what to do.
    """
    with reading(path, advice=advice):
        return parse(storage.read_text(path))


def read_if_present(
    directory: str | None, name: str, parse: Callable[[str], T], *, advice: str = _ADVICE
) -> T | None:
    """Parse the file; None without a directory or without the file in it."""
    path = storage.join(directory, name) if directory else ""
    try:
        return read_file(path, parse, advice=advice) if path and storage.exists(path) else None
    except FileNotFoundError:  # another process has removed it in between
        return None


def read_statistics(path: str) -> Any:
    """Read TFDV's DatasetFeatureStatisticsList; DataError names a damaged file."""
    from tensorflow_metadata.proto.v0 import statistics_pb2

    statistics = read_message(path, statistics_pb2.DatasetFeatureStatisticsList)
    if not statistics.datasets:
        raise _damaged(path, "it holds no dataset")
    return statistics


def read_message(path: str, kind: Any) -> Any:
    """Read a protocol buffer of the class `kind`; DataError names a damaged file."""
    from google.protobuf.message import DecodeError

    try:
        return kind.FromString(storage.read_bytes(path))
    except DecodeError as error:
        raise _damaged(path, str(error)) from error


def _damaged(path: str, reason: str) -> DataError:
    return DataError(f"{path} is damaged ({reason}): restore it, or remove it, and run again")
