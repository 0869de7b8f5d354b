"""Input of a training: its split, from a position on, and the validation split."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.artifacts.read import read_file
from yt8m.components.artifacts.record_index import FILE_NAME
from yt8m.components.compat import answer_calls, call_where_it_runs
from yt8m.components.inputs.config import (
    BatchSlice,
    FrameChoice,
    FrameSampling,
    LabelColumn,
    ReadingOrder,
    Source,
    source_of,
)
from yt8m.components.inputs.dataset import (
    create_step_reader,
    dataset_for_scoring,
    dataset_for_training,
    dataset_of_steps,
    records_with,
)
from yt8m.components.inputs.order import continue_order, epoch_order, take_fraction
from yt8m.components.inputs.record_index import rows_by_shard
from yt8m.components.inputs.records_digest import records_digest
from yt8m.components.inputs.step_reader import Columns, StepReader
from yt8m.components.models.config import (
    DbofConfig,
    HeadConfig,
    ModelConfig,
    OwnHeadConfig,
)
from yt8m.components.records.vocabulary import vocabulary_digest
from yt8m.components.trainer.config import CacheKind
from yt8m.components.trainer.job import TrainingJob
from yt8m.components.trainer.mixture import as_segments, mixed, rows_of_splits, slices_of_splits
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import ConfigError, UserError
from yt8m.schemas.features import Level, SegmentScoring
from yt8m.schemas.own_code import load_named

# What is mapped over records is TensorFlow's own language already; autograph would rewrite it in
# vain, a second for each process that starts.
_TOKEN = "yt8m_step_reader"
_NOT_CONVERTED = tf.autograph.experimental.do_not_convert


class ValidationBatches(NamedTuple):
    """Batches to be scored, and the whole videos of the same records where segments need them."""

    rows: tf.data.Dataset
    videos: tf.data.Dataset | None = None


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """The splits of one job."""

    job: TrainingJob
    train: Source
    validation: Source | None  # None where the manifest has no such split
    others: Mapping[str, Source]  # further splits that evaluations score, by name
    mixture: Mapping[str, Source]  # further splits to learn from, by name
    sampling: FrameSampling | None

    @functools.cached_property
    def digests(self) -> dict[str, str]:
        """Digests of the records that this training reads, by their splits."""
        sources = {self.job.trainer.train_split: self.train}
        if self.validation is not None:
            sources[self.job.trainer.validation_split] = self.validation
        sources |= self.mixture
        return {split: records_digest(source) for split, source in sources.items()}

    @property
    def model(self) -> dict[str, Any]:
        """The identity that checkpoints continue: the model, and the data of the positions."""
        job = self.job
        vocabulary = vocabulary_digest(job.vocabulary) if job.trainer.learns_verticals else ""
        splits = [job.trainer.train_split, *self.mixture]
        digests = " ".join(self.digests[split] for split in splits)
        data = {"data": digests, "train_fraction": job.trainer.train_fraction}
        return {**job.model, "vocabulary": vocabulary, **data}

    @property
    def train_examples(self) -> int:
        """Rows of an epoch: records, at segment level rated segments."""
        return sum(self._rows)

    @property
    def _rows(self) -> tuple[int, ...]:
        """The rows of each shard that are trained on."""
        return take_fraction(rows_by_shard(self.train), self.train.fraction)

    def epoch_rows(self, batch: int) -> int:
        """The rows that steps of `batch` rows take while the training split is read once."""
        own = rows_of_splits(self.job.trainer.mixture, batch)[0]
        return round(self.train_examples * batch / own)

    def reading(
        self, batch: int, *, examples: int, before: ReadingOrder | None = None
    ) -> BatchSlice:
        """Global batches of `batch` rows from the row `examples` on, read in the order `before`."""
        config, seed, rows = self.job.trainer.inputs, self.job.trainer.seed, self._rows
        taken = BatchSlice(global_batch_size=batch, seed=seed)
        order = continue_order(
            epoch_order(self.train.shards, rows, taken, shuffle_mb=self.train.shuffle_mb(config)),
            before,
            position=examples,
            rows_per_epoch=sum(rows),
            unit=batch * config.bucket_batches,
        )
        origin = order.later.origin
        return replace(taken, order=order, origin=origin, start_step=(examples - origin) // batch)

    @_NOT_CONVERTED
    def batches(self, taken: BatchSlice) -> tf.data.Dataset:
        """Batches without end, from the one on with which `taken` begins."""
        path = self.job.trainer.input
        config = self.job.trainer
        batches = self._of(self.train, taken)
        if config.mixture:
            slices = slices_of_splits(config.mixture, taken)
            parts = [self._of(self.train, slices[0])]
            for one, part in zip(config.mixture, slices[1:], strict=True):
                rows = self._of(self.mixture[one.split], part)
                parts.append(rows.map(as_segments) if one.whole_videos else rows)
            batches = mixed(parts)
        return load_named(path, "trainer.input")(batches, taken) if path else batches

    def _of(self, source: Source, taken: BatchSlice) -> tf.data.Dataset:
        return dataset_for_training(
            source,
            taken,
            sampling=self.sampling,
            config=self.job.trainer.inputs,
            cache=self._has_cache,
        )

    @property
    def _has_cache(self) -> bool:
        return self.job.trainer.cache is not CacheKind.OFF

    @_NOT_CONVERTED
    def batches_of_worker(self, taken: BatchSlice, worker: tf.Tensor) -> tf.data.Dataset:
        """The batches of worker number `worker`, read by whatever process makes them.

        The graph is the same for all workers; each must have called `serve`.
        """
        described = tf.constant(json.dumps(to_dict(taken)))

        def read(step: tf.Tensor, columns: Columns) -> list[tf.Tensor]:
            types = [column.dtype for column in columns.values()]
            return call_where_it_runs(_TOKEN, [step, worker, described], types)

        return dataset_of_steps(
            self.train, taken, read, sampling=self.sampling, config=self.job.trainer.inputs
        )

    def serve(self) -> None:
        """Let this process read what `batches_of_worker` asks it for."""

        @functools.lru_cache(maxsize=1)
        def reader(worker: int, described: bytes) -> StepReader:
            taken = from_dict(BatchSlice, json.loads(described))
            return create_step_reader(
                self.train,
                replace(taken, worker_index=worker),
                sampling=self.sampling,
                config=self.job.trainer.inputs,
                cache=self._has_cache,
            )

        def read(step: int, worker: int, described: bytes) -> list[np.ndarray]:
            return reader(int(worker), described).arrays(int(step))

        answer_calls(_TOKEN, read)

    @_NOT_CONVERTED
    def validation_batches(
        self, steps: int | None, *, num_workers: int = 1, worker_index: int = 0
    ) -> ValidationBatches:
        """The validation split once, or its first `steps` batches; a worker's part."""
        if self.validation is None:
            raise ConfigError(
                f"trainer.validation_split = {self.job.trainer.validation_split!r}: "
                f"{self.job.manifest} has no records of this split"
            )
        return self._scored_batches(
            self.validation, steps, num_workers=num_workers, worker_index=worker_index
        )

    @_NOT_CONVERTED
    def other_batches(self, split: str, steps: int | None) -> ValidationBatches:
        """The same of another split that evaluations score."""
        return self._scored_batches(self.others[split], steps)

    def _scored_batches(
        self, rows: Source, steps: int | None, *, num_workers: int = 1, worker_index: int = 0
    ) -> ValidationBatches:
        size = self.job.trainer.batch_size
        max_rows = None if steps is None else steps * size
        read = functools.partial(
            dataset_for_scoring,
            batch_size=size,
            sampling=self.sampling,
            num_workers=num_workers,
            worker_index=worker_index,
        )
        videos = None
        if self.job.trainer.segments in (SegmentScoring.PRODUCT, SegmentScoring.MEAN):
            records = records_with(rows, max_rows)
            videos = read(replace(rows, level=Level.FRAME), max_rows=records)
        return ValidationBatches(rows=read(rows, max_rows=max_rows), videos=videos)


def load_data(job: TrainingJob) -> TrainingData:
    """The data of `job`, by its manifest."""
    try:
        manifest = read_file(job.manifest, Manifest.from_json)
    except FileNotFoundError as error:
        raise UserError(f"{job.manifest}: there is no manifest; ExampleGen writes it") from error
    if manifest.level is not job.level:
        raise ConfigError(
            f"data.level = {job.level.value}: the manifest's records are of level "
            f"{manifest.level.value} ({job.manifest})"
        )
    split = job.trainer.validation_split
    index = storage.join(job.manifest.rpartition("/")[0], FILE_NAME)
    has_validation = manifest.examples(split) > 0
    if not has_validation and (waiting := job.trainer.waits_for_evaluations):
        raise ConfigError(
            f"trainer.validation_split = {split!r}: {job.manifest} has no records of this split, "
            f"and {waiting} needs evaluations of it"
        )
    if job.trainer.segments is not None:
        job.check_segments()
    job.check_cache()

    columns = label_columns(job.trainer.heads)

    def read(split: str) -> Source:
        source = source_of(manifest, split, job.features, index=index)
        return replace(source, columns=columns)

    def scored(split: str) -> Source:
        source = read(split)
        if job.trainer.segments is None:
            return source
        return replace(source, level=Level.SEGMENT, segments_known=False)

    others = job.trainer.evaluation.other_splits
    further = {one.split: one for one in job.trainer.mixture}
    named = [("evaluation.other_splits", name) for name in others]
    for key, name in [*named, *(("mixture", name) for name in further)]:
        if not manifest.examples(name):
            raise ConfigError(f"trainer.{key}: {job.manifest} has no records of {name!r}")
    return TrainingData(
        job=job,
        train=replace(
            read(job.trainer.train_split),
            fraction=job.trainer.train_fraction,
            averaged=job.trainer.cache is CacheKind.MEANS,
        ),
        validation=scored(split) if has_validation else None,
        others={name: scored(name) for name in others},
        mixture={
            name: replace(read(name), level=Level.FRAME) if one.whole_videos else read(name)
            for name, one in further.items()
        },
        sampling=frame_sampling(job.trainer.model),
    )


def label_columns(heads: Sequence[HeadConfig]) -> tuple[LabelColumn, ...]:
    """The columns that custom heads learn, each once; ConfigError where two differ."""
    columns: dict[str, LabelColumn] = {}
    for head in heads:
        if isinstance(head, OwnHeadConfig):
            column = LabelColumn(name=head.labels, num_classes=head.num_classes)
            if columns.setdefault(column.name, column) != column:
                raise ConfigError(
                    f"heads.{head.task}.num_classes = {head.num_classes}: must be the same in "
                    f"each head that learns {head.labels!r}"
                )
    return tuple(columns.values())


def frame_sampling(model: ModelConfig) -> FrameSampling | None:
    """Which frames `model` wants; None for all of them."""
    if isinstance(model, DbofConfig):
        return FrameSampling(choice=FrameChoice(model.sampling.value), frames=model.frames)
    return None
