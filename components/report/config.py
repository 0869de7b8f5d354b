"""What the report shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from yt8m.schemas.config_tree import ConfigNode
from yt8m.schemas.limits import between


@dataclass(frozen=True, kw_only=True)
class ReportConfig(ConfigNode):
    """What the report shows."""

    classes: Annotated[int, between(1, 200)] = 12  # as many of the best, and of the worst
