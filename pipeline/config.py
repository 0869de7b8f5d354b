"""The whole configuration: every component's node, and the few that belong to the runner."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from yt8m.components.baseline.config import BaselineConfig
from yt8m.components.evaluator.config import EvaluatorConfig, GateConfig
from yt8m.components.example_gen.config import DataConfig
from yt8m.components.models.config import FrameModelConfig, SegmentsHeadConfig
from yt8m.components.pusher.config import PusherConfig
from yt8m.components.report.config import ReportConfig
from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.transform.config import TransformConfig
from yt8m.components.validation.config import ValidationConfig
from yt8m.schemas.config_tree import require
from yt8m.schemas.features import FeatureConfig, Level


class BeamRunner(enum.Enum):
    """The engine under StatisticsGen, Transform and whatever else is written in Beam."""

    LOCAL = "local"
    FLINK = "flink"
    SPARK = "spark"
    DATAFLOW = "dataflow"


@dataclass(frozen=True, kw_only=True)
class BeamConfig:
    """The beam node of the configuration."""

    runner: BeamRunner = BeamRunner.LOCAL
    options: tuple[str, ...] = ()  # handed to Beam as they are, e.g. "--parallelism=4"

    def __post_init__(self) -> None:
        for option in self.options:
            require(
                option.startswith("--") and not option.startswith("--runner"),
                "options",
                self.options,
                'texts such as "--parallelism=4"; the runner itself is beam.runner',
            )


@dataclass(frozen=True, kw_only=True)
class MySqlConfig:
    """A MySQL or MariaDB server. The password is read from the environment, never from here."""

    host: str = "127.0.0.1"
    port: int = 3306
    database: str = "yt8m_metadata"
    user: str = "yt8m"
    password_env: str = "YT8M_METADATA_PASSWORD"

    def __post_init__(self) -> None:
        require(bool(self.host), "host", self.host, "a host name or address")
        require(0 < self.port < 65536, "port", self.port, "1 to 65535")
        require(bool(self.database), "database", self.database, "the name of a database")


@dataclass(frozen=True, kw_only=True)
class MetadataConfig:
    """The metadata node of the configuration; without `mysql`, SQLite at <root>/metadata.db."""

    mysql: MySqlConfig | None = None


@dataclass(frozen=True, kw_only=True)
class RetrainConfig:
    """The retrain node of the configuration."""

    window: int = 1  # how many of the newest spans one model is made from
    warm_start: bool = True  # from the newest blessed model
    retries: int = 2
    backoff_s: float = 60.0  # before the first retry; doubled before each further one
    backoff_max_s: float = 3600.0
    timezone: str = "UTC"
    alarm_days: float | None = None  # an alarm where nothing new came for longer; null: never
    metrics_file: str = ""  # of --cron, for Prometheus; empty: retrain.prom below the root

    def __post_init__(self) -> None:
        require(self.window >= 1, "window", self.window, "1 or more")
        require(self.retries >= 0, "retries", self.retries, "0 or more")
        require(self.backoff_s >= 0, "backoff_s", self.backoff_s, "0 or more")
        require(
            self.backoff_max_s >= self.backoff_s,
            "backoff_max_s",
            self.backoff_max_s,
            "backoff_s or more",
        )


@dataclass(frozen=True, kw_only=True)
class NotifyConfig:
    """The notify node of the configuration."""

    command: tuple[str, ...] = ()  # gets the outcome as JSON on its standard input
    timeout_s: float = 60.0

    def __post_init__(self) -> None:
        require(self.timeout_s > 0, "timeout_s", self.timeout_s, "more than 0")


@dataclass(frozen=True, kw_only=True)
class RetentionConfig:
    """The retention node of the configuration.

    A run goes when it is beyond both limits; the newest one, those whose models are in the
    registry, and those whose artifacts a kept run reused always stay.
    """

    keep_runs: int = 10
    keep_days: float = 30.0
    after_each_run: bool = False

    def __post_init__(self) -> None:
        require(self.keep_runs >= 1, "keep_runs", self.keep_runs, "1 or more")
        require(self.keep_days >= 0, "keep_days", self.keep_days, "0 or more")


@dataclass(frozen=True, kw_only=True)
class PipelineConfig:
    """One run, completely described. `create_pipeline` needs nothing else."""

    name: str = "yt8m"
    root: str = ""  # artifacts, metadata, checkpoints, logs
    data: DataConfig = field(default_factory=DataConfig)
    features: FeatureConfig = field(default_factory=FeatureConfig)
    validation: ValidationConfig = field(default_factory=ValidationConfig)
    transform: TransformConfig = field(default_factory=TransformConfig)
    baseline: BaselineConfig = field(default_factory=BaselineConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    evaluator: EvaluatorConfig = field(default_factory=EvaluatorConfig)
    gate: GateConfig = field(default_factory=GateConfig)
    pusher: PusherConfig = field(default_factory=PusherConfig)
    report: ReportConfig = field(default_factory=ReportConfig)
    beam: BeamConfig = field(default_factory=BeamConfig)
    metadata: MetadataConfig = field(default_factory=MetadataConfig)
    retrain: RetrainConfig = field(default_factory=RetrainConfig)
    notify: NotifyConfig = field(default_factory=NotifyConfig)
    retention: RetentionConfig = field(default_factory=RetentionConfig)

    def __post_init__(self) -> None:
        """What holds between nodes."""
        level, model = self.data.level, self.trainer.model
        require(
            level.is_sequence or not isinstance(model, FrameModelConfig),
            "trainer.model.name",
            model.name,
            f"a model of video vectors where data.level is {level.value}; this one needs frames",
        )
        named = bool(self.evaluator.vocabulary) or not self.trainer.learns_verticals
        require(
            named,
            "evaluator.vocabulary",
            self.evaluator.vocabulary,
            "a vocabulary.csv where trainer.heads has verticals, which are read from it",
        )
        heads = [head.name for head in self.trainer.heads]
        rated = level is Level.SEGMENT or not any(
            isinstance(head, SegmentsHeadConfig) for head in self.trainer.heads
        )
        require(
            rated, "trainer.heads", heads, f"without segments where data.level is {level.value}"
        )
