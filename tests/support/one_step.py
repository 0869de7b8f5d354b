"""One update of a small network's weights, in this process."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from training import trainer_config

from yt8m.components.models.config import LogisticConfig, ModelConfig, Sharing
from yt8m.components.models.heads import create_heads
from yt8m.components.models.layers import Recipe
from yt8m.components.models.network import Network
from yt8m.components.trainer.loop.step import Replicas, StepResult, TrainStep
from yt8m.components.trainer.optimizers import create_optimizer
from yt8m.schemas.features import FeatureConfig, Level

FEATURES = FeatureConfig(names=("rgb",), sizes=(6,), num_classes=5)
ROWS, RATE = 8, 0.5


class Update(NamedTuple):
    """Weights before and after, and what the step told."""

    before: list[np.ndarray]
    after: list[np.ndarray]
    told: StepResult


def make_batch() -> dict[str, Any]:
    """Videos of one label and of two, in turns."""
    rng = np.random.default_rng(0)
    labels = np.full([ROWS, 3], -1)
    labels[:, 0] = rng.integers(0, 5, ROWS)
    labels[::2, 1] = (labels[::2, 0] + 1) % 5
    return {
        "rgb": rng.normal(size=[ROWS, 6]).astype(np.float32),
        "labels": labels,
        "position": np.arange(ROWS),
    }


@functools.cache  # a second one would give its reductions the keys of the first one's
def mirrored(devices: int) -> tf.distribute.Strategy:
    """This machine's processor as several devices; it has been divided before."""
    return tf.distribute.MirroredStrategy([f"/cpu:{number}" for number in range(devices)])


def one_step(
    batch: dict[str, Any],
    *,
    use_xla: bool = False,
    l2: float = 1e-8,
    model: ModelConfig | None = None,
    network_type: type[Network] = Network,
    devices: int = 1,
    **trainer: Any,
) -> Update:
    """The update of `model`, a logistic network, by `batch`, on `devices` devices that share it."""
    settings = {"batch_size": ROWS, "optimizer": {"name": "sgd", "learning_rate": 1.0}}
    config = trainer_config(**{**settings, **trainer})
    strategy = mirrored(devices) if devices > 1 else tf.distribute.get_strategy()
    with strategy.scope():
        network = network_type(
            model or LogisticConfig(l2=l2),
            features=FEATURES,
            level=Level.VIDEO,
            heads=create_heads(
                config.heads, features=FEATURES, level=Level.VIDEO, splits=config.mixed_splits
            ),
            sharing=Sharing.TRUNK,
            recipe=Recipe(seed=1, fuse=use_xla),
        )
        optimizer = create_optimizer(config.optimizer)
        optimizer.build(network.trainable_variables)
    before = network.get_weights()
    step = TrainStep(
        config,
        network=network,
        optimizer=optimizer,
        strategy=strategy,
        replicas=Replicas(total=devices, local=devices),
        use_xla=use_xla,
    )
    dataset = tf.data.Dataset.from_tensors(batch).repeat()
    told = step.run(iter(dataset), tf.constant([RATE]))
    return Update(before, network.get_weights(), told)
