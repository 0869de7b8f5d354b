"""Where a blessed model goes and how many versions stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from yt8m.schemas.config_tree import ConfigNode
from yt8m.schemas.limits import at_least
from yt8m.schemas.roles import OutputPath


@dataclass(frozen=True, kw_only=True)
class PusherConfig(ConfigNode):
    """Where a blessed model goes and how many versions stay."""

    # The registry of models; `yt8m run --push` sets it.
    push_dir: Annotated[str, OutputPath()] = ""
    # Beside those that the newest version still refers to. With one alone, a damaged newest version
    # would leave nothing to fall back to.
    keep_versions: Annotated[int, at_least(2)] = 5
