"""The whole configuration: a node for each component, and the keys of the runner."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Annotated, Literal

from yt8m.components.artifacts.decision import GateMode
from yt8m.components.baseline.config import BaselineConfig
from yt8m.components.bulk_inferrer.config import BulkInferrerConfig
from yt8m.components.evaluator.config import EvaluatorConfig, GateConfig
from yt8m.components.example_gen.config import DataConfig, Ingest
from yt8m.components.infra_check.config import InfraCheckConfig
from yt8m.components.models.config import (
    FrameModelConfig,
    OwnHeadConfig,
    SegmentsHeadConfig,
    head_name,
)
from yt8m.components.pusher.config import PusherConfig
from yt8m.components.registry.config import RegistryConfig
from yt8m.components.report.config import ReportConfig
from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.transform.config import TransformConfig
from yt8m.components.tuner.config import TunerConfig
from yt8m.components.tuner.space import check_space
from yt8m.components.validation.config import ValidationConfig
from yt8m.schemas.config_tree import ConfigNode, require
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.limits import (
    Limit,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    between,
    matches,
    not_empty,
)
from yt8m.schemas.own_code import fault_of
from yt8m.schemas.roles import (
    AfterGate,
    Bookkeeping,
    Judging,
    OutputPath,
    OwnCode,
    Placement,
    SecretArguments,
    fields_with,
)
from yt8m.schemas.url import url_problem

_URL_WITHOUT_LOGIN = Limit(
    "http://... or https://..., without a login",
    lambda url: not url or ("@" not in url and not url_problem(url)),
)
EngineName = Literal["beam", "local"]  # TFX's runner: BeamDagRunner or LocalDagRunner
BeamOption = Annotated[
    str,
    matches(
        r"--(?!runner).*", 'a text such as "--parallelism=4"; the runner itself is beam.runner'
    ),
]


class BeamRunner(enum.Enum):
    """Beam runner of StatisticsGen, Transform and every other Beam step."""

    LOCAL = "local"
    FLINK = "flink"
    SPARK = "spark"
    PORTABLE = "portable"  # any other runner with a job server, by its address
    DATAFLOW = "dataflow"


@dataclass(frozen=True, kw_only=True)
class BeamConfig(ConfigNode):
    """The Beam runner and its options."""

    runner: BeamRunner = BeamRunner.LOCAL
    # Number of workers per stage on Flink; null: the cluster's default, often one.
    parallelism: PositiveInt | None = None
    options: tuple[BeamOption, ...] = ()  # Options passed to Beam unchanged, e.g. "--parallelism=4"


@dataclass(frozen=True, kw_only=True)
class MySqlConfig(ConfigNode):
    """A MySQL or MariaDB server. The password comes from an environment variable."""

    # Host name or address of the server.
    host: Annotated[str, not_empty("a host name or address")] = "127.0.0.1"
    port: Annotated[int, between(1, 65535)] = 3306  # Port of the server
    # Name of the database on the server.
    database: Annotated[str, not_empty("the name of a database")] = "yt8m_metadata"
    user: str = "yt8m"  # User name for the connection
    password_env: str = "YT8M_METADATA_PASSWORD"  # Environment variable with the user's password


@dataclass(frozen=True, kw_only=True)
class MetadataConfig(ConfigNode):
    """The metadata store; without `mysql`, SQLite at <root>/metadata.db."""

    mysql: MySqlConfig | None = None


@dataclass(frozen=True, kw_only=True)
class OpenLineageConfig(ConfigNode):
    """OpenLineage events of each run and step; with neither `url` nor `file`, none."""

    # URL that events are posted to, e.g. http://marquez:5000/api/v1/lineage; empty: none.
    url: Annotated[str, _URL_WITHOUT_LOGIN] = ""
    # File that each event is appended to as a line; empty: none.
    file: Annotated[str, OutputPath()] = ""
    namespace: Annotated[str, not_empty("a name")] = "yt8m"  # OpenLineage namespace of the jobs
    timeout_s: PositiveFloat = 5.0  # Seconds that a run waits at its end for pending events
    # Environment variable with the token for `url`, if it needs one.
    token_env: str = "YT8M_OPENLINEAGE_TOKEN"


@dataclass(frozen=True, kw_only=True)
class RetrainConfig(ConfigNode):
    """Settings of `yt8m retrain`: data, retries and alarms."""

    window: PositiveInt = 1  # Number of newest spans that one model is trained on
    warm_start: bool = True  # Start training from the newest blessed model
    # Check the version in service with the gate on the newest labelled records first; if it fails,
    # roll back to the newest older version that passes.
    rollback: bool = False
    retries: NonNegativeInt = 2  # Number of retries of a failed scheduled run
    # Seconds before the first retry; doubled for each further one.
    backoff_s: NonNegativeFloat = 60.0
    backoff_max_s: float = 3600.0  # Longest wait before a retry, in seconds
    timezone: str = "UTC"  # Time zone of --cron, e.g. Europe/Brussels
    # Days without new data after which an alarm is raised; null: never.
    alarm_days: PositiveFloat | None = None
    # File of Prometheus metrics, written after every retraining; empty: retrain.prom below the
    # root.
    metrics_file: Annotated[str, OutputPath()] = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        require(
            self.backoff_max_s >= self.backoff_s,
            "backoff_max_s",
            self.backoff_max_s,
            "backoff_s or more",
        )


@dataclass(frozen=True, kw_only=True)
class NotifyConfig(ConfigNode):
    """Notification of a run's outcome."""

    # Command that receives the outcome as JSON on its standard input. Records and reports show only
    # its first word.
    command: Annotated[tuple[str, ...], SecretArguments()] = ()
    timeout_s: PositiveFloat = 60.0  # Seconds after which the command is stopped


@dataclass(frozen=True, kw_only=True)
class RetentionConfig(ConfigNode):
    """Runs that `yt8m gc` keeps.

    A run goes when it is beyond both limits; the newest one, those whose models are in the
    registry, and those whose artifacts a kept run reused always stay.
    """

    keep_runs: PositiveInt = 10  # Number of newest runs to keep
    keep_days: NonNegativeFloat = 30.0  # Days for which every run is kept
    # Collect garbage after each run, as `yt8m gc` does; null: only after runs of `yt8m retrain`.
    after_each_run: bool | None = None


@dataclass(frozen=True, kw_only=True)
class PipelineConfig(ConfigNode):
    """The complete configuration of a run."""

    name: Annotated[str, Bookkeeping()] = "yt8m"  # Name of the pipeline in metadata and on Kubeflow
    # Directory or bucket of artifacts, metadata, checkpoints and logs.
    root: Annotated[str, OutputPath()] = ""
    data: DataConfig = field(default_factory=DataConfig)
    features: FeatureConfig = field(default_factory=FeatureConfig)
    validation: Annotated[ValidationConfig, Judging()] = field(default_factory=ValidationConfig)
    transform: TransformConfig = field(default_factory=TransformConfig)
    baseline: BaselineConfig = field(default_factory=BaselineConfig)
    # Search for better values of the trainer's configuration first; null: no Tuner step.
    tuner: TunerConfig | None = None
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    evaluator: Annotated[EvaluatorConfig, Judging()] = field(default_factory=EvaluatorConfig)
    gate: Annotated[GateConfig, Judging()] = field(default_factory=GateConfig)
    infra_check: Annotated[InfraCheckConfig, Judging()] = field(default_factory=InfraCheckConfig)
    pusher: Annotated[PusherConfig, AfterGate()] = field(default_factory=PusherConfig)
    registry: Annotated[RegistryConfig, AfterGate()] = field(default_factory=RegistryConfig)
    # Predict a split with the blessed model; null: no BulkInferrer step.
    bulk_inferrer: Annotated[BulkInferrerConfig | None, AfterGate()] = None
    report: Annotated[ReportConfig, AfterGate()] = field(default_factory=ReportConfig)
    beam: Annotated[BeamConfig, Placement()] = field(default_factory=BeamConfig)
    metadata: Annotated[MetadataConfig, Placement()] = field(default_factory=MetadataConfig)
    openlineage: Annotated[OpenLineageConfig, Bookkeeping()] = field(
        default_factory=OpenLineageConfig
    )
    retrain: Annotated[RetrainConfig, Bookkeeping()] = field(default_factory=RetrainConfig)
    notify: Annotated[NotifyConfig, Bookkeeping()] = field(default_factory=NotifyConfig)
    retention: Annotated[RetentionConfig, Bookkeeping()] = field(default_factory=RetentionConfig)

    def __post_init__(self) -> None:
        """Check the rules between nodes."""
        super().__post_init__()
        level, model = self.data.level, self.trainer.model
        judged = self.gate.mode is not GateMode.NONE or not self.retrain.rollback
        require(judged, "retrain.rollback", self.retrain.rollback, "false where gate.mode is none")
        require(
            level.is_sequence or not isinstance(model, FrameModelConfig),
            "trainer.model.name",
            model.name,
            f"a model of video vectors where data.level is {level.value}; this one needs frames",
        )
        for name in ("max_latency_ms", "max_memory_mb"):
            limit = getattr(self.gate, name)
            require(
                limit is None or self.infra_check.enabled,
                f"gate.{name}",
                limit,
                "omitted where infra_check.enabled is false, because nothing measures it",
            )
        named = bool(self.evaluator.vocabulary) or not self.trainer.learns_verticals
        require(
            named,
            "evaluator.vocabulary",
            self.evaluator.vocabulary,
            "a vocabulary.csv where trainer.heads has verticals, which are read from it",
        )
        for node in ("trainer", "evaluator"):
            segments = getattr(self, node).segments
            require(
                segments is None or level is Level.FRAME,
                f"{node}.segments",
                segments,
                f"null where data.level is {level.value}; it is for models of whole videos",
            )
        require(
            not self.transform.materialize or level is Level.VIDEO,
            "transform.materialize",
            True,
            f"false where data.level is {level.value}: it would write half a megabyte a video",
        )
        require(
            not self.transform.materialize or self.data.ingest is not Ingest.REFERENCE,
            "data.ingest",
            self.data.ingest.value,
            "link, copy or rewrite with transform.materialize: TFX reads the artifact's own files",
        )
        require(
            level is Level.SEGMENT or not any(one.whole_videos for one in self.trainer.mixture),
            "trainer.mixture.whole_videos",
            True,
            f"false where data.level is {level.value}, whose rows are whole videos",
        )
        own = any(isinstance(head, OwnHeadConfig) for head in self.trainer.heads)
        require(
            not (self.transform.materialize and own),
            "transform.materialize",
            True,
            "false with a head `own`, because Transform writes only the labels",
        )
        self._require_predicted_split()
        if self.tuner is not None:
            check_space(self.tuner, self.trainer)
        heads = [head_name(head) for head in self.trainer.heads]
        rated = level is Level.SEGMENT or not any(
            isinstance(head, SegmentsHeadConfig) for head in self.trainer.heads
        )
        require(
            rated, "trainer.heads", heads, f"without segments where data.level is {level.value}"
        )

    @property
    def own_modules(self) -> list[tuple[str, str]]:
        """Modules of the user's own code, each with where it is named."""
        return [
            (code.path, module)
            for code in fields_with(self, OwnCode)
            for module in code.role.modules(code.value)
        ]

    def own_code_problems(self) -> list[str]:
        """Say what is wrong with the names of the user's own code, which is read, not imported."""
        return [
            f"{code.path}: {problem}"
            for code in fields_with(self, OwnCode)
            for path in code.role.paths(code.value)
            if (problem := fault_of(path, code.role.called_with, code.role.subclass_of))
        ]

    def _require_predicted_split(self) -> None:
        if self.bulk_inferrer is None:
            return
        split, known = self.bulk_inferrer.split, self.data.split_names
        allowed = f"a split of the data: {', '.join(sorted(known)) or 'none'}"
        require(split in known, "bulk_inferrer.split", split, allowed)
