"""What Transform does beside its arithmetic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from yt8m.schemas.config_tree import ConfigNode
from yt8m.schemas.limits import OptionalDottedPath
from yt8m.schemas.roles import OwnCode


@dataclass(frozen=True, kw_only=True)
class TransformConfig(ConfigNode):
    """What Transform does beside its arithmetic."""

    # Dotted path of a function from features by name, [..., size] float32, to one vector
    # [..., any size] of each row; empty: concatenated and L2-normalised.
    function: Annotated[OptionalDottedPath, OwnCode()] = ""
    # Writes the transformed sample beside the graph. Nothing of ours reads it, and at frame level
    # it is half a megabyte a video.
    materialize: bool = False
