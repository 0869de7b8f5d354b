"""Records as tensors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from yt8m.components.records.find import find_level, find_shards
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import FeatureConfig, Level

if TYPE_CHECKING:
    import tensorflow as tf


def dataset(
    pattern: str | Path,
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

    if batch_size < 1:
        raise UserError(f"batch_size = {batch_size}: must be 1 or more")
    silence_tensorflow()
    from yt8m.components.inputs.config import Source
    from yt8m.components.inputs.dataset import dataset_for_scoring

    shards = tuple(find_shards(str(pattern)))
    source = Source(
        shards=shards,
        level=_level(level, find_level(shards)),
        features=features or FeatureConfig(),
    )
    return dataset_for_scoring(source, batch_size=batch_size)


def _level(wanted: str | None, found: Level) -> Level:
    """`wanted`, as records of level `found` can be read; `found` where none is named."""
    if not wanted:
        return found
    known = [level.value for level in Level if level.is_sequence == found.is_sequence]
    if wanted not in known:
        raise UserError(
            f"level = {wanted!r}: the records are of level {found.value}, and are read as "
            f"{' or '.join(known)}"
        )
    return Level(wanted)
