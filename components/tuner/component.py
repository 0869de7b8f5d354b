"""TFX's Tuner as this pipeline uses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfx import types
from tfx.components import Tuner
from tfx.proto import trainer_pb2

from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.tuner.config import TunerConfig
from yt8m.schemas.code_digest import code_digest
from yt8m.schemas.config_tree import to_dict

TUNER_FN = "yt8m.components.tuner.run.tuner_fn"


def create_tuner(
    config: TunerConfig,
    trainer: TrainerConfig,
    *,
    custom_config: Mapping[str, Any],
    examples: types.BaseChannel,
    transform_graph: types.BaseChannel,
    schema: types.BaseChannel,
    base_model: types.BaseChannel | None = None,
) -> Tuner:
    """The stock component; `custom_config` is that of the Trainer, whose values it searches."""
    code = sorted({TUNER_FN, *custom_config["code"]})
    return Tuner(
        tuner_fn=TUNER_FN,
        examples=examples,
        transform_graph=transform_graph,
        schema=schema,
        base_model=base_model,
        train_args=trainer_pb2.TrainArgs(splits=[trainer.train_split]),
        eval_args=trainer_pb2.EvalArgs(splits=[trainer.validation_split]),
        custom_config={
            **custom_config,
            "tuner": to_dict(config),
            "code": code,
            "code_version": code_digest(*code),
        },
    )
