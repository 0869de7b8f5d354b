"""What the report shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from yt8m.schemas.config_tree import ConfigNode
from yt8m.schemas.limits import PositiveInt, between


@dataclass(frozen=True, kw_only=True)
class ReportConfig(ConfigNode):
    """What the report shows."""

    classes: Annotated[int, between(1, 200)] = 12  # as many of the best, and of the worst
    support: PositiveInt = 10  # videos that a class must have to be among them
    # Names or numbers of classes whose precision and recall are drawn; none: the most frequent.
    curves: tuple[str, ...] = ()
