"""Settings of Pusher: the registry, and the number of versions to keep."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from yt8m.schemas.config_tree import ConfigNode
from yt8m.schemas.limits import at_least, matches
from yt8m.schemas.roles import OutputPath

_LICENCE = r"|[A-Za-z0-9][A-Za-z0-9.+-]*"


@dataclass(frozen=True, kw_only=True)
class PusherConfig(ConfigNode):
    """The Pusher: registry of pushed models and number of versions to keep."""

    # Directory or bucket of the registry; `yt8m run --push` sets it.
    push_dir: Annotated[str, OutputPath()] = ""
    # Number of versions to keep, in addition to those that the newest one refers to. At least 2, so
    # that a damaged version has a fallback.
    keep_versions: Annotated[int, at_least(2)] = 5
    # Licence of the model for its model card, e.g. apache-2.0; empty: not recorded.
    license: Annotated[str, matches(_LICENCE, "an identifier such as apache-2.0, or empty")] = ""
