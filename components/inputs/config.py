"""Settings of the input pipeline, and the plain values that readers take."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Annotated

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Manifest, Shard
from yt8m.schemas.config_tree import ConfigNode
from yt8m.schemas.errors import ConfigError, DataError
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.limits import PositiveInt
from yt8m.schemas.roles import Placement


@dataclass(frozen=True, kw_only=True)
class InputConfig(ConfigNode):
    """Reading of training data. Only the shuffle changes what a step sees."""

    # Megabytes of shards that records are shuffled within; null: the whole epoch if records can be
    # read individually (frame level, uncompressed, local or indexed), else 64.
    shuffle_mb: PositiveInt | None = None
    # Number of batches whose rows are regrouped by length at frame level; batches of longer rows
    # are smaller. 1 disables bucketing.
    bucket_batches: PositiveInt = 1
    # Factor that every bucket's batch size is a multiple of; the number of workers must divide it.
    bucket_multiple: PositiveInt = 8
    prefetch: Annotated[PositiveInt, Placement()] = 4  # Number of batches prepared in advance


_SHUFFLE_MB = 64  # where a block of shards is held in memory
_READING = ("checksum", "full")  # policies of verification that read every record


class FrameChoice(enum.Enum):
    """Selection of a video's frames in training; scoring takes evenly spaced ones."""

    RANDOM_FRAMES = "random_frames"  # with replacement, so that every video gives the same number
    RANDOM_SEQUENCE = "random_sequence"


@dataclass(frozen=True, kw_only=True)
class FrameSampling:
    """Frames are chosen before they are copied."""

    choice: FrameChoice
    frames: int


@dataclass(frozen=True, kw_only=True)
class LabelColumn:
    """Integers of each record beside its labels: the classes of a task of the user's own."""

    name: str
    num_classes: int


@dataclass(frozen=True, kw_only=True)
class Source:
    """Source of records: shards, level and features."""

    shards: tuple[Shard, ...]
    level: Level
    features: FeatureConfig
    # Whether the shards' `segments` are right; if not they are counted before training.
    segments_known: bool = False
    # Whether the shards' digests are of their records, and not of files' sizes and times.
    digests_known: bool = False
    index: str = ""  # address of ExampleGen's index of records, empty where there is none
    transformed: bool = False  # whether the records are Transform's, with one vector `features`
    fraction: float = 1.0  # of the rows, which training takes: the first ones of each shard
    columns: tuple[LabelColumn, ...] = ()  # which batches have beside the labels
    averaged: bool = False  # at frame level: batches have the mean of all frames, and no frames

    @property
    def column_names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def shuffle_mb(self, config: InputConfig) -> int | None:
        """Megabytes of shards to shuffle among; None: the whole epoch, none of which is held."""
        is_held = self.level is not Level.FRAME or any(shard.compression for shard in self.shards)
        is_near = all(storage.local_path(shard.uri) is not None for shard in self.shards)
        is_held = is_held or not (self.index or is_near)
        return config.shuffle_mb or (_SHUFFLE_MB if is_held else None)


@dataclass(frozen=True, kw_only=True)
class EpochOrder:
    """Everything that decides the order of an epoch's rows, beside the shards themselves."""

    seed: int
    batch: int  # rows of the global batch that they are dealt out for
    origin: int = 0  # the position at which a batch begins; others lie whole batches away
    shards_per_block: int


@dataclass(frozen=True, kw_only=True)
class ReadingOrder:
    """The order of the epoch in which a training was started again, and of those after it.

    The epoch that was interrupted keeps its own, so that each of its rows comes once.
    """

    epoch: int
    current: EpochOrder
    later: EpochOrder

    def of(self, epoch: int) -> EpochOrder:
        return self.current if epoch <= self.epoch else self.later


@dataclass(frozen=True, kw_only=True)
class BatchSlice:
    """The rows that one process takes of each global batch, and at which step it begins.

    `seed` and the step decide what a global batch holds; the number of workers only who gets
    which of its rows. Step s has the positions from `origin` plus s global batches on.
    """

    global_batch_size: int
    seed: int = 0
    start_step: int = 0
    num_workers: int = 1
    worker_index: int = 0
    origin: int = 0
    order: ReadingOrder | None = None  # None: that which suits the batches

    @property
    def slots(self) -> range:
        """Which rows of a global batch are this worker's."""
        size, workers = self.global_batch_size, self.num_workers
        return range(self.worker_index * size // workers, (self.worker_index + 1) * size // workers)

    def __post_init__(self) -> None:
        size, workers = self.global_batch_size, self.num_workers
        if size < 1 or workers < 1 or size % workers:
            raise ValueError(f"a global batch of {size} rows does not divide among {workers}")
        if not 0 <= self.worker_index < workers or self.start_step < 0:
            raise ValueError(f"no worker {self.worker_index} of {workers}, step {self.start_step}")


def check_buckets(
    config: InputConfig, *, level: Level, batch_size: int, accumulate: int, replicas: int
) -> None:
    """ConfigError unless batches of like length suit `level` and can be shared by `replicas`.

    A bucket holds the more rows the shorter they are, a multiple of `bucket_multiple`. Every
    replica must get equally many of them, for the loss is the mean of the replicas' means, and
    every micro-batch (`accumulate` of `batch_size` rows) at least one.
    """
    if config.bucket_batches == 1:
        return
    if level is not Level.FRAME:
        raise ConfigError(
            f"trainer.inputs.bucket_batches = {config.bucket_batches}: must be 1 where data.level "
            f"is {level.value}, whose rows are all of one length"
        )
    multiple, rows = config.bucket_multiple, batch_size * accumulate * replicas
    where = f"trainer.inputs.bucket_multiple = {multiple}"
    if multiple % replicas or multiple < accumulate * replicas:
        raise ConfigError(
            f"{where}: must be a multiple of the number of replicas ({replicas}), and "
            f"{accumulate * replicas} or more with trainer.accumulate = {accumulate}, so that each "
            "of them has rows of every bucket"
        )
    if rows % multiple:
        raise ConfigError(
            f"{where}: must divide the global batch of {rows} rows (trainer.batch_size = "
            f"{batch_size}, accumulate = {accumulate}, {replicas} replicas)"
        )


def source_of(
    manifest: Manifest, split: str, features: FeatureConfig, *, index: str = ""
) -> Source:
    """The records of one split; DataError where there are none."""
    shards = tuple(shard for shard in manifest.split(split) if shard.records)
    if not shards:
        known = ", ".join(manifest.split_names) or "none"
        raise DataError(f"the manifest has no records in the split {split!r}; splits: {known}")
    return Source(
        shards=shards,
        level=manifest.level,
        features=features,
        segments_known=manifest.verify == "full",
        digests_known=manifest.verify in _READING,
        transformed=manifest.transformed,
        index=index,
    )
