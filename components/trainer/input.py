"""What a training reads: its split, from a position on, and the split that it is validated on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace

import tensorflow as tf

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.inputs.config import BatchSlice, FrameChoice, FrameSampling, Source, source_of
from yt8m.components.inputs.dataset import dataset_for_scoring, dataset_for_training
from yt8m.components.inputs.rows import count_rows
from yt8m.components.models.config import DbofConfig, ModelConfig
from yt8m.components.trainer.job import TrainingJob
from yt8m.schemas.errors import ConfigError, UserError

# What is mapped over records is TensorFlow's own language already; autograph would rewrite it in
# vain, a second for each process that starts.
_NOT_CONVERTED = tf.autograph.experimental.do_not_convert


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """The splits of one job."""

    job: TrainingJob
    train: Source
    validation: Source | None  # None where the manifest has no such split
    sampling: FrameSampling | None

    @property
    def train_digest(self) -> str:
        """Names the records that positions count in.

        By the shards' names and sizes, for the content's digests are times where nothing was read.
        """
        rows = sorted((s.uri.rpartition("/")[2], s.bytes, s.records) for s in self.train.shards)
        return hashlib.sha256(json.dumps(rows).encode()).hexdigest()[:16]

    @property
    def train_examples(self) -> int:
        """Rows of an epoch: records, at segment level rated segments."""
        return sum(count_rows(self.train))

    @_NOT_CONVERTED
    def batches(self, rows: BatchSlice, *, examples: int) -> tf.data.Dataset:
        """Batches without end, from the one that begins at row `examples` of the training."""
        start_step = examples // rows.global_batch_size
        taken = replace(rows, seed=self.job.trainer.seed, start_step=start_step)
        return dataset_for_training(
            self.train, taken, sampling=self.sampling, config=self.job.trainer.inputs
        )

    @_NOT_CONVERTED
    def validation_batches(self, steps: int | None) -> tf.data.Dataset:
        """The validation split once, or its first `steps` batches."""
        if self.validation is None:
            raise ConfigError(
                f"trainer.validation_split = {self.job.trainer.validation_split!r}: "
                f"{self.job.manifest} has no records of this split"
            )
        batches = dataset_for_scoring(
            self.validation, batch_size=self.job.trainer.batch_size, sampling=self.sampling
        )
        return batches if steps is None else batches.take(steps)


def load_data(job: TrainingJob) -> TrainingData:
    """The data of `job`, by its manifest."""
    try:
        manifest = Manifest.from_json(storage.read_text(job.manifest))
    except FileNotFoundError as error:
        raise UserError(f"{job.manifest}: there is no manifest; ExampleGen writes it") from error
    if manifest.level is not job.level:
        raise ConfigError(
            f"data.level = {job.level.value}: the manifest's records are of level "
            f"{manifest.level.value} ({job.manifest})"
        )
    split = job.trainer.validation_split
    has_validation = manifest.examples(split) > 0
    if not has_validation and (waiting := job.trainer.waits_for_evaluations):
        raise ConfigError(
            f"trainer.validation_split = {split!r}: {job.manifest} has no records of this split, "
            f"and {waiting} needs evaluations of it"
        )
    return TrainingData(
        job=job,
        train=source_of(manifest, job.trainer.train_split, job.features),
        validation=source_of(manifest, split, job.features) if has_validation else None,
        sampling=frame_sampling(job.trainer.model),
    )


def frame_sampling(model: ModelConfig) -> FrameSampling | None:
    """Which frames `model` wants; None for all of them."""
    if isinstance(model, DbofConfig):
        return FrameSampling(choice=FrameChoice(model.sampling.value), frames=model.frames)
    return None
