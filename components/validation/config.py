"""What the stop lets pass."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from yt8m.schemas.config_tree import ConfigNode
from yt8m.schemas.limits import PositiveFraction


class OnDrift(enum.Enum):
    """What happens when data differ too much from earlier data, or train from eval."""

    STOP = "stop"
    WARN = "warn"


@dataclass(frozen=True, kw_only=True)
class ValidationConfig(ConfigNode):
    """Which differences between data sets stop a run.

    Thresholds are Jensen-Shannon divergences, from 0 (equal) to 1; null switches one off. What
    samples of this size differ by chance is allowed for on top.
    """

    label_drift: PositiveFraction | None = 0.1  # train against the data of the model in production
    feature_drift: PositiveFraction | None = 0.02  # the same, of the features' values
    label_skew: PositiveFraction | None = 0.1  # train against eval
    feature_skew: PositiveFraction | None = 0.02  # the same, of the features' values
    on_drift: OnDrift = OnDrift.STOP
