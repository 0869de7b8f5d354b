"""What the starter code left, told apart from other models, and given as an export."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator

from yt8m.components import storage
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.starter_code.checkpoint import export_checkpoint, find_checkpoint
from yt8m.components.starter_code.saved_model import export_saved_model, is_starter_code_export
from yt8m.schemas.features import Level


@contextlib.contextmanager
def as_export(source: str, *, level: Level | None = None) -> Iterator[str]:
    """Where `source` is with the signatures of an export: itself, unless the starter code made it.

    `level` is what the user says of a checkpoint, where that does not say so itself.
    """
    is_export = is_starter_code_export(source)
    has_model = storage.exists(storage.join(source, MODEL_FILE))
    checkpoint = None if has_model else find_checkpoint(source)
    if not is_export and checkpoint is None:
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="yt8m-import-") as place:
        made = storage.join(place, "export")
        if checkpoint is not None:
            export_checkpoint(checkpoint, made, level=level)
        else:
            export_saved_model(source, made)
        yield made
