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

    Drift is train against the data of the model in production, skew is train against eval. A
    difference counts where it is above its limit and above what chance does to samples of this
    size; null switches a limit off.
    """

    label_drift: PositiveFraction | None = 0.1  # Jensen-Shannon divergence (0 to 1) of the labels
    feature_drift: PositiveFraction | None = 0.02  # Jensen-Shannon divergence of a feature's values
    share_drift: PositiveFraction | None = 0.05  # change of one class's share of the examples
    mean_drift: PositiveFraction | None = (
        0.05  # change of a feature's mean over its root mean square
    )
    spread_drift: PositiveFraction | None = 0.05  # relative change of a feature's root mean square
    label_skew: PositiveFraction | None = 0.1  # as label_drift, between train and eval
    feature_skew: PositiveFraction | None = 0.02  # as feature_drift, between train and eval
    share_skew: PositiveFraction | None = 0.05  # as share_drift, between train and eval
    mean_skew: PositiveFraction | None = 0.05  # as mean_drift, between train and eval
    spread_skew: PositiveFraction | None = 0.05  # as spread_drift, between train and eval
    on_drift: OnDrift = OnDrift.STOP
