"""SHA-256 of files and of whole models."""

from __future__ import annotations

import hashlib

from yt8m.components import storage
from yt8m.components.artifacts.version_record import tree_digest

_CHUNK_BYTES = 1 << 20


def file_sha256(path: str) -> str:
    """The digest of a file's content, read in pieces."""
    digest = hashlib.sha256()
    with storage.open_file(path) as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def model_digest(model_dir: str) -> str:
    """Names the bytes of the model in `model_dir`; every file is read."""
    names = storage.walk_files(model_dir)
    return tree_digest({name: file_sha256(storage.join(model_dir, name)) for name in names})
