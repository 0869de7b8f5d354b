"""TFX's Trainer as this pipeline uses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from tfx import types
from tfx.components import Trainer
from tfx.proto import trainer_pb2

from yt8m.components.declaration import custom_config
from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.trainer.job import RUN_FN
from yt8m.schemas.features import FeatureConfig, Level


def create_trainer(
    config: TrainerConfig,
    *,
    custom_config: Mapping[str, Any],
    examples: types.BaseChannel,
    transform_graph: types.BaseChannel,
    schema: types.BaseChannel,
    base_model: types.BaseChannel | None = None,
    hyperparameters: types.BaseChannel | None = None,
) -> Trainer:
    """The stock component; `run_fn` finds everything in the channels and in `custom_config`."""
    return Trainer(
        run_fn=RUN_FN,
        examples=examples,
        transform_graph=transform_graph,
        schema=schema,
        base_model=base_model,
        hyperparameters=hyperparameters,
        train_args=trainer_pb2.TrainArgs(splits=[config.train_split]),
        eval_args=trainer_pb2.EvalArgs(splits=[config.validation_split]),
        custom_config=dict(custom_config),
    )


def training_config(
    config: TrainerConfig,
    features: FeatureConfig,
    level: Level,
    *,
    transform: str = "",
    checkpoint_root: str,
    vocabulary: str = "",
    digests: Mapping[str, str] = MappingProxyType({}),
    searched_code: Sequence[str] = (),
) -> dict[str, Any]:
    """Write the training into the `custom_config` of the Trainer, and of the Tuner before it."""
    return custom_config(
        RUN_FN,
        transform,
        *searched_code,
        config=config,
        features=features,
        level=level,
        transform=transform,
        vocabulary=vocabulary,
        # For TFX's cache; paths say too little.
        digests=dict(digests),
        checkpoint_root=checkpoint_root,
    )
