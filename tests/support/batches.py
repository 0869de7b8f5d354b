"""Small batches of each level, made by hand, and the networks that look at them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from yt8m.components.models.config import (
    Activation,
    Cell,
    DbofConfig,
    FrameLogisticConfig,
    LogisticConfig,
    MlpConfig,
    ModelConfig,
    MoeConfig,
    NetVladConfig,
    NextVladConfig,
    Pooling,
    RnnConfig,
    SequencePooling,
    Sharing,
    TransformerConfig,
)
from yt8m.components.models.heads import Head, create_heads
from yt8m.components.models.layers import Recipe
from yt8m.components.models.network import Network
from yt8m.schemas.features import FeatureConfig, Level

CLASSES = 12
FEATURES = FeatureConfig(sizes=(16, 8), num_classes=CLASSES)

# Every model, small.
MODELS: dict[str, ModelConfig] = {
    "logistic": LogisticConfig(),
    "moe": MoeConfig(),
    "moe_gated": MoeConfig(context_gating=True),
    "mlp": MlpConfig(width=16, blocks=2, dropout=0.2),
    "mlp_gated_moe": MlpConfig(
        width=16, batch_norm=True, context_gating=True, classifier=MoeConfig()
    ),
    "mlp_members": MlpConfig(width=16, dropout=0.2, members=3),
    "mlp_apart": MlpConfig(
        width=16,
        blocks=0,
        modality_norm=True,
        input_dropout=0.2,
        classifier=LogisticConfig(co_occurrence=8),
    ),
    "frame_logistic": FrameLogisticConfig(),
    "dbof": DbofConfig(clusters=32, hidden=16, frames=40),
    "dbof_average_gated": DbofConfig(
        clusters=32, hidden=16, frames=40, pooling=Pooling.AVERAGE, context_gating=True
    ),
    "dbof_sigmoid": DbofConfig(clusters=32, hidden=16, frames=40, activation=Activation.SIGMOID),
    "dbof_mlp": DbofConfig(
        clusters=32,
        hidden=16,
        frames=40,
        classifier=MlpConfig(width=16, dropout=0.2, classifier=MoeConfig()),
    ),
    "lstm": RnnConfig(cells=8, layers=1),
    "gru": RnnConfig(cells=8, cell=Cell.GRU, layers=2),
    "netvlad": NetVladConfig(clusters=4, hidden=8),
    "netvlad_gated": NetVladConfig(clusters=4, hidden=8, context_gating=True, dropout=0.1),
    "nextvlad": NextVladConfig(clusters=4, hidden=16),
    "nextvlad_apart": NextVladConfig(clusters=4, hidden=16, apart=True),
    "transformer": TransformerConfig(heads=2, width=8, feed_forward=16, dropout=0.0),
    "transformer_token": TransformerConfig(
        layers=1, heads=2, width=8, feed_forward=16, dropout=0.0, pooling=SequencePooling.CLS
    ),
}
VIDEO_MODELS = ("logistic", "moe", "moe_gated", "mlp", "mlp_gated_moe", "mlp_members", "mlp_apart")
FRAME_MODELS = tuple(name for name in MODELS if name not in VIDEO_MODELS)


def level_of(model: str) -> Level:
    return Level.VIDEO if model in VIDEO_MODELS else Level.FRAME


def create_network(  # noqa: PLR0913  (as Network has them)
    model: ModelConfig,
    *,
    features: FeatureConfig,
    level: Level,
    heads: Sequence[Head],
    sharing: Sharing = Sharing.ALL,
    seed: int = 0,
    compute_dtype: str = "float32",
    fuse: bool = False,
    transform: str = "",
) -> Network:
    """The network of `model`, with new weights; its heads share one output."""
    recipe = Recipe(seed=seed, compute_dtype=compute_dtype, fuse=fuse)
    return Network(
        model,
        features=features,
        level=level,
        heads=heads,
        sharing=sharing,
        recipe=recipe,
        transform=transform,
    )


def make_network(model: str, level: Level | None = None, **arguments: Any) -> Network:
    """The small network of that name with the level's own head."""
    level = level or level_of(model)
    heads = create_heads((), features=FEATURES, level=level)
    return create_network(MODELS[model], features=FEATURES, level=level, heads=heads, **arguments)


def make_batch(level: Level, *, rows: int = 6, frames: int = 10, seed: int = 0) -> dict[str, Any]:
    """A batch as the input pipeline would give it, from random numbers."""
    rng = np.random.default_rng(seed)
    batch: dict[str, np.ndarray] = {"position": np.arange(rows, dtype=np.int64)}
    if level is Level.VIDEO:
        for name, size in FEATURES.size_by_name.items():
            batch[name] = rng.normal(size=(rows, size)).astype(np.float32)
    else:
        counts = rng.integers(1, frames + 1, rows).astype(np.int32)
        batch["num_frames"] = counts
        there = np.arange(frames)[None, :, None] < counts[:, None, None]
        for name, size in FEATURES.size_by_name.items():
            values = rng.integers(0, 256, (rows, frames, size)) * there
            batch[name] = values.astype(np.uint8)
    batch["labels"] = random_ids(rng, rows)
    if level is Level.SEGMENT:
        batch["video_labels"] = batch["labels"]
        batch["rated"] = batch["labels"].copy()
        batch["labels"] = np.where(np.arange(rows)[:, None] % 2, batch["labels"], -1)
    return {name: tf.constant(value) for name, value in batch.items()}


def random_ids(rng: np.random.Generator, rows: int, most: int = 4) -> np.ndarray:
    """[rows, most] int64: distinct class ids, as many as chance wants, padded with -1."""
    ids = np.full((rows, most), -1, np.int64)
    for row in ids:
        count = int(rng.integers(0, most + 1))
        row[:count] = rng.choice(CLASSES, count, replace=False)
    return ids
