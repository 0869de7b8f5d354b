"""Settings of validation: limits of drift and skew."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from yt8m.schemas.config_tree import ConfigNode
from yt8m.schemas.limits import PositiveFraction


class OnDrift(enum.Enum):
    """Response to drift from earlier data, or to skew between train and eval."""

    STOP = "stop"
    WARN = "warn"


@dataclass(frozen=True, kw_only=True)
class ValidationConfig(ConfigNode):
    """Largest differences between data sets that a run accepts.

    Drift is train against the data of the model in production, skew is train against eval. A
    difference counts where it is above its limit and above what chance does to samples of this
    size; null switches a limit off.
    """

    # Limit of the Jensen-Shannon divergence (0 to 1) of the labels from the production model's
    # data.
    label_drift: PositiveFraction | None = 0.1
    # Limit of the Jensen-Shannon divergence (0 to 1) of a feature's values from the production
    # model's data.
    feature_drift: PositiveFraction | None = 0.02
    # Limit of the change of a class's share of the examples since the production model's data.
    share_drift: PositiveFraction | None = 0.05
    # Limit of the change of a feature's mean, divided by its root mean square, since the production
    # model's data.
    mean_drift: PositiveFraction | None = 0.05
    # Limit of the relative change of a feature's root mean square since the production model's
    # data.
    spread_drift: PositiveFraction | None = 0.05
    # Limit of the Jensen-Shannon divergence (0 to 1) of the labels between train and eval.
    label_skew: PositiveFraction | None = 0.1
    # Limit of the Jensen-Shannon divergence (0 to 1) of a feature's values between train and eval.
    feature_skew: PositiveFraction | None = 0.02
    # Limit of the difference of a class's share of the examples between train and eval.
    share_skew: PositiveFraction | None = 0.05
    # Limit of the difference of a feature's mean, divided by its root mean square, between train
    # and eval.
    mean_skew: PositiveFraction | None = 0.05
    # Limit of the relative difference of a feature's root mean square between train and eval.
    spread_skew: PositiveFraction | None = 0.05
    on_drift: OnDrift = OnDrift.STOP
