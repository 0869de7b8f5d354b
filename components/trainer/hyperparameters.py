"""Values by dotted path, as a Tuner finds them, laid over the trainer's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yt8m.components.artifacts.tuner_results import NODE
from yt8m.components.trainer.config import TrainerConfig
from yt8m.schemas.config_layers import overlay
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import ConfigError


def with_values(config: TrainerConfig, values: Mapping[str, Any]) -> TrainerConfig:
    """`config` with `values` on top; ConfigError lists what may not be."""
    tree: dict[str, Any] = {}
    for path, value in values.items():
        first, *keys = path.split(".")
        if first != NODE or not keys:
            raise ConfigError(f"{path}: must be a path of the trainer, e.g. {NODE}.batch_size")
        for key in reversed(keys):
            value = {key: value}
        tree = overlay(None, tree, value)
    return from_dict(TrainerConfig, overlay(TrainerConfig, to_dict(config), tree), path=NODE)
