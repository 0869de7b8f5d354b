"""Which pushed model is compared with and started from."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from yt8m.schemas.config_tree import ConfigNode
from yt8m.schemas.limits import PositiveInt


class BaselineChoice(enum.Enum):
    """The versions that have a name."""

    NEWEST = "newest"  # the newest one that is blessed and sound
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class BaselineConfig(ConfigNode):
    """Which pushed model is compared with and started from."""

    # A name, or the number of a version.
    version: BaselineChoice | PositiveInt = BaselineChoice.NEWEST
