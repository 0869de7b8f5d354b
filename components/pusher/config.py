"""Where a blessed model goes and how many versions stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from yt8m.schemas.config_tree import ConfigNode
from yt8m.schemas.limits import at_least


@dataclass(frozen=True, kw_only=True)
class PusherConfig(ConfigNode):
    """Where a blessed model goes and how many versions stay."""

    push_dir: str = ""  # the registry of models; `yt8m run --push` sets it
    # Beside those that the newest version still refers to. With one alone, a damaged newest version
    # would leave nothing to fall back to.
    keep_versions: Annotated[int, at_least(2)] = 5
