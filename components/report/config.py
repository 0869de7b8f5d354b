"""What the report shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from yt8m.schemas.config_tree import ConfigNode
from yt8m.schemas.limits import Between


@dataclass(frozen=True, kw_only=True)
class ReportConfig(ConfigNode):
    """The report node of the configuration."""

    classes: Annotated[int, Between(1, 200)] = 12  # as many of the best, and of the worst
