"""What Transform does beside its arithmetic."""

from __future__ import annotations

from dataclasses import dataclass

from yt8m.schemas.config_tree import ConfigNode


@dataclass(frozen=True, kw_only=True)
class TransformConfig(ConfigNode):
    """What Transform does beside its arithmetic."""

    # Writes the transformed sample beside the graph. Nothing of ours reads it, and at frame level
    # it is half a megabyte a video.
    materialize: bool = False
