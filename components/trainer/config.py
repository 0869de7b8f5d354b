"""How training runs: the trainer node of the configuration."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Literal

from yt8m.components.inputs.config import InputConfig
from yt8m.components.models.config import (
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
    """What `clip_gradient_norm` limits, after the gradients of all replicas are summed."""

    VARIABLE = "variable"  # the norm of each variable's gradient: the starter code's meaning
    GLOBAL = "global"  # the norm of all gradients together
    VALUE = "value"  # each element: Nabu's clip_grad_value


class Histogram(enum.Enum):
    """What TensorBoard shows the distribution of; rows are the training's first 64."""

    WEIGHTS = "weights"
    UPDATES = "updates"  # of the weights, by the steps that were taken together
    GRADIENTS = "gradients"  # of the labels' losses, on those rows
    ACTIVATIONS = "activations"  # each layer's output, on those rows
    INPUTS = "inputs"  # of those rows


class Precision(enum.Enum):
    """What matrices are multiplied in; weights, loss and optimiser are always fp32."""

    AUTO = "auto"  # bf16 where the processor multiplies it natively
    FP32 = "fp32"
    BF16 = "bf16"


class Switch(enum.Enum):
    """A choice that may be left to the trainer."""

    AUTO = "auto"
    ON = "on"
    OFF = "off"


class CacheKind(enum.Enum):
    """What of the training's records is kept on this machine."""

    FRAMES = "frames"  # all frames of levels frame and segment; the weights keep the same bits
    OFF = "off"


class DevicePlacement(enum.Enum):
    """How a process without a cluster uses its devices."""

    AUTO = "auto"  # mirrored where there are several GPUs
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
    """When the state is saved; it always is at the end, at SIGTERM and with a validation."""

    every_s: Annotated[PositiveFloat, Bookkeeping()] = 900.0  # after so many seconds
    # And after so many steps.
    every_steps: Annotated[PositiveInt | None, Bookkeeping(in_step=True)] = None
    # The newest checkpoints that stay; null: all of them.
    keep: Annotated[PositiveInt | None, Bookkeeping()] = 3
    # And one of each so many hours, which stays too; null: none.
    keep_every_hours: Annotated[PositiveFloat | None, Bookkeeping()] = None


@dataclass(frozen=True, kw_only=True)
class InTrainingValidationConfig(ConfigNode):
    """Validation that steers training (Nabu's valid_frequency, valid_adapt, go_back, num_tries)."""

    every_steps: PositiveInt | None = None  # None: no validation while training
    metric: OwnOrSteeringMetric = LOSS  # name of the metric that decides
    steps: PositiveInt | None = None  # batches; None: the whole split
    halve: bool = True  # halve the learning rate when worse
    go_back: bool = False  # and return to the best checkpoint
    num_tries: PositiveInt | None = None  # stop after so many worse validations
    # Share of the best value; a smaller improvement counts as a worse validation for num_tries.
    min_relative_change: NonNegativeFloat = 0.0
    reset_tries: bool = True  # a better validation sets the count of worse ones back to 0
    excluded_heads: tuple[str, ...] = ()  # Nabu's tasks_excluded_for_val
    keep_best: bool = True  # the best model is what remains


@dataclass(frozen=True, kw_only=True)
class NoEarlyStopping(ConfigNode):
    """Train to the end."""

    name: Literal["none"] = "none"


@dataclass(frozen=True, kw_only=True)
class StopWhenNotBetter(ConfigNode):
    """Stop when the metric has not become better for `patience_steps`."""

    name: Literal["not_better"] = "not_better"
    metric: OwnOrSteeringMetric = GAP  # name of the metric that decides
    patience_steps: PositiveInt = 1000  # steps without a better evaluation after which it stops
    min_change: NonNegativeFloat = 0.0  # a smaller change for the better does not count
    min_relative_change: NonNegativeFloat = 0.0  # nor one by a smaller share of the best value
    min_steps: NonNegativeInt = 0  # it never stops before


@dataclass(frozen=True, kw_only=True)
class StopWhenReached(ConfigNode):
    """Stop when the metric has reached `value`."""

    name: Literal["reached"] = "reached"
    metric: OwnOrSteeringMetric = GAP  # name of the metric that decides
    value: float = 1.0  # at least; of a loss at most


@dataclass(frozen=True, kw_only=True)
class OwnStop(ConfigNode):
    """Stop when a function of your own says so."""

    name: Literal["own"] = "own"
    # Dotted path of a function of the evaluations so far, [(step, metrics)]: whether to stop.
    policy: Annotated[DottedPath, OwnCode(called_with=("evaluations",))]
    metric: OwnOrSteeringMetric = GAP  # name of the metric whose best weights are exported


EarlyStopping = NoEarlyStopping | StopWhenNotBetter | StopWhenReached | OwnStop


@dataclass(frozen=True, kw_only=True)
class LatestExporterConfig(ConfigNode):
    """Exports every evaluated checkpoint and keeps the newest ones."""

    name: Literal["latest"] = "latest"
    directory: DirectoryName = "latest"  # the export's name
    keep: PositiveInt = 5  # exports that stay


@dataclass(frozen=True, kw_only=True)
class BestExporterConfig(ConfigNode):
    """Exports a checkpoint that is better than every one before, also before a restart."""

    name: Literal["best"] = "best"
    directory: DirectoryName = "best"  # the export's name
    metric: OwnOrSteeringMetric = GAP  # name of the metric that decides
    keep: PositiveInt = 5  # exports that stay


@dataclass(frozen=True, kw_only=True)
class FinalExporterConfig(ConfigNode):
    """Exports the last checkpoint, once, when training has ended."""

    name: Literal["final"] = "final"
    directory: DirectoryName = "final"  # the export's name


@dataclass(frozen=True, kw_only=True)
class OwnExporterConfig(ConfigNode):
    """Exports the checkpoints that a function of your own chooses."""

    name: Literal["own"] = "own"
    directory: DirectoryName = "own"  # the export's name
    # Dotted path of a function of (step, metrics, steps exported so far, final): whether to export.
    exporter: Annotated[DottedPath, OwnCode(called_with=("step", "metrics", "exported", "final"))]
    keep: PositiveInt = 5  # exports that stay


ExporterConfig = LatestExporterConfig | BestExporterConfig | FinalExporterConfig | OwnExporterConfig


@dataclass(frozen=True, kw_only=True)
class EvaluationConfig(ConfigNode):
    """Continuous evaluation of checkpoints, by the evaluator role or locally (EvalSpec)."""

    # False: no evaluation while the model trains.
    enabled: Annotated[bool, Bookkeeping()] = True
    name: Annotated[str, Bookkeeping()] = ""  # a suffix of the log directory
    steps: PositiveInt | None = 100  # batches; None: the whole split
    # Further splits that are scored; their curves are `<split>/<metric>`, which decide nothing.
    other_splits: Annotated[tuple[str, ...], Bookkeeping()] = ()
    start_delay_s: Annotated[NonNegativeFloat, Bookkeeping()] = 120.0  # before the first evaluation
    throttle_s: Annotated[NonNegativeFloat, Bookkeeping()] = 600.0  # between the beginnings of two
    # Use of GPUs, which a training beside it may need; false: the evaluator runs on the CPU.
    uses_gpu: Annotated[bool, Placement()] = False
    # An evaluator that sees no new checkpoint for so long gives up; None: four times
    # checkpoint.every_s, and time enough for the others to begin.
    idle_limit_s: Annotated[float | None, Bookkeeping()] = None
    # What is exported of evaluated checkpoints.
    exporters: Annotated[tuple[ExporterConfig, ...], OfExport()] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        names = [exporter.directory for exporter in self.exporters]
        require(len(set(names)) == len(names), "exporters", names, "of distinct directories")


@dataclass(frozen=True, kw_only=True)
class LogConfig(ConfigNode):
    """What is written while training, by the chief alone."""

    # Steps between two lines of the log.
    every_steps: Annotated[PositiveInt, Bookkeeping(in_step=True)] = 10
    # Rows of the last batch that metrics are taken from.
    metric_rows: Annotated[PositiveInt, Bookkeeping(in_step=True)] = 128
    # Histograms, and the norm of each weight's gradient; None: none.
    histograms_every_steps: Annotated[PositiveInt | None, Bookkeeping(in_step=True)] = 500
    # What has a histogram.
    histograms: Annotated[tuple[Histogram, ...], Bookkeeping()] = (Histogram.WEIGHTS,)
    tensorboard: Annotated[bool, Bookkeeping()] = True  # write TensorBoard's event files


@dataclass(frozen=True, kw_only=True)
class DistributionConfig(ConfigNode):
    """How processes find and wait for one another."""

    placement: DevicePlacement = DevicePlacement.AUTO
    max_devices: PositiveInt | None = None  # number of devices that a process uses; null: all
    # Allocation of GPU memory as it is needed; false: all of it at the start.
    memory_growth: bool = True
    log_placement: bool = False  # log of the device of each operation, as TensorFlow places it
    peer_timeout_s: PositiveFloat = 300.0  # then an unreachable peer ends the process with an error
    # Silence, in seconds, after which a synchronous process counts as lost and the training ends.
    heartbeat_timeout_s: PositiveFloat = 60.0
    worker_stagger_s: NonNegativeFloat = 5.0  # asynchronous: worker i begins i + 1 times this later
    worker_stagger_max_s: PositiveFloat = 60.0  # and never later than this

    def stagger_s(self, worker: int) -> float:
        """How long after the chief an asynchronous worker begins (Estimator's meaning)."""
        return min((worker + 1) * self.worker_stagger_s, self.worker_stagger_max_s)


@dataclass(frozen=True, kw_only=True)
class WeightRule(ConfigNode):
    """What an update may do to the weights whose names match."""

    # Regular expression, which a name must match from its beginning; the first rule that does
    # holds. A rule that is the first of none is refused, with the list of names.
    weights: Annotated[str, not_empty("a regular expression for names of weights")]
    rate: NonNegativeFloat = 1.0  # factor of what an update changes; 0: they stay as they are
    # Norm of the weights that lead to one output, at most; null: any.
    max_norm: PositiveFloat | None = None


@dataclass(frozen=True, kw_only=True)
class WeightSource(ConfigNode):
    """Where a warm start takes the weights whose names match from."""

    # Regular expression, which a whole name must match; the first one that does holds.
    weights: Annotated[str, not_empty("a regular expression for names of weights")]
    # Name there, with \\1 for the first group; empty: newly initialised.
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class MixedSplit(ConfigNode):
    """A further split to learn from."""

    split: Annotated[str, not_empty("the name of a split")]  # its name
    share: Annotated[float, above(0), below(1)]  # of the rows of each batch
    # At segment level: its rows are whole videos with their labels, beside the rated segments.
    whole_videos: bool = False


@dataclass(frozen=True, kw_only=True)
class TeacherConfig(ConfigNode):
    """A model whose probabilities are learned beside the labels: distillation."""

    # A SavedModel with the signature `features`, or a push directory, whose version in service is
    # taken when training begins.
    saved_model: Annotated[
        str, not_empty("a SavedModel or a push directory"), SourcePath(Content.MODEL)
    ]
    weight: Fraction = 0.5  # of what the teacher says; the labels have the rest
    # Both models' log-odds are divided by it, so that the teacher's doubts count for more.
    temperature: PositiveFloat = 1.0


@dataclass(frozen=True, kw_only=True)
class TrainerConfig(ConfigNode):
    """What is trained, how, for how long, and where."""

    model: ModelConfig = field(default_factory=LogisticConfig)  # which network, and its sizes
    # Dotted path of a subclass of yt8m.components.models.network.Network, for losses of one's own.
    network: Annotated[OptionalDottedPath, OwnCode()] = ""
    # Dotted paths of your own metrics, which validations and evaluations compute beside ours.
    metrics: Annotated[tuple[DottedPath, ...], OwnCode(tuple)] = ()
    # Dotted paths of subclasses of yt8m.components.trainer.loop.hook.Hook: what is done beside
    # the steps.
    hooks: Annotated[tuple[DottedPath, ...], OwnCode(tuple, called_with=())] = ()
    # Dotted path of a function of (batches, rows), which returns the tf.data.Dataset to learn from:
    # the reader's `batches`, changed, or others of the same columns. `rows` says which part of the
    # data this process reads, and from which step on.
    input: Annotated[OptionalDottedPath, OwnCode(called_with=("batches", "rows"))] = ""
    heads: tuple[HeadConfig, ...] = ()  # empty: the level's own head
    sharing: Sharing = Sharing.TRUNK
    batch_size: PositiveInt = 1024  # rows a replica takes at once
    accumulate: PositiveInt = 1  # micro-batches of `batch_size` for one update
    max_steps: PositiveInt | None = None  # updates after which training ends, or num_epochs before
    num_epochs: PositiveFloat | None = 5.0  # passes over the data after which it ends
    # Seconds of training after which it ends, those before a restart included.
    max_seconds: PositiveFloat | None = None
    seed: int = 0  # of the weights, the order of the records and the dropout
    optimizer: NamedOptimizer = field(default_factory=default_optimizer)  # what makes an update
    schedule: Schedule = field(default_factory=StaircaseSchedule)  # of the learning rate
    regularisation_penalty: NonNegativeFloat = 1.0  # factor of all L2 terms in the loss
    clip_gradient_norm: NonNegativeFloat = 1.0  # what `clip` names is clipped to this; 0: nothing
    clip: Clip = Clip.VARIABLE
    clip_micro_batches: bool = False  # clip each micro-batch's gradient too, as if it were alone
    weight_rules: tuple[WeightRule, ...] = ()  # frozen weights, slower ones, limited ones
    # Validated and exported is a moving average of the weights, of which each step keeps this much
    # (0.99: an average over about 100 steps); null: the weights themselves.
    ema_momentum: FractionBelowOne | None = None
    normalize_gradients: bool = True  # false: the gradient of sums, not of means (Nabu)
    precision: Precision = Precision.AUTO
    xla: Switch = Switch.AUTO  # compile with XLA; auto and on: all but parameter servers
    # Steps in one call of TensorFlow; None: chosen.
    steps_per_loop: Annotated[PositiveInt | None, Placement(in_step=True)] = None
    train_split: str = "train"  # what is learned from
    # Share of that split's rows that is learned from: the first ones of each shard.
    train_fraction: PositiveFraction = 1.0
    # Further splits, of which each batch has a share; the rest of its rows are of train_split,
    # whose passes num_epochs counts.
    mixture: tuple[MixedSplit, ...] = ()
    validation_split: str = "eval"  # what validations and continuous evaluation score
    # Score of a rated segment of that split by a model of level frame; null: whole videos are
    # scored.
    segments: SegmentScoring | None = None
    # An export or a checkpoint whose matching weights are taken over.
    warm_start: Annotated[str, SourcePath(Content.WEIGHTS)] = ""
    # Which weights a warm start takes, and from where; empty: those of the same name.
    warm_start_weights: tuple[WeightSource, ...] = ()
    start_from_base: bool = False  # take over the baseline's weights: retraining
    teacher: TeacherConfig | None = None  # what is learned from beside the labels; null: nothing
    # Nearest neighbours in the exported model, beside the network; null: the network alone.
    retrieval: Annotated[RetrievalConfig | None, OfExport()] = None
    # Wipe the checkpoints of an earlier model.
    start_new_model: Annotated[bool, Bookkeeping()] = False
    checkpoint: CheckpointConfig = field(default_factory=CheckpointConfig)
    validation: InTrainingValidationConfig = field(default_factory=InTrainingValidationConfig)
    # What ends training before max_steps and num_epochs do.
    early_stopping: EarlyStopping = field(default_factory=NoEarlyStopping)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    log: LogConfig = field(default_factory=LogConfig)
    distribution: Annotated[DistributionConfig, Placement()] = field(
        default_factory=DistributionConfig
    )
    inputs: InputConfig = field(default_factory=InputConfig)
    # Copy of the frames on this machine, made in the first epoch and shared by later trainings.
    cache: Annotated[CacheKind, Placement()] = CacheKind.OFF
    # Where training runs.
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

    def _require_buckets(self) -> None:
        """What buckets cannot go together with; TrainingJob.check_buckets refuses the rest."""
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
        """What ends training, to tell a finished one from one that is to go on."""
        clock = "" if self.max_seconds is None else f", {self.max_seconds} seconds"
        return f"{self.max_steps} steps, {self.num_epochs} epochs{clock}"
