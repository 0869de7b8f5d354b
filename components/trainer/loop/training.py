"""One process's part in a training, from TF_CONFIG to the export."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import tensorflow as tf

from yt8m.components.export.retrieval_index import check_retrieval
from yt8m.components.inputs.config import BatchSlice
from yt8m.components.inputs.faults import explaining_faults
from yt8m.components.models.heads import Head
from yt8m.components.models.network import Network
from yt8m.components.records.vocabulary import vocabulary_digest
from yt8m.components.trainer.averaging import shipped_weights, start_averages
from yt8m.components.trainer.cluster import rendezvous
from yt8m.components.trainer.cluster.errors import explaining_lost_peers
from yt8m.components.trainer.cluster.heartbeat import Watch
from yt8m.components.trainer.cluster.stop_signal import StopSignal
from yt8m.components.trainer.cluster.strategy import (
    compute_dtype,
    create_strategy,
    local_replicas,
    name_of,
    variable_scope,
)
from yt8m.components.trainer.config import NoEarlyStopping, Switch, TrainerConfig
from yt8m.components.trainer.evaluation import checkpoint_scorer, early_stopping
from yt8m.components.trainer.evaluation.continuous_eval import InProcessEvaluation
from yt8m.components.trainer.input import TrainingData, load_data
from yt8m.components.trainer.job import TrainingJob
from yt8m.components.trainer.loop.engine import (
    ParameterServers,
    StepEngine,
    Synchronous,
    broadcast_from_chief,
)
from yt8m.components.trainer.loop.step import Replicas, TrainStep
from yt8m.components.trainer.loop.training_log import TrainingLog
from yt8m.components.trainer.loop.training_loop import Hooks, Loop, are_finite, diverged
from yt8m.components.trainer.network import heads_of, network_of, network_type_of
from yt8m.components.trainer.optimizers import create_optimizer
from yt8m.components.trainer.state.checkpoints import (
    Checkpoints,
    Done,
    TrainingProgress,
    has_best_evaluated,
    mark_done,
    prepare,
    restore_best_evaluated,
)
from yt8m.components.trainer.state.curve import copy_curves
from yt8m.components.trainer.state.warm_start import warm_start
from yt8m.components.trainer.teacher import load_teacher
from yt8m.components.trainer.tf_config import Cluster, ClusterKind
from yt8m.schemas.features import Level

_log = logging.getLogger(__name__)
_AUTO_STEPS_PER_LOOP = 5
_NO_STEP = -1
_BF16 = "bfloat16"


@dataclass(frozen=True, kw_only=True)
class ModelAndOptimizer:
    """What the strategy's scope holds."""

    network: Network
    optimizer: Any  # tf_keras publishes no types


def train(job: TrainingJob, cluster: Cluster) -> None:
    """Train, as chief, master or worker of `cluster`; the chief alone exports."""
    config = job.trainer
    watch = Watch(job.heartbeat, patience_s=job.abandoned_after_s)
    watch.check()
    data = load_data(job)
    heads = heads_of(job)
    network_type_of(job, heads)  # before anything is wiped or waited for
    check_retrieval(config.retrieval, heads, transform=job.transform)
    vocabulary = vocabulary_digest(job.vocabulary) if config.learns_verticals else ""
    prepare(
        job.checkpoint_dir,
        {**job.model, "vocabulary": vocabulary, "data": data.train_digest},
        job.settings,
        start_new=config.start_new_model,
        is_writer=cluster.is_chief,
        exports=job.exporters_dir,
    )
    rendezvous.wait_for_peers(
        cluster,
        timeout_s=config.distribution.peer_timeout_s,
        settings={} if cluster.kind is ClusterKind.PARAMETER_SERVER else job.shared_settings,
    )
    with explaining_lost_peers(cluster):
        strategy = create_strategy(cluster, config.distribution.placement)
        # Only now: TensorFlow's coordination service takes SIGTERM for itself when it starts.
        with StopSignal(watch) as stop:
            training = _Training(job, cluster, data=data, heads=heads, strategy=strategy)
            training.run(stop)


class _Training:
    """The parts of one training, put together."""

    def __init__(
        self,
        job: TrainingJob,
        cluster: Cluster,
        *,
        data: TrainingData,
        heads: tuple[Head, ...],
        strategy: tf.distribute.Strategy,
    ) -> None:
        self._job, self._cluster, self._data = job, cluster, data
        self._heads, self._strategy = heads, strategy
        local = local_replicas(strategy)
        job.check_buckets(replicas=cluster.gradient_processes * local)
        is_ps = cluster.kind is ClusterKind.PARAMETER_SERVER
        total = 1 if is_ps else strategy.num_replicas_in_sync
        self._replicas = Replicas(total=total, local=local)
        self._is_ps = is_ps
        self._dtype = self._compute_dtype()

    def run(self, stop: StopSignal) -> None:
        job, config = self._job, self._job.trainer
        model = self._create_model()
        checkpoints = Checkpoints(
            job.checkpoint_dir,
            network=model.network,
            optimizer=model.optimizer,
            keep=config.checkpoint.keep,
            is_writer=self._cluster.is_chief,
        )
        progress = checkpoints.restore()
        if not progress.step:
            source = config.warm_start or job.base_model
            warm_start(model.network, source, required=bool(config.warm_start))
            start_averages(model.network, model.optimizer)
        max_steps = config.updates(
            examples=self._data.train_examples, replicas=self._replicas.total
        )
        self._announce(progress, max_steps)
        engine = self._create_engine(model, progress)
        scorer = checkpoint_scorer.CheckpointScorer(job, self._data, self._heads)
        log = self._create_log(progress, max_steps)
        try:
            loop = Loop(
                config,
                engine=engine,
                network=model.network,
                optimizer=model.optimizer,
                checkpoints=checkpoints,
                hooks=self._create_hooks(scorer, log, engine),
                stop=stop,
                max_steps=max_steps,
            )
            with explaining_faults(self._data.train):
                progress = loop.run(progress)
        finally:
            if log is not None:
                log.close()
        self._finish(model, checkpoints, progress, engine, scorer=scorer)
        if self._cluster.is_chief:
            mark_done(
                job.checkpoint_dir,
                Done(step=progress.step, stopping_criteria=config.stopping_criteria),
            )
        engine.wait_for_all()  # nobody leaves while the chief still writes

    def _compute_dtype(self) -> str:
        """The chief's, for machines may differ, and gradients of two precisions must not mix."""
        own = compute_dtype(self._job.trainer.precision)
        if self._is_ps:
            return own  # workers run what the chief has traced
        is_bf16 = broadcast_from_chief(self._strategy, float(own == _BF16))
        return _BF16 if is_bf16 else "float32"

    def _create_model(self) -> ModelAndOptimizer:
        config = self._job.trainer
        with variable_scope(self._strategy):
            network = network_of(
                self._job,
                self._heads,
                compute_dtype=self._dtype,
                fuse=self._uses_xla(),
            )
            optimizer = create_optimizer(config.optimizer, ema_momentum=config.ema_momentum)
            optimizer.build(network.trainable_variables)
        return ModelAndOptimizer(network=network, optimizer=optimizer)

    def _create_engine(self, model: ModelAndOptimizer, progress: TrainingProgress) -> StepEngine:
        config = self._job.trainer
        step = TrainStep(
            config,
            network=model.network,
            optimizer=model.optimizer,
            strategy=self._strategy,
            replicas=self._replicas,
            use_xla=self._uses_xla(),
            teacher=load_teacher(
                config.teacher, features=self._job.features, level=self._job.level
            ),
        )
        if self._is_ps:
            return ParameterServers(
                step,
                strategy=self._strategy,
                data=self._data,
                progress=progress,
                log_every=config.log.every_steps,
                stagger=config.distribution.stagger_s,
            )
        rows = config.window_rows * self._replicas.total
        processes = self._replicas.total // self._replicas.local
        part = BatchSlice(
            global_batch_size=rows,
            num_workers=processes,
            worker_index=_process(self._cluster),
        )
        return Synchronous(
            step,
            strategy=self._strategy,
            batches=self._data.batches(part, examples=progress.examples),
            rows=rows,
            steps_per_loop=steps_per_loop(config, self._job.level),
            log_every=config.log.every_steps,
            process=_process(self._cluster),
            processes=processes,
        )

    def _uses_xla(self) -> bool:
        # On parameter servers the weights are on another machine, where a compiled function
        # cannot reach.
        return self._job.trainer.xla is not Switch.OFF and not self._is_ps

    def _create_hooks(
        self,
        scorer: checkpoint_scorer.CheckpointScorer,
        log: TrainingLog | None,
        engine: StepEngine,
    ) -> Hooks:
        config = self._job.trainer
        validate = partial(
            scorer.validate,
            exchange=engine.exchange,
            num_workers=1 if self._is_ps else self._replicas.total // self._replicas.local,
            worker_index=_process(self._cluster),
        )
        if not self._cluster.is_chief:
            return Hooks(validate=validate)
        local = None
        evaluates = config.evaluation.enabled and self._data.validation is not None
        if self._cluster.evaluates_itself and evaluates:
            local = InProcessEvaluation(config.evaluation, scorer.evaluate)
        elif config.waits_for_evaluations and not self._cluster.has_evaluator:
            _log.warning(
                "%s does nothing unless an evaluator runs beside this process (TF_CONFIG with task "
                "type evaluator), which evaluates nothing itself",
                config.waits_for_evaluations,
            )
        is_stopping = not isinstance(config.early_stopping, NoEarlyStopping)
        return Hooks(
            log=log,
            validate=validate,
            saved=None if local is None else local.saved,
            should_stop=self._should_stop if is_stopping else None,
        )

    def _should_stop(self) -> bool:
        history = checkpoint_scorer.read_history(self._job)
        return early_stopping.should_stop(self._job.trainer.early_stopping, history)

    def _create_log(self, progress: TrainingProgress, max_steps: int) -> TrainingLog | None:
        if not self._cluster.is_chief:
            return None
        return TrainingLog(
            self._job.trainer.log,
            directory=self._job.log_dir,
            curve_directory=self._job.checkpoint_dir,
            heads=self._heads,
            step=progress.step,
            max_steps=max_steps,
        )

    def _finish(
        self,
        model: ModelAndOptimizer,
        checkpoints: Checkpoints,
        progress: TrainingProgress,
        engine: StepEngine,
        *,
        scorer: checkpoint_scorer.CheckpointScorer,
    ) -> None:
        """Export: the best weights where validation or early stopping chose some, else the last."""
        best, weights = progress.plateau.best_step, None
        if self._job.trainer.validation.keep_best and best is not None:
            engine.wait_for_all()  # the chief may have written it a moment ago
            checkpoints.restore_best(best)
        else:
            weights = self._best_evaluated(model, engine)
        weights = weights or shipped_weights(model.network, model.optimizer)
        if not are_finite(weights):
            raise diverged(progress)
        _log.info("weights %s", digest_of_weights(weights))  # equal in all processes in step
        if self._cluster.is_chief:
            scorer.export(weights, self._job.export_dir)
            copy_curves(self._job.checkpoint_dir, self._job.log_dir)

    def _best_evaluated(self, model: ModelAndOptimizer, engine: StepEngine) -> list[Any] | None:
        """Under early stopping the weights with the best evaluation; all processes take the same.

        Evaluations may still come in while the chief looks: what it sees counts.
        """
        policy, directory = self._job.trainer.early_stopping, self._job.checkpoint_dir
        if isinstance(policy, NoEarlyStopping):
            return None
        found = early_stopping.best_step(policy, checkpoint_scorer.read_history(self._job))
        if found is None or not has_best_evaluated(directory, found):
            found = _NO_STEP
        step = int(engine.broadcast_from_chief(float(found)))
        if step == _NO_STEP:
            _log.warning("early stopping: no evaluated weights were kept, so the last are exported")
            return None
        restore_best_evaluated(directory, model.network, step)
        _log.info("early stopping: the weights of step %d, the best evaluated, are exported", step)
        weights: list[Any] = model.network.get_weights()
        return weights

    def _announce(self, progress: TrainingProgress, max_steps: int) -> None:
        _log.info(
            "%s of a %s training: %s, %d replicas, %s, step %d of %d",
            self._cluster,
            self._cluster.kind.value,
            name_of(self._strategy),
            self._replicas.total,
            self._dtype,
            progress.step,
            max_steps,
        )
        if (asked := self._job.trainer.max_steps) is not None and max_steps < asked:
            _log.info("num_epochs ends it before max_steps, which is %d", asked)


def digest_of_weights(weights: Sequence[Any]) -> str:
    """Names the weights' bits."""
    digest = hashlib.sha256()
    for weight in weights:
        digest.update(np.ascontiguousarray(weight).tobytes())
    return digest.hexdigest()[:16]


def steps_per_loop(config: TrainerConfig, level: Level) -> int:
    """Steps in one call of TensorFlow: several where a step is short."""
    if config.steps_per_loop is not None:
        return config.steps_per_loop
    return min(_AUTO_STEPS_PER_LOOP, config.log.every_steps) if level is Level.VIDEO else 1


def _process(cluster: Cluster) -> int:
    """This process's number among those that train: the chief's is 0."""
    return cluster.trainers.index(cluster.address) if cluster.address else 0
