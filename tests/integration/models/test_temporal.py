"""Models that see frames tell classes apart that the mean over the frames cannot."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest
import tensorflow as tf
import tf_keras
from records import make_dataset
from sources import source_of_files

from yt8m.components.inputs.config import Slice, Source
from yt8m.components.inputs.dataset import dataset_for_scoring, dataset_for_training
from yt8m.components.models.config import (
    DbofConfig,
    FrameLogisticConfig,
    ModelConfig,
    NetVladConfig,
    NextVladConfig,
    RnnConfig,
)
from yt8m.components.models.heads import create_heads
from yt8m.components.models.network import Network, create_network
from yt8m.components.trainer.data import frame_sampling
from yt8m.components.trainer.validator import Validator
from yt8m.schemas.features import FeatureConfig, Level

pytestmark = pytest.mark.slow

FEATURES = FeatureConfig(sizes=(64, 16), num_classes=40)
VIDEOS, BATCH, EPOCHS = 3000, 64, 6
MODELS: dict[str, tuple[ModelConfig, float]] = {
    "dbof": (DbofConfig(clusters=256, hidden=64), 2e-3),
    "netvlad": (NetVladConfig(clusters=8, hidden=64, context_gating=True), 2e-3),
    "nextvlad": (NextVladConfig(clusters=16, hidden=64, groups=4), 2e-3),
    "lstm": (RnnConfig(cells=64), 4e-3),
}
CLEARLY = 0.1


@pytest.fixture(scope="module")
def videos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(
        tmp_path_factory.mktemp("temporal"),
        level="frame",
        temporal=True,
        train=VIDEOS,
        eval=600,
        classes=FEATURES.num_classes,
        sizes=FEATURES.size_by_name,
        min_frames=40,
        max_frames=60,
    )


@pytest.fixture(scope="module")
def gap_of_the_mean(videos: Path) -> float:
    return _trained_gap(videos, FrameLogisticConfig(), rate=3e-2)


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_frames_clearly_beats_the_mean_of_frames(
    name: str, videos: Path, gap_of_the_mean: float
) -> None:
    model, rate = MODELS[name]
    assert _trained_gap(videos, model, rate=rate) > gap_of_the_mean + CLEARLY


def _trained_gap(videos: Path, model: ModelConfig, *, rate: float) -> float:
    """GAP on the other videos after a few epochs of Adam with a cosine schedule."""
    heads = create_heads((), features=FEATURES, level=Level.FRAME)
    network = create_network(model, features=FEATURES, level=Level.FRAME, heads=heads)
    train, others = (
        source_of_files(sorted(videos.glob(pattern)), Level.FRAME, FEATURES)
        for pattern in ("train*", "validate*")
    )
    _train(network, train, model, rate)
    batches = dataset_for_scoring(others, batch_size=200, sampling=frame_sampling(model))
    return Validator(network).score(batches).gap


def _train(network: Network, source: Source, model: ModelConfig, rate: float) -> None:
    steps = VIDEOS * EPOCHS // BATCH
    schedule = tf_keras.optimizers.schedules.CosineDecay(
        0.0, steps, warmup_target=rate, warmup_steps=steps // 20
    )
    optimizer = tf_keras.optimizers.Adam(schedule, global_clipnorm=1.0)
    head = network.heads[0]

    @functools.partial(tf.function, autograph=False, reduce_retracing=True)
    def step(batch: dict[str, tf.Tensor]) -> None:
        with tf.GradientTape() as tape:
            parts = network.head_loss(head, batch, network(batch, training=True)[head.name])
            loss = parts.total / parts.normaliser
        gradients = tape.gradient(loss, network.trainable_variables)
        optimizer.apply_gradients(zip(gradients, network.trainable_variables, strict=True))

    optimizer.build(network.trainable_variables)
    taken = Slice(global_batch_size=BATCH, seed=0)
    batches = dataset_for_training(source, taken, sampling=frame_sampling(model))
    for batch in batches.take(steps):
        step(batch)
