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

    A version of a registry is no such export: its record says what was pushed there.
    """
    if model := next((m for m in models if storage.is_within(directory, m)), None):
        raise UserError(f"{directory}: belongs to the model {model}; write to a new directory")
    if not storage.exists(directory):
        return
    if not storage.is_dir(directory):
        raise UserError(f"{directory}: is a file; write to a new directory")
    names = storage.list_dir(directory)
    if storage.exists(storage.join(directory, RECORD_FILE)):
        raise UserError(f"{directory}: is a version of a registry; write to a new directory")
    if names and MODEL_FILE not in names:
        shown = f"{', '.join(names[:_SHOWN])}{', ...' if names[_SHOWN:] else ''}"
        raise UserError(f"{directory}: holds other files ({shown}); write to a new directory")
