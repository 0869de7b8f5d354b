"""What Transform does beside its arithmetic."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TransformConfig:
    """The transform node of the configuration."""

    # Writes the transformed sample beside the graph. Nothing of ours reads it, and at frame level
    # it is half a megabyte a video.
    materialize: bool = False
