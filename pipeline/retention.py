"""How long runs stay: the policy that `yt8m gc` follows."""

from __future__ import annotations

from dataclasses import dataclass

from yt8m.schemas.config_tree import require


@dataclass(frozen=True, kw_only=True)
class RetentionConfig:
    """The retention node of the configuration.

    A run goes when it is beyond both limits; the newest one, those whose models are in the
    registry, and those whose artifacts a kept run reused always stay.
    """

    keep_runs: int = 10
    keep_days: float = 30.0
    after_each_run: bool = False

    def __post_init__(self) -> None:
        require(self.keep_runs >= 1, "keep_runs", self.keep_runs, "1 or more")
        require(self.keep_days >= 0, "keep_days", self.keep_days, "0 or more")
