"""Settings of the baseline."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from yt8m.schemas.config_tree import ConfigNode
from yt8m.schemas.limits import PositiveInt


class BaselineChoice(enum.Enum):
    """The versions that have a name."""

    NEWEST = "newest"  # the newest blessed version that is not damaged
    NONE = "none"


@dataclass(frozen=True, kw_only=True)
class BaselineConfig(ConfigNode):
    """Pushed model that new models are compared with and may start from."""

    # Version of the baseline: a name, or a number.
    version: BaselineChoice | PositiveInt = BaselineChoice.NEWEST
