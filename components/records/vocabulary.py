"""The vocabulary of a run, from wherever it lies, and what names its content."""

from __future__ import annotations

import hashlib

from yt8m.components import storage
from yt8m.schemas.errors import DataError
from yt8m.schemas.vocabulary import Vocabulary, parse_vocabulary


def load_vocabulary(uri: str, *, num_classes: int | None = None) -> Vocabulary:
    """The vocabulary in the file `uri`; DataError says which line is wrong, or that it is absent.

    With `num_classes` it must have exactly that many classes.
    """
    try:
        text = _read(uri).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{uri}: cannot be read as a vocabulary ({error})") from error
    return parse_vocabulary(text, source=uri, num_classes=num_classes)


def vocabulary_digest(uri: str) -> str:
    """Changes when the file's content does: for cache keys, which see its path alone."""
    return hashlib.sha256(_read(uri)).hexdigest()[:16] if uri else ""


def _read(uri: str) -> bytes:
    try:
        return storage.read_bytes(uri)
    except OSError as error:
        reason = error.strerror or error
        raise DataError(f"{uri}: cannot be read as a vocabulary ({reason})") from error
