"""The weights that a training starts from: where they lie, and a name for them by their content."""

from __future__ import annotations

import hashlib

from yt8m.components import storage
from yt8m.components.storage import files
from yt8m.schemas.errors import UserError


def find_checkpoint(source: str) -> str:
    """The checkpoint that `source` (an export, a checkpoint, a directory of them) is or holds."""
    for path in (storage.join(source, "variables", "variables"), source):
        if files.exists(f"{path}.index"):
            return path
    newest = None
    if files.exists(storage.join(source, "checkpoint")):
        import tensorflow as tf  # takes seconds, and a run that has nothing to do needs none

        newest = tf.train.latest_checkpoint(source)
    if newest is None:
        raise UserError(
            f"warm start from {source}: neither an export (variables/variables.index) nor a "
            "checkpoint is there"
        )
    return str(newest)


def weights_digest(source: str) -> str:
    """Changes when the weights do, for cache keys, which else see a path; "" for no source.

    The checkpoint's index is read, which holds a checksum of each weight.
    """
    if not source:
        return ""
    index = files.read_bytes(f"{find_checkpoint(source)}.index")
    return hashlib.sha256(index).hexdigest()[:16]
