"""The parts of one process's training, built and put together before the first step."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.metadata import version
from typing import Any

import numpy as np
import tensorflow as tf

from yt8m.components.inputs.config import BatchSlice
from yt8m.components.models.heads import Head
from yt8m.components.models.network import Network
from yt8m.components.trainer.averaging import start_averages
from yt8m.components.trainer.cluster.agreement import check_same_state
from yt8m.components.trainer.cluster.collectives import Collectives
from yt8m.components.trainer.cluster.devices import placement_of
from yt8m.components.trainer.cluster.strategy import (
    compute_dtype,
    local_replicas,
    name_of,
    variable_scope,
)
from yt8m.components.trainer.config import WITHOUT_END, NoEarlyStopping, Switch, TrainerConfig
from yt8m.components.trainer.evaluation import early_stopping
from yt8m.components.trainer.evaluation.checkpoint_scorer import CheckpointScorer, read_history
from yt8m.components.trainer.evaluation.continuous_eval import InProcessEvaluation
from yt8m.components.trainer.evaluation.split_scorer import SplitScores
from yt8m.components.trainer.input import TrainingData
from yt8m.components.trainer.job import TrainingJob
from yt8m.components.trainer.loop.engine import (
    ParameterServers,
    StepEngine,
    Synchronous,
)
from yt8m.components.trainer.loop.histograms import Histograms
from yt8m.components.trainer.loop.hook import Hook, Training
from yt8m.components.trainer.loop.own_hooks import (
    EarlyStop,
    EvaluationInProcess,
    Pause,
    Plateau,
    Saves,
    TimeLimit,
)
from yt8m.components.trainer.loop.step import Replicas, TrainStep
from yt8m.components.trainer.loop.training_log import TrainingLog
from yt8m.components.trainer.metrics import metrics_of
from yt8m.components.trainer.network import network_of
from yt8m.components.trainer.optimizers import create_optimizer
from yt8m.components.trainer.plan import TrainingPlan, plan_training
from yt8m.components.trainer.state.checkpoints import (
    Checkpoints,
    TrainingProgress,
    note_training,
    prepare,
)
from yt8m.components.trainer.state.warm_start import warm_start
from yt8m.components.trainer.teacher import load_teacher
from yt8m.components.trainer.tf_config import Cluster, ClusterKind
from yt8m.schemas.features import Level

_log = logging.getLogger(__name__)
_AUTO_STEPS_PER_LOOP = 5
_BF16 = "bfloat16"
_ROWS_LOOKED_AT = 64  # by histograms of what rows decide


@dataclass(frozen=True, kw_only=True)
class Parts:
    """A training that is ready to run."""

    job: TrainingJob
    data: TrainingData
    training: Training
    scorer: CheckpointScorer
    validate: Callable[[list[Any]], SplitScores]  # weights, as numpy arrays
    plateau: Plateau
    hooks: tuple[Hook, ...]


@dataclass(frozen=True, kw_only=True)
class TrainingProcess:
    """Inputs of the parts: a process's job, cluster, data and strategy."""

    job: TrainingJob
    cluster: Cluster
    data: TrainingData
    heads: tuple[Head, ...]
    strategy: tf.distribute.Strategy
    own_hooks: tuple[Hook, ...] = ()

    @cached_property
    def collectives(self) -> Collectives:
        return Collectives(self.strategy, process=self.number, processes=self.processes)

    @property
    def uses_parameter_servers(self) -> bool:
        return self.cluster.kind is ClusterKind.PARAMETER_SERVER

    @property
    def replicas(self) -> Replicas:
        total = 1 if self.uses_parameter_servers else self.strategy.num_replicas_in_sync
        return Replicas(total=total, local=local_replicas(self.strategy))

    @property
    def batch_rows(self) -> int:
        """Rows that are read together: an update's, or one of every asynchronous worker's."""
        workers = self.cluster.gradient_processes if self.uses_parameter_servers else 1
        return self.job.trainer.window_rows * self.replicas.total * workers

    @property
    def processes(self) -> int:
        """Processes in step; parameter servers have one that does the stepping."""
        return 1 if self.uses_parameter_servers else self.replicas.total // self.replicas.local

    @property
    def number(self) -> int:
        """This process's number among those that train: the chief's is 0."""
        address = self.cluster.address
        return self.cluster.trainers.index(address) if address else 0

    @property
    def uses_xla(self) -> bool:
        # On parameter servers the weights are on another machine, where a compiled function
        # cannot reach.
        return self.job.trainer.xla is not Switch.OFF and not self.uses_parameter_servers


def build(process: TrainingProcess) -> Parts:
    """Create every part; continue from the newest checkpoint, or start from older weights."""
    job, config, replicas = process.job, process.job.trainer, process.replicas
    job.check_buckets(replicas=process.cluster.gradient_processes * replicas.local)
    collectives = process.collectives
    dtype = _compute_dtype(process)
    with variable_scope(process.strategy):
        network = network_of(job, process.heads, compute_dtype=dtype, fuse=process.uses_xla)
        optimizer = create_optimizer(config.optimizer, ema_momentum=config.ema_momentum)
        optimizer.build(network.trainable_variables)
    _prepare_directory(process)  # only now: a network that cannot be built has wiped nothing
    checkpoints = Checkpoints(
        job.checkpoint_dir,
        network=network,
        optimizer=optimizer,
        keep=config.checkpoint.keep,
        keep_every_hours=config.checkpoint.keep_every_hours,
        is_writer=process.cluster.is_chief,
    )
    progress = checkpoints.restore()
    if not progress.step:
        source = config.warm_start or job.base_model
        rules = config.warm_start_weights
        warm_start(network, source, rules, required=bool(config.warm_start))
        start_averages(network, optimizer)
    _check_same_state(process, network, optimizer, progress)
    plan = plan_training(
        config,
        rows_per_epoch=process.data.epoch_rows(process.batch_rows),
        rows=config.window_rows * replicas.total,
        step=progress.step,
        examples=progress.examples,
    )
    reading = process.data.reading(
        process.batch_rows, examples=progress.examples, before=progress.order
    )
    _announce(process, network, dtype, progress, plan)
    _announce_changed_batch(process, progress, plan)
    step = TrainStep(
        config,
        network=network,
        optimizer=optimizer,
        strategy=process.strategy,
        replicas=replicas,
        use_xla=process.uses_xla,
        teacher=load_teacher(config.teacher, features=job.features, level=job.level),
    )
    engine = _create_engine(process, step, plan, reading)
    scorer = CheckpointScorer(job, process.data, process.heads)
    training = Training(
        config=config,
        network=network,
        optimizer=optimizer,
        engine=engine,
        collectives=collectives,
        checkpoints=checkpoints,
        plan=plan,
        is_chief=process.cluster.is_chief,
        log_dir=job.log_dir,
        step=progress.step,
        examples=progress.examples,
        order=reading.order,
    )
    plateau = Plateau(config.validation, metrics_of(config))
    hooks = (*_create_hooks(process, scorer, training), plateau, *process.own_hooks)
    for hook in hooks:
        if hook.name in progress.hooks:
            hook.restore(progress.hooks[hook.name])
    if process.cluster.is_chief:  # only now: a training that is refused has changed nothing
        note_training(job.checkpoint_dir, process.data.model, job.settings)
    return Parts(
        job=job,
        data=process.data,
        training=training,
        scorer=scorer,
        validate=partial(
            scorer.validate,
            exchange=collectives.exchange,
            num_workers=process.processes,
            worker_index=process.number,
        ),
        plateau=plateau,
        hooks=hooks,
    )


def _prepare_directory(process: TrainingProcess) -> None:
    """Let the chief repair, or wipe, what all processes read afterwards."""
    job = process.job
    if process.cluster.is_chief:
        prepare(
            job.checkpoint_dir,
            start_new=job.trainer.start_new_model,
            exports=job.exporters_dir,
        )
    process.collectives.wait_for_all()


def _check_same_state(
    process: TrainingProcess, network: Network, optimizer: Any, progress: TrainingProgress
) -> None:
    if process.processes == 1:
        return
    variables = [v.numpy() for v in optimizer.variables]
    check_same_state(
        process.collectives,
        str(process.cluster),
        {
            "step": progress.step,
            "examples": progress.examples,
            "hooks": json.dumps(progress.hooks, sort_keys=True),
            "weights": digest_of_weights(network.get_weights()),
            "optimiser": digest_of_weights(variables),
        },
        directory=process.job.checkpoint_dir,
    )


def digest_of_weights(weights: Sequence[Any]) -> str:
    """Names the weights' bits."""
    digest = hashlib.sha256()
    for weight in weights:
        digest.update(np.ascontiguousarray(weight).tobytes())
    return digest.hexdigest()[:16]


def _compute_dtype(process: TrainingProcess) -> str:
    """The chief's, for machines may differ, and gradients of two precisions must not mix."""
    own = compute_dtype(process.job.trainer.precision)
    if process.uses_parameter_servers:
        return own  # workers run what the chief has traced
    is_bf16 = process.collectives.broadcast_from_chief(float(own == _BF16))
    return _BF16 if is_bf16 else "float32"


def _create_engine(
    process: TrainingProcess, step: TrainStep, plan: TrainingPlan, reading: BatchSlice
) -> StepEngine:
    config = process.job.trainer
    if process.uses_parameter_servers:
        return ParameterServers(
            step,
            strategy=process.strategy,
            data=process.data,
            taken=reading,
            log_every=config.log.every_steps,
            stagger=config.distribution.stagger_s,
        )
    taken = replace(reading, num_workers=process.processes, worker_index=process.number)
    return Synchronous(
        step,
        batches=process.data.batches(taken),
        rows=plan.rows,
        steps_per_loop=steps_per_loop(config, process.job.level),
        log_every=config.log.every_steps,
    )


def _create_log(process: TrainingProcess, training: Training) -> TrainingLog:
    return TrainingLog(
        process.job.trainer.log,
        directory=process.job.log_dir,
        curve_directory=process.job.checkpoint_dir,
        heads=process.heads,
        every_steps=training.engine.log_every,
        step=training.step,
        last_step=training.last_step,
    )


def _create_hooks(
    process: TrainingProcess, scorer: CheckpointScorer, training: Training
) -> Iterator[Hook]:
    config, cluster = process.job.trainer, process.cluster
    yield Saves(config.checkpoint)
    if config.max_seconds is not None:
        yield TimeLimit(config.max_seconds)
    if not cluster.is_chief:
        yield Pause(training.engine.log_every)
        yield Pause(config.log.histograms_every_steps)
        return
    evaluates = config.evaluation.enabled and process.data.validation is not None
    if cluster.evaluates_itself and evaluates:
        yield EvaluationInProcess(InProcessEvaluation(config.evaluation, scorer.evaluate))
    elif config.waits_for_evaluations and not cluster.has_evaluator:
        _log.warning(
            "%s has no effect unless an evaluator process runs (TF_CONFIG with task type "
            "evaluator), because this process does not evaluate",
            config.waits_for_evaluations,
        )
    if not isinstance(config.early_stopping, NoEarlyStopping):
        should_stop = partial(_should_stop, process.job)
        yield EarlyStop(should_stop, every_steps=training.engine.log_every)
    # After what takes time beside the steps: it begins to measure them again.
    log = _create_log(process, training)
    yield log
    yield Histograms(
        config.log, log, rows=partial(_few_rows, process), network=lambda: scorer.network
    )


def _few_rows(process: TrainingProcess) -> Mapping[str, tf.Tensor]:
    """The training's first rows."""
    batches = process.data.batches(process.data.reading(process.batch_rows, examples=0))
    rows: Mapping[str, tf.Tensor] = next(iter(batches))
    return {name: column[:_ROWS_LOOKED_AT] for name, column in rows.items()}


def _should_stop(job: TrainingJob) -> bool:
    return early_stopping.should_stop(
        job.trainer.early_stopping, read_history(job), metrics_of(job.trainer)
    )


def _announce(
    process: TrainingProcess,
    network: Network,
    dtype: str,
    progress: TrainingProgress,
    plan: TrainingPlan,
) -> None:
    weights = sum(int(np.prod(weight.shape)) for weight in network.trainable_variables)
    _log.info("%s weights to train", f"{weights:,}")
    versions = [f"{name} {version(name)}" for name in ("tensorflow", "tf_keras", "yt8m-pipeline")]
    _log.info("%s", ", ".join(versions))
    _log.info(
        "%s of a %s training: %s, %d replicas, on %s, %s, step %d of %s",
        process.cluster,
        process.cluster.kind.value,
        name_of(process.strategy),
        process.replicas.total,
        placement_of(process.strategy),
        dtype,
        progress.step,
        plan.last_step if plan.last_step < WITHOUT_END else "no limit",
    )
    if (asked := process.job.trainer.max_steps) is not None and plan.last_step < asked:
        _log.info("num_epochs ends the training before max_steps = %d", asked)


def _announce_changed_batch(
    process: TrainingProcess, progress: TrainingProgress, plan: TrainingPlan
) -> None:
    if progress.order is None or progress.order.later.batch == process.batch_rows:
        return
    repeated = ""
    if (count := process.job.trainer.inputs.bucket_batches) > 1:
        rows = count * progress.order.later.batch
        repeated = f"; of up to {rows} rows, sorted by length together, some are read twice or not"
    if process.uses_parameter_servers:
        repeated += "; rows that workers had read but not trained on are skipped"
    _log.warning(
        "workers or batch size have changed: a batch has %d rows, before %d. %d of %d rows "
        "are done, and %d steps of %d rows are left%s",
        process.batch_rows,
        progress.order.later.batch,
        progress.examples,
        plan.total_examples,
        plan.last_step - progress.step,
        plan.rows,
        repeated,
    )


def steps_per_loop(config: TrainerConfig, level: Level) -> int:
    """Steps in one call of TensorFlow: several where a step is short."""
    if config.steps_per_loop is not None:
        return config.steps_per_loop
    return min(_AUTO_STEPS_PER_LOOP, config.log.every_steps) if level is Level.VIDEO else 1
