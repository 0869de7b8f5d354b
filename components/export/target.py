"""Where a command may write a model: an export replaces the whole directory."""

from __future__ import annotations

from collections.abc import Iterable

from yt8m.components import storage
from yt8m.components.artifacts.export_info import FILE_NAME
from yt8m.components.artifacts.saved_model import (
    ASSETS_DIR,
    BATCHING_FILE,
    FINGERPRINT_FILE,
    MODEL_FILE,
    VARIABLES_DIR,
    WARM_UP_FILE,
    unfindable,
)
from yt8m.components.artifacts.version_record import RECORD_FILE
from yt8m.schemas.errors import UserError

_SHOWN = 3  # names that a message quotes
_FILES = {MODEL_FILE, FINGERPRINT_FILE, BATCHING_FILE, WARM_UP_FILE, FILE_NAME}  # of an export
_DIRECTORIES = {VARIABLES_DIR, ASSETS_DIR}
_LITTER = {".DS_Store", "Thumbs.db", "desktop.ini"}  # of file managers; it may be replaced


def check_target(directory: str, *, models: Iterable[str] = ()) -> None:
    """UserError unless `directory` is new, empty, or an export; `models` are those that are read.

    A number in a registry is none of these: model servers would load what is written there. Nor is
    an export with somebody's own files beside it, which would be lost.
    """
    if model := next((m for m in models if storage.is_within(directory, m)), None):
        raise UserError(f"{directory}: belongs to the model {model}; write to a new directory")
    absolute = storage.absolute(directory)
    if problem := unfindable(absolute):
        raise UserError(f"{absolute}: {problem}; choose a directory without it")
    if _is_in_registry(absolute.rstrip("/")):
        raise UserError(f"{directory}: is a version of a registry; write to a new directory")
    if not storage.exists(directory):
        return
    if not storage.is_dir(directory):
        raise UserError(f"{directory}: is a file; write to a new directory")
    if others := _others(directory):
        shown = f"{', '.join(others[:_SHOWN])}{', ...' if others[_SHOWN:] else ''}"
        raise UserError(f"{directory}: holds other files ({shown}); write to a new directory")


def _others(directory: str) -> list[str]:
    """Names of what is no part of an export; everything there where no model is."""
    names = [name for name in storage.list_dir(directory) if name not in _LITTER]
    if MODEL_FILE not in names:
        return names
    return [file for file in storage.walk_files(directory) if not _is_of_an_export(file)]


def _is_of_an_export(file: str) -> bool:
    is_part = file in _FILES or file.partition("/")[0] in _DIRECTORIES
    return is_part or file.rpartition("/")[2] in _LITTER


def _is_in_registry(directory: str) -> bool:
    parent, _, name = directory.rpartition("/")
    if not name.isdecimal() or not storage.is_dir(parent):
        return False
    numbers = [other for other in storage.list_dir(parent) if other.isdecimal()]
    return any(storage.exists(storage.join(parent, other, RECORD_FILE)) for other in numbers)
