"""Records as tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

from yt8m.components.records.find import find_level, find_shards
from yt8m.schemas.features import FeatureConfig, Level

if TYPE_CHECKING:
    import tensorflow as tf


def dataset(
    pattern: str,
    level: str | None = None,
    *,
    batch_size: int = 128,
    features: FeatureConfig | None = None,
) -> tf.data.Dataset:
    """Every row of a directory's or a pattern's records once, in order, as batches of tensors.

    A batch is a dict as docs/architecture.md lists it: `id`, `labels` (class ids, padded with -1),
    and at video level `rgb` and `audio` [batch, size]. Without a `level` the records tell theirs.
    """
    from yt8m.components.console.quiet import silence_tensorflow

    silence_tensorflow()
    from yt8m.components.inputs.config import Source
    from yt8m.components.inputs.dataset import dataset_for_scoring

    shards = tuple(find_shards(pattern))
    source = Source(
        shards=shards,
        level=Level(level) if level else find_level(shards),
        features=features or FeatureConfig(),
    )
    return dataset_for_scoring(source, batch_size=batch_size)
