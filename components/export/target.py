"""Where a command may write a model: an export replaces the whole directory."""

from __future__ import annotations

from collections.abc import Iterable

from yt8m.components import storage
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.artifacts.version_record import RECORD_FILE
from yt8m.schemas.errors import UserError

_SHOWN = 3  # names that a message quotes


def check_target(directory: str, *, models: Iterable[str] = ()) -> None:
    """UserError unless `directory` is new, empty, or an export; `models` are those that are read.

    A number in a registry is none of these: model servers would load what is written there.
    """
    if model := next((m for m in models if storage.is_within(directory, m)), None):
        raise UserError(f"{directory}: belongs to the model {model}; write to a new directory")
    if _is_in_registry(storage.absolute(directory).rstrip("/")):
        raise UserError(f"{directory}: is a version of a registry; write to a new directory")
    if not storage.exists(directory):
        return
    if not storage.is_dir(directory):
        raise UserError(f"{directory}: is a file; write to a new directory")
    names = storage.list_dir(directory)
    if names and MODEL_FILE not in names:
        shown = f"{', '.join(names[:_SHOWN])}{', ...' if names[_SHOWN:] else ''}"
        raise UserError(f"{directory}: holds other files ({shown}); write to a new directory")


def _is_in_registry(directory: str) -> bool:
    parent, _, name = directory.rpartition("/")
    if not name.isdecimal() or not storage.is_dir(parent):
        return False
    numbers = [other for other in storage.list_dir(parent) if other.isdecimal()]
    return any(storage.exists(storage.join(parent, other, RECORD_FILE)) for other in numbers)
