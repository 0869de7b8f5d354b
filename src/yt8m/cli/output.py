"""Outputs that would replace what a command reads."""

from __future__ import annotations

from collections.abc import Iterable

from yt8m.components import storage
from yt8m.schemas.errors import UserError


def check_output(out: str, sources: Iterable[str]) -> None:
    """UserError where `--out` is one of the files that are read, by whatever name."""
    if any(storage.is_same(out, source) for source in sources):
        raise UserError(f"--out {out}: the command reads this file; name another one")
