"""A training job: everything that `run` needs, as one JSON file that any process can read."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from typing import Annotated, Any

from yt8m.components.inputs.config import check_buckets
from yt8m.components.trainer.config import CacheKind, TrainerConfig
from yt8m.components.trainer.optimizers import OwnOptimizerConfig
from yt8m.schemas.code_digest import code_digest
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.json_file import JsonFile, fields_of
from yt8m.schemas.roles import (
    Content,
    OfExport,
    ResultNeutral,
    SourcePath,
    own_modules,
    without,
)

FILE_NAME = "job.json"  # where a backend hands it to its processes
CONTENT = "content"  # among the settings: digests
RUN_FN = "yt8m.components.trainer.backends.run.run_fn"  # what TFX's Trainer calls


@dataclass(frozen=True, kw_only=True)
class TrainingJob(JsonFile):
    """One training, completely described; only TF_CONFIG differs between its processes."""

    manifest: Annotated[str, SourcePath(Content.FILE)]  # address of manifest.json
    checkpoint_dir: str
    log_dir: str  # TensorBoard, training.jsonl
    export_dir: str  # the SavedModel
    evaluation_dir: str = ""  # exports of the continuous evaluation; empty: below log_dir
    transform_graph: Annotated[str, SourcePath(Content.DIRECTORY)] = ""
    transform: str = ""  # dotted path of a function of the user's own; empty: our arithmetic
    vocabulary: Annotated[str, SourcePath(Content.FILE)] = ""
    # An export to start from, empty for none.
    base_model: Annotated[str, SourcePath(Content.DIRECTORY)] = ""
    code_version: str = ""  # of the code that every process must have; empty: any
    # Digests of what the weights depend on beyond the settings, each by what it is called.
    content: dict[str, str] = field(default_factory=dict)
    heartbeat: str = ""  # a file that changes while somebody follows the training; empty: none
    abandoned_after_s: float = 0.0  # without such a change it saves and ends; 0: never
    level: Level = Level.VIDEO
    features: FeatureConfig = field(default_factory=FeatureConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)

    @property
    def model(self) -> dict[str, Any]:
        """The settings that a checkpoint fixes: the weights' names and shapes follow from them."""
        described: dict[str, Any] = to_dict(
            {
                "model": self.trainer.model,
                "network": self.trainer.network,
                "heads": self.trainer.heads,
                "sharing": self.trainer.sharing,
                "optimizer": self._optimizer,
                "features": self.features,
                "level": self.level,
                "transform": self.transform,
            }
        )
        return described

    @property
    def _optimizer(self) -> str:
        """Its name, and whether it has averages of the weights: what it keeps in a checkpoint."""
        config = self.trainer.optimizer
        name = config.optimizer if isinstance(config, OwnOptimizerConfig) else config.name
        return name if self.trainer.ema_momentum is None else f"{name}, averaging"

    @property
    def settings(self) -> dict[str, Any]:
        """All that decides the weights, noted beside the checkpoints."""
        return {
            "trainer": without(self.trainer, ResultNeutral, OfExport, SourcePath),
            "features": to_dict(self.features),
            "data": {"level": self.level.value},
            "transform": {"function": self.transform},
            CONTENT: self.content,
        }

    @property
    def key(self) -> str:
        """Names the training: another value of what decides the weights is another key."""
        text = json.dumps(self.settings, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def shared_settings(self) -> dict[str, Any]:
        """The settings that all synchronous processes must share; paths may differ.

        So may what changes nothing of the result, unless it decides when processes meet.
        """
        return {
            "trainer": without(self.trainer, ResultNeutral, SourcePath, keep_in_step=True),
            "features": to_dict(self.features),
            "transform": self.transform,
            "level": self.level.value,
        }

    @property
    def exporters_dir(self) -> str:
        """Where the exporters of continuous evaluation write."""
        return self.evaluation_dir or f"{self.log_dir}/export"

    def check_segments(self) -> None:
        """ConfigError where rated segments are to be scored by a model that sees no whole video."""
        segments = self.trainer.segments
        if segments is not None and self.level is not Level.FRAME:
            raise ConfigError(
                f"trainer.segments = {segments.value!r}: must be null where data.level is "
                f"{self.level.value}; it is for models that train on whole videos with frames"
            )

    def check_cache(self) -> None:
        """ConfigError where what is to be kept is not in the records, or is not what is needed."""
        cache, level = self.trainer.cache, self.level
        where = f"trainer.cache = {cache.value!r}: must be"
        if cache is not CacheKind.OFF and not level.is_sequence:
            raise ConfigError(
                f"{where} 'off' where data.level is {level.value}, whose records have no frames"
            )
        if cache is not CacheKind.MEANS:
            return
        if level is not Level.FRAME:
            raise ConfigError(
                f"{where} 'frames' or 'off' where data.level is {level.value}, whose rows are few "
                "frames of a video"
            )
        if self.transform:
            raise ConfigError(
                f"{where} 'frames' or 'off' with transform.function = {self.transform!r}, which "
                "needs frames"
            )

    def check_buckets(self, *, replicas: int) -> None:
        """ConfigError unless `replicas` can share the batches of like length that it asks for."""
        check_buckets(
            self.trainer.inputs,
            level=self.level,
            batch_size=self.trainer.batch_size,
            accumulate=self.trainer.accumulate,
            replicas=replicas,
        )


def training_code(trainer: TrainerConfig, transform: str) -> str:
    """Digest the code of a training, ours and the user's own, as it is where this is called."""
    return code_digest(RUN_FN, transform, *own_modules(trainer))


def parse_job(text: str) -> TrainingJob:
    """The inverse of `TrainingJob.to_json`; ConfigError says what is wrong."""
    try:
        return from_dict(TrainingJob, fields_of(text))  # a person may have written it
    except ValueError as error:
        raise ConfigError(f"the training job is not JSON: {error}") from error
