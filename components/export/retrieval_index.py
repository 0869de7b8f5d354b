"""The index of a training's videos for the export: a function of its records alone.

The chief makes it where it exports, so it is the same under every strategy and after each resume.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import tensorflow as tf

from yt8m.components.inputs.config import Source
from yt8m.components.inputs.dataset import rows_of_records
from yt8m.components.inputs.faults import explaining_faults
from yt8m.components.inputs.record_index import index_of
from yt8m.components.inputs.record_reader import RecordReader
from yt8m.components.models.config import RetrievalConfig
from yt8m.components.models.heads import Head
from yt8m.components.models.network import Network
from yt8m.components.models.retrieval import Index, encode, joined, unit_vectors
from yt8m.components.preprocessing.arithmetic import mean_of_normalized, normalize
from yt8m.schemas.batch import NO_LABEL, NUM_FRAMES
from yt8m.schemas.errors import ConfigError, DataError
from yt8m.schemas.features import LABELS, Level

_log = logging.getLogger(__name__)


def check_retrieval(
    config: RetrievalConfig | None,
    heads: Sequence[Head],
    *,
    transform: str,
    network: type[Network] = Network,
) -> None:
    """ConfigError where the head that is exported has not what `config` asks of it."""
    head = heads[0]
    if config is not None and config.combination and network.scores is not Network.scores:
        raise ConfigError(
            "trainer.retrieval.combination: looks at the probabilities of each member, which "
            "`scores` of trainer.network does not give; set trainer.retrieval.combination=[]"
        )
    if config is not None and transform:
        raise ConfigError(
            "trainer.retrieval: neighbours are searched by the stored features, which "
            f"{transform!r} changes; omit one of the two"
        )
    if config is not None and (head.only_rated or not head.learns_classes):
        raise ConfigError(
            f"trainer.retrieval: neighbours have the labels of videos, but the first head, which "
            f"is exported, is {head.name!r}; put `entities` first, or omit retrieval"
        )


def build_index(source: Source, config: RetrievalConfig) -> Index:
    """The videos of `source`, in their order; of more than `max_videos` evenly spaced ones.

    The others are not read.
    """
    total = sum(shard.records for shard in source.shards)
    if not total:
        raise DataError("retrieval: there are no videos to index")
    kept = min(total, config.max_videos)
    numbers = (np.arange(1, kept + 1, dtype=np.int64) * total - 1) // kept
    with explaining_faults(source):
        index = joined([_part(batch, source, config) for batch in _batches(source, numbers)])
    if (highest := index.labels.max(initial=NO_LABEL)) >= source.features.num_classes:
        raise DataError(
            f"retrieval: the label {highest} is not below features.num_classes = "
            f"{source.features.num_classes}"
        )
    _log.info(
        "retrieval: an index of %d of the %d videos, %.1f MB", kept, total, index.nbytes / 1e6
    )
    return index


def _batches(source: Source, numbers: np.ndarray) -> tf.data.Dataset:
    """The videos of these numbers, which ascend."""
    reader = RecordReader(source, index_of(source), whole_shards=False)
    size = source.level.records_at_once

    def records() -> Iterator[bytes]:
        for start in range(0, len(numbers), size):
            yield from reader.read(numbers[start : start + size])

    read = tf.data.Dataset.from_generator(records, output_signature=tf.TensorSpec([], tf.string))
    return rows_of_records(read, source, batch_size=size).prefetch(1)


def _part(batch: Mapping[str, tf.Tensor], source: Source, config: RetrievalConfig) -> Index:
    units = unit_vectors(_video_vectors(batch, source), source.features.sizes)
    keys, scales = encode(units.numpy(), config.storage)
    return Index(keys, scales, batch[LABELS].numpy().astype(np.int32))


def _video_vectors(batch: Mapping[str, tf.Tensor], source: Source) -> tf.Tensor:
    names = source.features.names
    if source.level is Level.VIDEO:
        return normalize(batch, names=names, level=Level.VIDEO)
    return mean_of_normalized(batch, names=names, num_frames=batch[NUM_FRAMES])
