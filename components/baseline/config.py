"""Which pushed model is compared with and started from."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from yt8m.schemas.config_tree import require


class Choice(enum.Enum):
    """The versions that have a name."""

    NEWEST = "newest"  # the newest one that is blessed and sound
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class BaselineConfig:
    """The baseline node of the configuration."""

    version: Choice | int = Choice.NEWEST

    def __post_init__(self) -> None:
        known = isinstance(self.version, Choice) or self.version > 0
        require(known, "version", self.version, "newest, none, or the number of a version")
