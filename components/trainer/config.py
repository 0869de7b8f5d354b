"""Settings of the training: the trainer node of the configuration."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Literal

from yt8m.components.inputs.config import InputConfig
from yt8m.components.models.config import (
    LOOKS_AT_FRAMES,
    DbofConfig,
    HeadConfig,
    LogisticConfig,
    LossName,
    ModelConfig,
    OwnHeadConfig,
    RetrievalConfig,
    SegmentsHeadConfig,
    Sharing,
    VerticalsHeadConfig,
    head_name,
)
from yt8m.components.trainer.backend_config import (
    BackendConfig,
    InProcessBackend,
    LocalProcessesBackend,
)
from yt8m.components.trainer.kubernetes_config import KubernetesBackend, TFJobBackend
from yt8m.components.trainer.learning_rate import (
    CosineSchedule,
    ExponentialSchedule,
    Schedule,
    StaircaseSchedule,
)
from yt8m.components.trainer.optimizers import NamedOptimizer, default_optimizer
from yt8m.components.trainer.tf_config import find_processes_problem
from yt8m.schemas.config_tree import ConfigNode, require
from yt8m.schemas.features import SegmentScoring
from yt8m.schemas.limits import (
    DottedPath,
    Fraction,
    FractionBelowOne,
    Limit,
    NonNegativeFloat,
    NonNegativeInt,
    OptionalDottedPath,
    PositiveFloat,
    PositiveFraction,
    PositiveInt,
    above,
    below,
    matches,
    not_empty,
)
from yt8m.schemas.metric_names import GAP, LOSS
from yt8m.schemas.roles import (
    Bookkeeping,
    Content,
    OfExport,
    OwnCode,
    Placement,
    SourcePath,
)

DirectoryName = Annotated[str, matches(r"[^/]+", "one plain directory name")]

WITHOUT_END = 2**53  # steps of a training that something else ends
_COMPILING_S = 600.0  # and more than it takes to import, to compile, to validate for the first time


class Clip(enum.Enum):
    """Target of `clip_gradient_norm`, after the gradients of all replicas are summed."""

    VARIABLE = "variable"  # the norm of each variable's gradient, as in the starter code
    GLOBAL = "global"  # the norm of all gradients together
    VALUE = "value"  # each element, as Nabu's clip_grad_value


class Histogram(enum.Enum):
    """Distributions that TensorBoard shows; rows are the first 64 of the training."""

    WEIGHTS = "weights"
    UPDATES = "updates"  # of the weights, by the steps that were taken together
    GRADIENTS = "gradients"  # of the labels' losses, on those rows
    ACTIVATIONS = "activations"  # each layer's output, on those rows
    INPUTS = "inputs"  # of those rows


class Precision(enum.Enum):
    """Number format of matrix products; weights, loss and optimiser stay fp32."""

    AUTO = "auto"  # bf16 if the processor has native bf16 products
    FP32 = "fp32"
    BF16 = "bf16"


class Switch(enum.Enum):
    """A choice that may be left to the trainer."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class CacheKind(enum.Enum):
    """Part of the training's records that is kept on this machine."""

    FRAMES = "frames"
    MEANS = "means"
    OFF = "off"


class DevicePlacement(enum.Enum):
    """Use of devices by a process outside a cluster."""

    AUTO = "auto"  # mirrored on a machine with several GPUs
    ONE_DEVICE = "one_device"
    MIRRORED = "mirrored"


def _is_metric(name: str) -> bool:
    if name in (GAP, LOSS) or name.startswith(f"{LOSS}_"):  # of a head, see `__post_init__`
        return True
    # Only now: it needs numpy, which commands that show a configuration do without.
    from yt8m.components.metrics.catalogue import METRICS

    return any(metric.name == name for metric in METRICS)


_METRICS = f"{GAP}, {LOSS}, {LOSS}_<head> or another metric of docs/gating.md"
# What evaluations are compared by.
SteeringMetric = Annotated[str, Limit(_METRICS, _is_metric)]
# The same, or a metric that `trainer.metrics` adds; TrainerConfig checks the others.
OwnOrSteeringMetric = Annotated[
    str, matches(r"[a-z][a-z0-9_]*", f"{_METRICS}, or one of trainer.metrics")
]


@dataclass(frozen=True, kw_only=True)
class CheckpointConfig(ConfigNode):
    """Times at which checkpoints are saved, besides the end, SIGTERM and validations."""

    every_s: Annotated[PositiveFloat, Bookkeeping()] = 900.0  # Seconds between checkpoints
    # Steps between checkpoints; null: by time only.
    every_steps: Annotated[PositiveInt | None, Bookkeeping(in_step=True)] = None
    # Number of newest checkpoints to keep; null: all.
    keep: Annotated[PositiveInt | None, Bookkeeping()] = 3
    # Hours per checkpoint that is kept in addition; null: none.
    keep_every_hours: Annotated[PositiveFloat | None, Bookkeeping()] = None


@dataclass(frozen=True, kw_only=True)
class InTrainingValidationConfig(ConfigNode):
    """Validation that steers training (Nabu's valid_frequency, valid_adapt, go_back, num_tries)."""

    # Steps between validations; null: no validation during training.
    every_steps: PositiveInt | None = None
    metric: OwnOrSteeringMetric = LOSS  # Metric that decides
    steps: PositiveInt | None = None  # Number of batches per validation; null: the whole split
    halve: bool = True  # Halve the learning rate when a validation is worse
    go_back: bool = False  # Return to the best checkpoint when a validation is worse
    # Number of worse validations after which training stops; null: never.
    num_tries: PositiveInt | None = None
    # Smallest improvement that counts for `num_tries`, as a share of the best value.
    min_relative_change: NonNegativeFloat = 0.0
    reset_tries: bool = True  # Reset the count of worse validations to 0 after a better one
    # Heads whose losses validation leaves out (Nabu's tasks_excluded_for_val).
    excluded_heads: tuple[str, ...] = ()
    keep_best: bool = True  # Keep the best model instead of the last


@dataclass(frozen=True, kw_only=True)
class NoEarlyStopping(ConfigNode):
    """No early stopping."""

    name: Literal["none"] = "none"


@dataclass(frozen=True, kw_only=True)
class StopWhenNotBetter(ConfigNode):
    """Stop when the metric has not improved for `patience_steps`."""

    name: Literal["not_better"] = "not_better"
    metric: OwnOrSteeringMetric = GAP  # Metric that decides
    patience_steps: PositiveInt = 1000  # Steps without an improvement after which training stops
    min_change: NonNegativeFloat = 0.0  # Smallest improvement that counts
    # Smallest improvement that counts, as a share of the best value.
    min_relative_change: NonNegativeFloat = 0.0
    min_steps: NonNegativeInt = 0  # Steps before which training never stops


@dataclass(frozen=True, kw_only=True)
class StopWhenReached(ConfigNode):
    """Stop when the metric has reached `value`."""

    name: Literal["reached"] = "reached"
    metric: OwnOrSteeringMetric = GAP  # Metric that decides
    value: float = 1.0  # Value to reach: a lower limit, or for a loss an upper limit


@dataclass(frozen=True, kw_only=True)
class OwnStop(ConfigNode):
    """Stop when a custom function returns true."""

    name: Literal["own"] = "own"
    # Dotted path of a function that takes the evaluations so far, [(step, metrics)], and returns
    # whether to stop.
    policy: Annotated[DottedPath, OwnCode(called_with=("evaluations",))]
    metric: OwnOrSteeringMetric = GAP  # Metric whose best weights are exported


EarlyStopping = NoEarlyStopping | StopWhenNotBetter | StopWhenReached | OwnStop


@dataclass(frozen=True, kw_only=True)
class LatestExporterConfig(ConfigNode):
    """Exports every evaluated checkpoint and keeps the newest ones."""

    name: Literal["latest"] = "latest"
    directory: DirectoryName = "latest"  # Directory of the exports
    keep: PositiveInt = 5  # Number of exports to keep


@dataclass(frozen=True, kw_only=True)
class BestExporterConfig(ConfigNode):
    """Exports a checkpoint that is better than all before, including before a restart."""

    name: Literal["best"] = "best"
    directory: DirectoryName = "best"  # Directory of the exports
    metric: OwnOrSteeringMetric = GAP  # Metric that decides
    keep: PositiveInt = 5  # Number of exports to keep


@dataclass(frozen=True, kw_only=True)
class FinalExporterConfig(ConfigNode):
    """Exports the last checkpoint when training has ended."""

    name: Literal["final"] = "final"
    directory: DirectoryName = "final"  # Directory of the exports


@dataclass(frozen=True, kw_only=True)
class OwnExporterConfig(ConfigNode):
    """Exports the checkpoints that a custom function chooses."""

    name: Literal["own"] = "own"
    directory: DirectoryName = "own"  # Directory of the exports
    # Dotted path of a function of (step, metrics, exported steps, final) that returns whether to
    # export.
    exporter: Annotated[DottedPath, OwnCode(called_with=("step", "metrics", "exported", "final"))]
    keep: PositiveInt = 5  # Number of exports to keep


ExporterConfig = LatestExporterConfig | BestExporterConfig | FinalExporterConfig | OwnExporterConfig


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig(ConfigNode):
    """Continuous evaluation of checkpoints, by the evaluator role or locally (EvalSpec)."""

    enabled: Annotated[bool, Bookkeeping()] = True  # Evaluate checkpoints while the model trains
    name: Annotated[str, Bookkeeping()] = ""  # Suffix of the evaluation's log directory
    steps: PositiveInt | None = 100  # Number of batches per evaluation; null: the whole split
    # Further splits to score; their curves are `<split>/<metric>` and decide nothing.
    other_splits: Annotated[tuple[str, ...], Bookkeeping()] = ()
    # Seconds before the first evaluation.
    start_delay_s: Annotated[NonNegativeFloat, Bookkeeping()] = 120.0
    # Seconds between the starts of two evaluations.
    throttle_s: Annotated[NonNegativeFloat, Bookkeeping()] = 600.0
    # Evaluate on GPUs, which a concurrent training may need; false: on the CPU.
    uses_gpu: Annotated[bool, Placement()] = False
    # Seconds without a new checkpoint after which the evaluator exits; null: four times
    # checkpoint.every_s, and at least the time for the others to start.
    idle_limit_s: Annotated[float | None, Bookkeeping()] = None
    # Exporters of evaluated checkpoints.
    exporters: Annotated[tuple[ExporterConfig, ...], OfExport()] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        names = [exporter.directory for exporter in self.exporters]
        require(len(set(names)) == len(names), "exporters", names, "of distinct directories")


@dataclass(frozen=True, kw_only=True)
class LogConfig(ConfigNode):
    """Logs during training, written by the chief."""

    # Steps between two lines of the log.
    every_steps: Annotated[PositiveInt, Bookkeeping(in_step=True)] = 10
    # Rows of the last batch that training metrics are computed on.
    metric_rows: Annotated[PositiveInt, Bookkeeping(in_step=True)] = 128
    # Steps between histograms and gradient norms; null: none.
    histograms_every_steps: Annotated[PositiveInt | None, Bookkeeping(in_step=True)] = 500
    # Quantities that have a histogram.
    histograms: Annotated[tuple[Histogram, ...], Bookkeeping()] = (Histogram.WEIGHTS,)
    tensorboard: Annotated[bool, Bookkeeping()] = True  # Write TensorBoard event files


@dataclass(frozen=True, kw_only=True)
class DistributionConfig(ConfigNode):
    """Devices of a process, and timeouts between processes."""

    placement: DevicePlacement = DevicePlacement.AUTO
    max_devices: PositiveInt | None = None  # Number of devices that a process uses; null: all
    memory_growth: bool = True  # Allocate GPU memory as needed; false: all of it at the start
    log_placement: bool = False  # Log the device of each operation, as TensorFlow places it
    # Seconds after which an unreachable peer ends the process with an error.
    peer_timeout_s: PositiveFloat = 300.0
    # Seconds of silence after which a synchronous process counts as lost and training ends.
    heartbeat_timeout_s: PositiveFloat = 60.0
    # Seconds by which asynchronous workers start apart: worker i starts i + 1 times this late.
    worker_stagger_s: NonNegativeFloat = 5.0
    # Longest start delay of an asynchronous worker, in seconds.
    worker_stagger_max_s: PositiveFloat = 60.0

    def stagger_s(self, worker: int) -> float:
        """How long after the chief an asynchronous worker begins (Estimator's meaning)."""
        return min((worker + 1) * self.worker_stagger_s, self.worker_stagger_max_s)


@dataclass(frozen=True, kw_only=True)
class WeightRule(ConfigNode):
    """A rule for updates of the weights whose names match."""

    # Regular expression that matches the beginning of a weight's name; the first matching rule
    # applies. A rule that matches no weight is an error, which lists the names.
    weights: Annotated[str, not_empty("a regular expression for names of weights")]
    rate: NonNegativeFloat = 1.0  # Factor of the updates; 0: the weights are frozen
    # Largest norm of the weights of one output; null: no limit.
    max_norm: PositiveFloat | None = None


@dataclass(frozen=True, kw_only=True)
class WeightSource(ConfigNode):
    """Source of the weights whose names match, in a warm start."""

    # Regular expression that matches a weight's whole name; the first match applies.
    weights: Annotated[str, not_empty("a regular expression for names of weights")]
    # Name of the weight in the source, with \\1 for the first group; empty: initialise it.
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class MixedSplit(ConfigNode):
    """A further split to train on."""

    split: Annotated[str, not_empty("the name of a split")]  # Name of the further split
    share: Annotated[float, above(0), below(1)]  # Share of each batch's rows
    whole_videos: bool = False  # Use whole videos with their labels as rows, at segment level


@dataclass(frozen=True, kw_only=True)
class TeacherConfig(ConfigNode):
    """A teacher model for distillation: its probabilities are targets beside the labels."""

    # SavedModel with the signature `features`, or a push directory, whose version in service is
    # read when training begins.
    saved_model: Annotated[
        str, not_empty("a SavedModel or a push directory"), SourcePath(Content.MODEL)
    ]
    weight: Fraction = 0.5  # Weight of the teacher's probabilities; the labels have the rest
    # Temperature that both models' log-odds are divided by, to soften the targets.
    temperature: PositiveFloat = 1.0


@dataclass(frozen=True, kw_only=True)
class TrainerConfig(ConfigNode):
    """The training: model, data, optimisation, duration and placement."""

    model: ModelConfig = field(default_factory=LogisticConfig)  # Network architecture and its sizes
    # Dotted path of a subclass of yt8m.components.models.network.Network, e.g. for a custom loss.
    network: Annotated[OptionalDottedPath, OwnCode(subclass_of="Network")] = ""
    # Dotted paths of custom metrics, which validations and evaluations also compute.
    metrics: Annotated[tuple[DottedPath, ...], OwnCode(tuple)] = ()
    # Dotted paths of subclasses of yt8m.components.trainer.loop.hook.Hook, called between steps.
    hooks: Annotated[tuple[DottedPath, ...], OwnCode(tuple, called_with=())] = ()
    # Dotted path of a function of (batches, rows) that returns the tf.data.Dataset to train on: the
    # reader's `batches`, changed, or others of the same columns. `rows` describes the part of the
    # data that this process reads.
    input: Annotated[OptionalDottedPath, OwnCode(called_with=("batches", "rows"))] = ""
    heads: tuple[HeadConfig, ...] = ()  # Heads of the model; empty: the level's default head
    sharing: Sharing = Sharing.TRUNK
    batch_size: PositiveInt = 1024  # Rows per replica and micro-batch
    accumulate: PositiveInt = 1  # Number of micro-batches of `batch_size` per update
    # Updates after which training ends, unless `num_epochs` ends it first.
    max_steps: PositiveInt | None = None
    num_epochs: PositiveFloat | None = 5.0  # Passes over the data after which training ends
    # Seconds of training after which it ends, including those before a restart.
    max_seconds: PositiveFloat | None = None
    seed: int = 0  # Seed for the weights, the order of the records and the dropout
    # Optimiser and its arguments.
    optimizer: NamedOptimizer = field(default_factory=default_optimizer)
    schedule: Schedule = field(default_factory=StaircaseSchedule)  # Schedule of the learning rate
    regularisation_penalty: NonNegativeFloat = 1.0  # Factor of all L2 terms in the loss
    # Limit that gradients are clipped to, as `clip` says; 0: no clipping.
    clip_gradient_norm: NonNegativeFloat = 1.0
    clip: Clip = Clip.VARIABLE
    # Clip each micro-batch's gradient too, as if it were the whole batch.
    clip_micro_batches: bool = False
    # Rules for freezing, slowing or limiting weights by name.
    weight_rules: tuple[WeightRule, ...] = ()
    # Momentum of the moving average of the weights that is validated and exported (0.99: over about
    # 100 steps); null: use the weights themselves.
    ema_momentum: FractionBelowOne | None = None
    # Use the mean gradient over the examples; false: the sum (Nabu).
    normalize_gradients: bool = True
    precision: Precision = Precision.AUTO
    xla: Switch = Switch.AUTO  # Compile with XLA; `auto` and `on` exclude parameter servers
    # Steps per TensorFlow call; null: chosen automatically.
    steps_per_loop: Annotated[PositiveInt | None, Placement(in_step=True)] = None
    train_split: str = "train"  # Split to train on
    # Share of the split's rows to train on: the first ones of each shard.
    train_fraction: PositiveFraction = 1.0
    # Further splits, each with a share of every batch; the rest of the batch comes from
    # `train_split`, whose passes `num_epochs` counts.
    mixture: tuple[MixedSplit, ...] = ()
    validation_split: str = "eval"  # Split that validations and continuous evaluation score
    # Method by which a frame-level model scores the validation split's rated segments; null: score
    # whole videos.
    segments: SegmentScoring | None = None
    # Export or checkpoint to take matching weights from; empty: none.
    warm_start: Annotated[str, SourcePath(Content.WEIGHTS)] = ""
    # Weights that a warm start takes, and their sources; empty: those of the same name.
    warm_start_weights: tuple[WeightSource, ...] = ()
    start_from_base: bool = False  # Start from the baseline's weights, for retraining
    teacher: TeacherConfig | None = None  # Teacher model for distillation; null: labels only
    # Nearest-neighbour head in the exported model; null: the network alone.
    retrieval: Annotated[RetrievalConfig | None, OfExport()] = None
    # Delete the checkpoints of an earlier model first.
    start_new_model: Annotated[bool, Bookkeeping()] = False
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    validation: InTrainingValidationConfig = field(default_factory=InTrainingValidationConfig)
    # Rule that ends training before `max_steps` and `num_epochs`.
    early_stopping: EarlyStopping = field(default_factory=NoEarlyStopping)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    log: LogConfig = field(default_factory=LogConfig)
    distribution: Annotated[DistributionConfig, Placement()] = field(
        default_factory=DistributionConfig
    )
    inputs: InputConfig = field(default_factory=InputConfig)
    # Packed copy of the frames on the machine that trains, made in the first epoch and shared by
    # later trainings. `frames`: all frames of levels frame and segment. `means`: at frame level the
    # mean of each video's normalised frames, for models that look at nothing else. `off`: none.
    cache: Annotated[CacheKind, Placement()] = CacheKind.OFF
    # Place where training runs.
    backend: Annotated[BackendConfig, Placement()] = field(default_factory=InProcessBackend)

    def __post_init__(self) -> None:
        super().__post_init__()
        ends = self.max_steps is not None or self.num_epochs is not None
        others = (self.max_seconds, self.validation.num_tries, self.waits_for_evaluations or None)
        allowed = (
            "set where num_epochs is not, and no max_seconds, validation.num_tries, "
            "early_stopping or exporter"
        )
        require(ends or any(others), "max_steps", self.max_steps, allowed)
        whole = isinstance(self.schedule, ExponentialSchedule | CosineSchedule)
        allowed = "constant or staircase without max_steps and num_epochs: its end is not known"
        require(ends or not whole, "schedule.name", self.schedule.name, allowed)
        losses = {f"{LOSS}_{head_name(head)}" for head in self.heads}
        for where, name in self.steering:
            known = bool(self.metrics) or _is_metric(name)  # names of own metrics are in their code
            require(known, where, name, f"{_METRICS}, or one that trainer.metrics adds")
            known = not name.startswith(f"{LOSS}_") or bool(self.metrics) or name in losses
            require(known, where, name, f"the loss of a head of trainer.heads: {sorted(losses)}")
        plain = self.ema_momentum is None or not self.weight_rules
        require(plain, "weight_rules", "[...]", "empty with ema_momentum")
        own = any(head.loss.name is LossName.OWN for head in self.heads)
        require(not own or bool(self.network), "network", self.network, "given with loss.name: own")
        whole = self.train_fraction == 1 or self.retrieval is None
        require(whole, "train_fraction", self.train_fraction, "1 with retrieval, which holds all")
        shares = [one.share for one in self.mixture]
        require(sum(shares) < 1, "mixture", shares, "shares below 1 together")
        for head in self.heads:
            known = set(head.splits) <= set(self.mixed_splits)
            allowed = f"of {', '.join(self.mixed_splits)}: train_split and the mixture"
            where = f"heads.{head_name(head)}.splits"
            require(known, where, list(head.splits), allowed)
            plain = not head.splits or self.teacher is None
            require(plain, where, list(head.splits), "empty with a teacher")
        videos = {one.split for one in self.mixture if one.whole_videos}
        for head in self.heads or (SegmentsHeadConfig(),):
            rated = set(head.splits) if isinstance(head, SegmentsHeadConfig) else {""}
            apart = not videos or (bool(rated) and not rated & videos)
            allowed = f"the splits with rated segments, so not {', '.join(sorted(videos))}"
            require(apart, "heads.segments.splits", list(head.splits), allowed)
        names = [head_name(head) for head in self.heads]
        are_own = [isinstance(head, OwnHeadConfig) for head in self.heads]
        allowed = "with another head than `own` first: it is exported, and judged by the labels"
        require(not any(are_own[:1]), "heads", names, allowed)
        apart = not any(are_own) or self.sharing is not Sharing.ALL
        allowed = "trunk or nothing with a head `own`, which has classes of its own"
        require(apart, "sharing", self.sharing.value, allowed)
        plain = not self.mixture or self.inputs.bucket_batches == 1
        require(plain, "inputs.bucket_batches", self.inputs.bucket_batches, "1 with mixture")
        self._require_evaluations()
        if self.cache is CacheKind.MEANS:
            self._require_means()
        if self.inputs.bucket_batches > 1:
            self._require_buckets()

    def _require_evaluations(self) -> None:
        """Who waits for evaluations must not wait in vain."""
        idle, every = self.evaluation.idle_limit_s, self.checkpoint.every_s
        allowed = f"above checkpoint.every_s = {every}"
        require(idle is None or idle > every, "evaluation.idle_limit_s", idle, allowed)
        if not (waiting := self.waits_for_evaluations):
            return
        enabled = self.evaluation.enabled
        require(enabled, "evaluation.enabled", enabled, f"true with {waiting}")
        if isinstance(self.backend, LocalProcessesBackend):
            processes = self.backend.processes
            problem = find_processes_problem(processes, waiting=waiting)
            require(not problem, "backend.processes", processes, f"as in evaluator=1 ({problem})")
        roles = self.backend.roles if isinstance(self.backend, KubernetesBackend) else {}
        # A TFJob of one pod is given no TF_CONFIG, and evaluates by itself.
        alone = len(roles) == 1 and isinstance(self.backend, TFJobBackend)
        lacks = bool(roles) and not alone and "evaluator" not in roles
        require(not lacks, "backend.roles", sorted(roles), f"with an evaluator for {waiting}")

    def _require_means(self) -> None:
        """Refuse what needs frames, of which batches have none."""
        model, cache = self.model.name, CacheKind.MEANS.value
        looks = isinstance(self.model, LOOKS_AT_FRAMES)
        require(not looks, "cache", cache, f"frames or off with model.name = {model}")
        others = {
            "teacher": self.teacher,
            "mixture": self.mixture,
            "input": self.input,
            "inputs.bucket_batches": self.inputs.bucket_batches > 1,
        }
        for name, value in others.items():
            require(not value, "cache", cache, f"frames or off with {name}, which needs frames")

    def _require_buckets(self) -> None:
        """Refuse settings that exclude buckets; TrainingJob.check_buckets refuses the rest."""
        count, multiple = self.inputs.bucket_batches, self.inputs.bucket_multiple
        samples = isinstance(self.model, DbofConfig)
        allowed = f"1 with model.name = {self.model.name}, which takes as many frames of each video"
        require(not samples, "inputs.bucket_batches", count, allowed)
        allowed = f"{self.accumulate} or more: accumulate = {self.accumulate} divides each bucket"
        require(multiple >= self.accumulate, "inputs.bucket_multiple", multiple, allowed)

    @property
    def mixed_splits(self) -> tuple[str, ...]:
        """The splits that a batch has rows of, in their order."""
        return (self.train_split, *(one.split for one in self.mixture))

    @property
    def steering(self) -> Iterator[tuple[str, str]]:
        """The metrics that decide within training, by their keys."""
        yield "validation.metric", self.validation.metric
        if not isinstance(self.early_stopping, NoEarlyStopping):
            yield "early_stopping.metric", self.early_stopping.metric
        for exporter in self.evaluation.exporters:
            if isinstance(exporter, BestExporterConfig):
                yield "evaluation.exporters.metric", exporter.metric

    @property
    def learns_verticals(self) -> bool:
        """Whether the vocabulary decides what is learned, and not only how classes are called."""
        return any(isinstance(head, VerticalsHeadConfig) for head in self.heads)

    @property
    def idle_limit_s(self) -> float:
        """For how long an evaluator waits for a new checkpoint."""
        return self.evaluation.idle_limit_s or max(4 * self.checkpoint.every_s, self.begin_s)

    @property
    def begin_s(self) -> float:
        """Within what time the first step is taken, or a process has ended with an error."""
        return _COMPILING_S + 2 * self.distribution.peer_timeout_s

    @property
    def waits_for_evaluations(self) -> str:
        """Which settings do nothing unless some process evaluates; empty for none."""
        stops = not isinstance(self.early_stopping, NoEarlyStopping)
        parts = [
            ("evaluation.exporters", bool(self.evaluation.exporters)),
            ("early_stopping", stops),
        ]
        return " and ".join(f"trainer.{name}" for name, is_set in parts if is_set)

    @property
    def window_rows(self) -> int:
        """Rows that one replica contributes to one update."""
        return self.batch_size * self.accumulate

    @property
    def stopping_criteria(self) -> str:
        """The criteria that end training, to tell a finished one from one to continue."""
        clock = "" if self.max_seconds is None else f", {self.max_seconds} seconds"
        return f"{self.max_steps} steps, {self.num_epochs} epochs{clock}"
