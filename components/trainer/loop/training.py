"""One process's part in a training, from TF_CONFIG to the export."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

import tensorflow as tf

from yt8m.components.export.retrieval_index import check_retrieval
from yt8m.components.inputs.faults import explaining_faults
from yt8m.components.trainer.averaging import shipped_weights
from yt8m.components.trainer.cluster import rendezvous
from yt8m.components.trainer.cluster.devices import prepare_devices
from yt8m.components.trainer.cluster.errors import explaining_lost_peers
from yt8m.components.trainer.cluster.heartbeat import Watch
from yt8m.components.trainer.cluster.stop_signal import StopSignal
from yt8m.components.trainer.cluster.strategy import create_strategy
from yt8m.components.trainer.config import NoEarlyStopping
from yt8m.components.trainer.evaluation import checkpoint_scorer, early_stopping
from yt8m.components.trainer.input import load_data
from yt8m.components.trainer.job import TrainingJob
from yt8m.components.trainer.loop.divergence import are_finite, diverged
from yt8m.components.trainer.loop.hook import create_hooks
from yt8m.components.trainer.loop.parts import (
    Parts,
    TrainingProcess,
    build,
    digest_of_weights,
)
from yt8m.components.trainer.loop.training_loop import Loop
from yt8m.components.trainer.metrics import metrics_of
from yt8m.components.trainer.network import heads_of, network_type_of
from yt8m.components.trainer.state.checkpoints import (
    check_model,
    has_best_evaluated,
    restore_best_evaluated,
)
from yt8m.components.trainer.state.curve import copy_curves
from yt8m.components.trainer.state.done_marker import Done, mark_done
from yt8m.components.trainer.tf_config import Cluster, ClusterKind
from yt8m.schemas.errors import ConfigError

_log = logging.getLogger(__name__)
_LOOKS = 5  # at evaluated weights that are replaced meanwhile


def train(job: TrainingJob, cluster: Cluster) -> None:
    """Train, as chief, master or worker of `cluster`; the chief alone exports."""
    config = job.trainer
    watch = Watch(job.heartbeat, patience_s=job.abandoned_after_s)
    watch.check()
    data = load_data(job)
    heads = heads_of(job)
    # Before anything is wiped or waited for.
    network = network_type_of(job, heads)
    check_retrieval(config.retrieval, heads, transform=job.transform, network=network)
    metrics_of(config)
    own_hooks = create_hooks(config.hooks)
    for name in ("input", "mixture"):
        if getattr(config, name) and cluster.kind is ClusterKind.PARAMETER_SERVER:
            raise ConfigError(
                f"trainer.{name} = {getattr(config, name)!r}: must be empty with parameter "
                "servers, whose workers read their rows themselves"
            )
    if not config.start_new_model:
        check_model(job.checkpoint_dir, data.model)
    rendezvous.wait_for_peers(
        cluster,
        timeout_s=config.distribution.peer_timeout_s,
        settings={**job.shared_settings, "records": data.digests},
    )
    prepare_devices(config.distribution)
    with explaining_lost_peers(cluster):
        strategy = create_strategy(cluster, config.distribution)
        # Only now: TensorFlow's coordination service takes SIGTERM for itself when it starts.
        with StopSignal(watch) as stop:
            process = TrainingProcess(
                job=job,
                cluster=cluster,
                data=data,
                heads=heads,
                strategy=strategy,
                own_hooks=own_hooks,
            )
            run(build(process), stop)


def run(parts: Parts, stop: StopSignal) -> None:
    """Train to the last step, or a reason to end before it; then export, as the chief."""
    try:
        with explaining_faults(parts.data.train):
            Loop(parts.training, parts.hooks, validate=parts.validate, stop=stop).run()
    finally:
        for hook in parts.hooks:
            hook.close()
    _finish(parts)
    collectives = parts.training.collectives
    collectives.wait_for_all()  # what the chief writes is there, or this process fails with it
    collectives.leave()


def _finish(parts: Parts) -> None:
    """Let the chief export; it alone reads what it or the evaluator has kept to come back to."""
    training = parts.training
    weights = shipped_weights(training.network, training.optimizer)
    _log.info("weights %s", digest_of_weights(weights))  # equal in all processes in step
    if not training.is_chief:
        return
    job = parts.job
    weights = _best(parts) or weights
    if not are_finite(weights):
        raise diverged(training.step, job.trainer.network)
    parts.scorer.export(weights, job.export_dir)
    copy_curves(job.checkpoint_dir, job.log_dir)
    done = Done(step=training.step, stopping_criteria=job.trainer.stopping_criteria)
    mark_done(job.checkpoint_dir, done, log_dir=job.log_dir)


def _best(parts: Parts) -> list[Any] | None:
    """The best weights where validation or early stopping chose some; None: the last."""
    training, best = parts.training, parts.plateau.decided.best_step
    if parts.job.trainer.validation.keep_best and best is not None:
        training.checkpoints.restore_best(best)
        return shipped_weights(training.network, training.optimizer)
    return _best_evaluated(parts)


def _best_evaluated(parts: Parts) -> list[Any] | None:
    """Under early stopping the weights with the best evaluation.

    Evaluations may still come in, and replace weights: what is there when the chief looks counts.
    """
    policy, directory = parts.job.trainer.early_stopping, parts.job.checkpoint_dir
    if isinstance(policy, NoEarlyStopping):
        return None
    for _ in range(_LOOKS):
        step = early_stopping.best_step(
            policy, checkpoint_scorer.read_history(parts.job), metrics_of(parts.job.trainer)
        )
        if step is None or not has_best_evaluated(directory, step):
            continue
        with suppress(tf.errors.NotFoundError):  # a better one has taken its place
            restore_best_evaluated(directory, parts.training.network, step)
            _log.info(
                "early stopping: the weights of step %d, the best evaluated, are exported", step
            )
            weights: list[Any] = parts.training.network.get_weights()
            return weights
    _log.warning("early stopping: no evaluated weights were kept, so the last are exported")
    return None
