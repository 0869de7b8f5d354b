"""What the stop lets pass."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from yt8m.schemas.config_tree import require


class OnDrift(enum.Enum):
    """What happens when data differ too much from earlier data, or train from eval."""

    STOP = "stop"
    WARN = "warn"


@dataclass(frozen=True, kw_only=True)
class ValidationConfig:
    """The validation node of the configuration.

    Thresholds are Jensen-Shannon divergences, from 0 (equal) to 1; null switches one off. What
    samples of this size differ by chance is allowed for on top.
    """

    label_drift: float | None = 0.1  # train against the data of the model in production
    feature_drift: float | None = 0.02
    label_skew: float | None = 0.1  # train against eval
    feature_skew: float | None = 0.02
    on_drift: OnDrift = OnDrift.STOP

    def __post_init__(self) -> None:
        for name in ("label_drift", "feature_drift", "label_skew", "feature_skew"):
            value = getattr(self, name)
            require(value is None or 0 < value <= 1, name, value, "above 0, at most 1, or null")
