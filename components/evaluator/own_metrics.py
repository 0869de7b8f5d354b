"""The metrics of an evaluation: the catalogue's, and those of the user's own."""

from __future__ import annotations

import re
from collections.abc import Iterable

from yt8m.components.evaluator.config import EvaluatorConfig
from yt8m.components.metrics.catalogue import METRICS, Metric
from yt8m.schemas.code_digest import module_of
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.own_code import load_named, missing_module

_NAME = re.compile(r"[a-z][a-z0-9_]*")


def metrics_of(config: EvaluatorConfig) -> tuple[Metric, ...]:
    """The catalogue's metrics, then those that `config` names; ConfigError where one is none."""
    return _with_own(config.metrics)


def importable_metrics(config: EvaluatorConfig) -> tuple[Metric, ...]:
    """`metrics_of`, without those whose module is not here: an image may have it."""
    return _with_own(p for p in config.metrics if not missing_module(module_of(p)))


def _with_own(paths: Iterable[str]) -> tuple[Metric, ...]:
    metrics = {metric.name: metric for metric in METRICS}
    for path in paths:
        where = f"evaluator.metrics: {path}"
        metric = load_named(path, where)
        if not isinstance(metric, Metric):
            raise ConfigError(
                f"{where}: is a {type(metric).__name__}, and not a Metric of "
                "yt8m.components.metrics; make one with mean_metric or Metric"
            )
        if metric.name in metrics or not _NAME.fullmatch(metric.name):
            raise ConfigError(
                f"{where}: the name {metric.name!r} must be small letters, digits and _, and "
                f"not one of {', '.join(metrics)}"
            )
        metrics[metric.name] = metric
    return tuple(metrics.values())
