"""Settings of the report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from yt8m.schemas.config_tree import ConfigNode
from yt8m.schemas.limits import PositiveInt, between


@dataclass(frozen=True, kw_only=True)
class ReportConfig(ConfigNode):
    """Contents of the report."""

    classes: Annotated[int, between(1, 200)] = 12  # Number of best and of worst classes listed
    support: PositiveInt = 10  # Number of videos that a listed class has at least
    # Names or numbers of classes whose precision and recall are drawn; empty: the most frequent
    # ones.
    curves: tuple[str, ...] = ()
