"""What the report shows."""

from __future__ import annotations

from dataclasses import dataclass

from yt8m.schemas.config_tree import require


@dataclass(frozen=True, kw_only=True)
class ReportConfig:
    """The report node of the configuration."""

    classes: int = 12  # as many of the best, and of the worst

    def __post_init__(self) -> None:
        require(1 <= self.classes <= 200, "classes", self.classes, "between 1 and 200")
