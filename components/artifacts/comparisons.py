"""Distances between data sets, as ValidationGate measured them: `comparisons.json`."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from yt8m.schemas.json_file import JsonFile

FILE_NAME = "comparisons.json"


class Measure(enum.Enum):
    """A measure of two samples of a feature; the value begins its limits' names."""

    DIVERGENCE = "divergence"  # of the whole distributions
    CLASS_SHARE = "share"  # the class whose share of the examples changed most
    MEAN = "mean"  # of the values, in units of their root mean square
    SPREAD = "spread"  # the logarithm of the root mean squares' ratio

    @property
    def title(self) -> str:
        return _TITLES[self]


_TITLES = {
    Measure.DIVERGENCE: "Jensen-Shannon divergence",
    Measure.CLASS_SHARE: "change of one class's share",
    Measure.MEAN: "change of the mean",
    Measure.SPREAD: "change of the spread",
}


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Distance of two samples of one feature, and its limit."""

    feature: str
    measure: Measure = Measure.DIVERGENCE
    distance: float
    threshold: float

    @property
    def is_found(self) -> bool:
        return self.distance > self.threshold


@dataclass(frozen=True, kw_only=True)
class Comparisons(JsonFile):
    """Both comparisons; one that was not made is empty."""

    drift: tuple[Difference, ...] = ()  # train against the data of the baseline
    skew: tuple[Difference, ...] = ()  # train against eval
