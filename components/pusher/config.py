"""Where a blessed model goes and how many versions stay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from yt8m.schemas.config_tree import ConfigNode
from yt8m.schemas.limits import at_least, matches
from yt8m.schemas.roles import OutputPath

_LICENCE = r"|[A-Za-z0-9][A-Za-z0-9.+-]*"


@dataclass(frozen=True, kw_only=True)
class PusherConfig(ConfigNode):
    """Where a blessed model goes and how many versions stay."""

    # The registry of models; `yt8m run --push` sets it.
    push_dir: Annotated[str, OutputPath()] = ""
    # Beside those that the newest version still refers to. With one alone, a damaged newest version
    # would leave nothing to fall back to.
    keep_versions: Annotated[int, at_least(2)] = 5
    # The model's licence, for its card: an identifier such as apache-2.0; empty: not recorded.
    license: Annotated[str, matches(_LICENCE, "an identifier such as apache-2.0, or empty")] = ""
