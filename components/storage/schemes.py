"""The table of storage schemes: a new one is a module with its backend, and a row here.

Everybody else calls the functions of `files`, which ask the backend what its places can do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from yt8m.components.storage.backend import Backend
from yt8m.components.storage.gcs import GcsBackend
from yt8m.components.storage.local import LocalBackend
from yt8m.components.storage.s3 import S3Backend
from yt8m.schemas.errors import UserError

# By what stands before `://`. Clients are imported when the first path of their scheme is used.
BACKENDS: Mapping[str, Backend] = {"": LocalBackend(), "gs": GcsBackend(), "s3": S3Backend()}

REMOTE = tuple(f"{name}://" for name in BACKENDS if name)
KNOWN = f"a local path, {', '.join(REMOTE[:-1])} or {REMOTE[-1]}"

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://")


def has_scheme(uri: str) -> bool:
    """Whether `uri` begins with any scheme, known or not."""
    return _SCHEME.match(uri) is not None


def backend_of(uri: str) -> Backend:
    """The backend of the scheme that `uri` begins with; of this machine's files without one."""
    match = _SCHEME.match(uri)
    name = match.group(1) if match else ""
    try:
        return BACKENDS["" if name == "file" else name]
    except KeyError:
        raise UserError(f"{name}:// is not a storage that yt8m supports; use {KNOWN}") from None
