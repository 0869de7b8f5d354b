"""The index of a training's videos for the export: a function of its records alone.

The chief makes it where it exports, so it is the same under every strategy and after each resume.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf

from yt8m.components.inputs.config import Source
from yt8m.components.inputs.dataset import rows_of_records
from yt8m.components.inputs.shards import read_shards
from yt8m.components.models.config import RetrievalConfig
from yt8m.components.models.heads import Head
from yt8m.components.models.retrieval import Index, encode, unit_vectors
from yt8m.components.preprocessing.arithmetic import mean_of_normalized, normalize
from yt8m.schemas.batch import NO_LABEL, NUM_FRAMES
from yt8m.schemas.errors import ConfigError, DataError
from yt8m.schemas.features import LABELS, FeatureConfig, Level

_log = logging.getLogger(__name__)
_BATCH = 1024


def check_retrieval(
    config: RetrievalConfig | None, heads: Sequence[Head], *, transform: str
) -> None:
    """ConfigError where the head that is exported has not the labels of videos."""
    head = heads[0]
    if config is not None and transform:
        raise ConfigError(
            f"trainer.retrieval: neighbours are found by the stored features, and {transform!r} "
            "makes others of them; leave one of the two out"
        )
    if config is not None and (head.only_rated or not head.learns_classes):
        raise ConfigError(
            f"trainer.retrieval: neighbours have the labels of videos, but the first head, which "
            f"is exported, is {head.name!r}; put `entities` first, or leave retrieval out"
        )


def build_index(source: Source, config: RetrievalConfig) -> Index:
    """The videos of `source`, in their order; of more than `max_videos` evenly spaced ones."""
    total = sum(shard.records for shard in source.shards)
    if not total:
        raise DataError("retrieval: there are no videos to make an index of")
    kept = min(total, config.max_videos)
    records = read_shards(source.shards).enumerate()
    records = records.filter(lambda i, _: (i + 1) * kept // total > i * kept // total)
    rows = rows_of_records(records.map(lambda _, record: record), source, batch_size=_BATCH)
    encoded, labels = [], []
    for batch in rows.prefetch(1):
        units = unit_vectors(_video_vectors(batch, source), source.features.sizes)
        encoded.append(encode(units.numpy(), config.storage))
        labels.append(batch[LABELS].numpy())
    index = Index(
        keys=np.concatenate([keys for keys, _ in encoded]),
        scales=np.concatenate([scales for _, scales in encoded]),
        labels=_stacked(labels, source.features),
    )
    _log.info(
        "retrieval: an index of %d of the %d videos, %.1f MB", kept, total, index.nbytes / 1e6
    )
    return index


def _video_vectors(batch: Mapping[str, tf.Tensor], source: Source) -> tf.Tensor:
    names = source.features.names
    if source.level is Level.VIDEO:
        return normalize(batch, names=names, level=Level.VIDEO)
    return mean_of_normalized(batch, names=names, num_frames=batch[NUM_FRAMES])


def _stacked(parts: Sequence[np.ndarray], features: FeatureConfig) -> np.ndarray:
    width = max(part.shape[1] for part in parts)
    padded = [
        np.pad(part, [(0, 0), (0, width - part.shape[1])], constant_values=NO_LABEL)
        for part in parts
    ]
    labels = np.concatenate(padded).astype(np.int32)
    if labels.max(initial=NO_LABEL) >= features.num_classes:
        raise DataError(
            f"retrieval: the label {labels.max()} is not below features.num_classes = "
            f"{features.num_classes}"
        )
    return labels
