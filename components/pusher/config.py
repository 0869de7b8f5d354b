"""Where a blessed model goes and how many versions stay."""

from __future__ import annotations

from dataclasses import dataclass

from yt8m.schemas.config_tree import require


@dataclass(frozen=True, kw_only=True)
class PusherConfig:
    """The pusher node of the configuration."""

    push_dir: str = ""  # `yt8m run --push` sets it
    keep_versions: int = 5  # beside those that the newest version still refers to

    def __post_init__(self) -> None:
        # With one alone, a damaged newest version would leave nothing to fall back to.
        require(self.keep_versions >= 2, "keep_versions", self.keep_versions, "2 or more")
