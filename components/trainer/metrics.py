"""The metrics that validations and evaluations of a training compute: ours and the user's own."""

from __future__ import annotations

from yt8m.components.metrics.catalogue import Metric
from yt8m.components.metrics.own import with_own
from yt8m.components.models.config import head_name
from yt8m.components.trainer.config import TrainerConfig
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.metric_names import LOSS


def metrics_of(config: TrainerConfig) -> tuple[Metric, ...]:
    """Ours and those of `trainer.metrics`; ConfigError where a key names none of them."""
    metrics = with_own(config.metrics, "trainer.metrics")
    names = [m.name for m in metrics] + [f"{LOSS}_{head_name(head)}" for head in config.heads]
    for where, name in config.steering:
        if name not in names:
            raise ConfigError(
                f"trainer.{where} = {name!r}: must be one of {', '.join(names)}, or the name of a "
                "metric that trainer.metrics adds"
            )
    return metrics
