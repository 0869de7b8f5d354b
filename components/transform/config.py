"""Settings of Transform."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from yt8m.schemas.config_tree import ConfigNode, require
from yt8m.schemas.limits import OptionalDottedPath
from yt8m.schemas.roles import OwnCode


@dataclass(frozen=True, kw_only=True)
class TransformConfig(ConfigNode):
    """Settings of the Transform step."""

    # Dotted path of a function from features by name, [..., size] float32, to one vector [..., any
    # size] per row; empty: concatenate and L2-normalise.
    function: Annotated[OptionalDottedPath, OwnCode(called_with=("features",))] = ""
    # Transform all examples in one pass on Beam and train on the result. Video level only: frames
    # would take half a megabyte per video.
    materialize: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            not (self.materialize and self.function),
            "function",
            self.function,
            "empty with materialize: networks apply it themselves, and would do so again",
        )
