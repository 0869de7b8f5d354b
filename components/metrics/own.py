"""Metrics of a user's own, which the configuration names by dotted paths."""

from __future__ import annotations

import re
from collections.abc import Iterable

from yt8m.components.metrics.catalogue import METRICS, Metric
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.own_code import load_named

_NAME = re.compile(r"[a-z][a-z0-9_]*")


def with_own(paths: Iterable[str], where: str) -> tuple[Metric, ...]:
    """The catalogue's metrics, then those that `paths` name.

    ConfigError, which begins with the key `where`, if one is no metric or has no name of its own.
    """
    metrics = {metric.name: metric for metric in METRICS}
    for path in paths:
        metric = load_named(path, f"{where}: {path}")
        if not isinstance(metric, Metric):
            raise ConfigError(
                f"{where}: {path} is a {type(metric).__name__}; turn it into a Metric with "
                "yt8m.components.metrics.mean_metric, or with Metric"
            )
        if metric.name in metrics or not _NAME.fullmatch(metric.name):
            raise ConfigError(
                f"{where}: {path} has the name {metric.name!r}: must be small letters, digits and "
                f"_, and not one of {', '.join(metrics)}"
            )
        metrics[metric.name] = metric
    return tuple(metrics.values())
