"""Names weights by their content, for cache keys and checkpoints, which else see a path alone."""

from __future__ import annotations

import hashlib

from yt8m.components import storage
from yt8m.components.storage import files
from yt8m.schemas.errors import UserError


def weights_digest(source: str) -> str:
    """Of an export, a checkpoint or a directory of checkpoints; "" for no source.

    Their indices are read, which hold a checksum of each weight.
    """
    if not source:
        return ""
    single = (storage.join(source, "variables", "variables.index"), f"{source}.index")
    found = [path for path in single if files.exists(path)][:1]
    if not found:
        found = sorted(files.glob(storage.join(source, "*.index")))
        found += [path for path in [storage.join(source, "checkpoint")] if files.exists(path)]
    if not found:
        raise UserError(
            f"warm start from {source}: neither an export (variables/variables.index) nor a "
            "checkpoint is there"
        )
    content = hashlib.sha256()
    for path in found:
        content.update(files.read_bytes(path))
    return content.hexdigest()[:16]
