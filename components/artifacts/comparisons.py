"""How far features are apart, as ValidationGate measured it: `comparisons.json`."""

from __future__ import annotations

from dataclasses import dataclass

from yt8m.schemas.json_file import JsonFile

FILE_NAME = "comparisons.json"


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """Jensen-Shannon divergence of one feature between two datasets, and its limit."""

    feature: str
    distance: float
    threshold: float


@dataclass(frozen=True, kw_only=True)
class Comparisons(JsonFile):
    """Both comparisons; one that was not made is empty."""

    drift: tuple[Divergence, ...] = ()  # train against the data of the baseline
    skew: tuple[Divergence, ...] = ()  # train against eval
