"""Which classes the report names; the configuration imports this, so it imports nothing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class ShownClasses:
    """Which classes the report names."""

    classes: int = 12
    support: int = 10
    curves: tuple[str, ...] = ()
