"""The user's own functions on records: `data.rewrite.parse` and `data.rewrite.keep`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from yt8m.components.records.decode import MalformedRecord
from yt8m.schemas.errors import DataError
from yt8m.schemas.own_code import load_named


def keep_record(path: str) -> Callable[[bytes], bool]:
    """The filter at the dotted `path`; without one every record stays.

    Where it fails it is DataError: nobody knows whether the record should stay.
    """
    if not path:
        return lambda record: True
    where = f"data.rewrite.keep = {path}"
    wanted: Callable[[bytes], Any] = load_named(path, where)

    def keep(record: bytes) -> bool:
        try:
            return bool(wanted(record))
        except Exception as error:
            raise DataError(f"{where}: {type(error).__name__}: {error}") from error

    return keep


def parse_record(path: str) -> Callable[[bytes], bytes]:
    """The reader at the dotted `path`, from a record of its format to one of ours.

    It raises MalformedRecord where the user's function fails. Without one, records are ours.
    """
    if not path:
        return lambda record: record
    read: Callable[[bytes], Any] = load_named(path, f"data.rewrite.parse = {path}")

    def parse(record: bytes) -> bytes:
        try:
            parsed = read(record)
        except Exception as error:
            raise MalformedRecord(f"{path}: {type(error).__name__}: {error}") from error
        if not isinstance(parsed, bytes):
            raise MalformedRecord(f"{path} gives {type(parsed).__name__}, not bytes")
        return parsed

    return parse
