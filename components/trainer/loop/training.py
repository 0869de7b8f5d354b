"""One process's part in a training, from TF_CONFIG to the export."""

from __future__ import annotations

import logging
from typing import Any

from yt8m.components.export.retrieval_index import check_retrieval
from yt8m.components.inputs.faults import explaining_faults
from yt8m.components.records.vocabulary import vocabulary_digest
from yt8m.components.trainer.averaging import shipped_weights
from yt8m.components.trainer.cluster import rendezvous
from yt8m.components.trainer.cluster.errors import explaining_lost_peers
from yt8m.components.trainer.cluster.heartbeat import Watch
from yt8m.components.trainer.cluster.stop_signal import StopSignal
from yt8m.components.trainer.cluster.strategy import create_strategy
from yt8m.components.trainer.config import NoEarlyStopping
from yt8m.components.trainer.evaluation import checkpoint_scorer, early_stopping
from yt8m.components.trainer.input import load_data
from yt8m.components.trainer.job import TrainingJob
from yt8m.components.trainer.loop.parts import (
    Parts,
    TrainingProcess,
    build,
    digest_of_weights,
)
from yt8m.components.trainer.loop.training_loop import Loop, are_finite, diverged
from yt8m.components.trainer.network import heads_of, network_type_of
from yt8m.components.trainer.state.checkpoints import (
    Done,
    TrainingProgress,
    check_model,
    has_best_evaluated,
    mark_done,
    prepare,
    restore_best_evaluated,
)
from yt8m.components.trainer.state.curve import copy_curves
from yt8m.components.trainer.tf_config import Cluster

_log = logging.getLogger(__name__)
_NO_STEP = -1


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
    model = {**job.model, "vocabulary": vocabulary, "data": data.train_digest}
    if not config.start_new_model:
        check_model(job.checkpoint_dir, model)
    rendezvous.wait_for_peers(
        cluster,
        timeout_s=config.distribution.peer_timeout_s,
        settings={**job.shared_settings, "records": data.digests},
    )
    if cluster.is_chief:  # only now: who belongs to no training writes nothing
        prepare(
            job.checkpoint_dir,
            model,
            job.settings,
            start_new=config.start_new_model,
            exports=job.exporters_dir,
        )
    with explaining_lost_peers(cluster):
        strategy = create_strategy(cluster, config.distribution)
        # Only now: TensorFlow's coordination service takes SIGTERM for itself when it starts.
        with StopSignal(watch) as stop:
            process = TrainingProcess(
                job=job, cluster=cluster, data=data, heads=heads, strategy=strategy
            )
            run(build(process), stop)


def run(parts: Parts, stop: StopSignal) -> None:
    """Train to the last step, or a reason to end before it; then export, as the chief."""
    try:
        with explaining_faults(parts.data.train):
            progress = Loop(parts, stop).run(parts.progress)
    finally:
        if parts.hooks.log is not None:
            parts.hooks.log.close()
    _finish(parts, progress)
    parts.collectives.wait_for_all()  # nobody leaves while the chief still writes


def _finish(parts: Parts, progress: TrainingProgress) -> None:
    """Export: the best weights where validation or early stopping chose some, else the last."""
    job, best, weights = parts.job, progress.plateau.best_step, None
    if job.trainer.validation.keep_best and best is not None:
        parts.collectives.wait_for_all()  # the chief may have written it a moment ago
        parts.checkpoints.restore_best(best)
    else:
        weights = _best_evaluated(parts)
    weights = weights or shipped_weights(parts.network, parts.optimizer)
    if not are_finite(weights):
        raise diverged(progress)
    _log.info("weights %s", digest_of_weights(weights))  # equal in all processes in step
    if parts.cluster.is_chief:
        parts.scorer.export(weights, job.export_dir)
        copy_curves(job.checkpoint_dir, job.log_dir)
        done = Done(step=progress.step, stopping_criteria=job.trainer.stopping_criteria)
        mark_done(job.checkpoint_dir, done)


def _best_evaluated(parts: Parts) -> list[Any] | None:
    """Under early stopping the weights with the best evaluation; all processes take the same.

    Evaluations may still come in while the chief looks: what it sees counts.
    """
    policy, directory = parts.job.trainer.early_stopping, parts.job.checkpoint_dir
    if isinstance(policy, NoEarlyStopping):
        return None
    found = early_stopping.best_step(policy, checkpoint_scorer.read_history(parts.job))
    if found is None or not has_best_evaluated(directory, found):
        found = _NO_STEP
    step = int(parts.collectives.broadcast_from_chief(float(found)))
    if step == _NO_STEP:
        _log.warning("early stopping: no evaluated weights were kept, so the last are exported")
        return None
    restore_best_evaluated(directory, parts.network, step)
    _log.info("early stopping: the weights of step %d, the best evaluated, are exported", step)
    weights: list[Any] = parts.network.get_weights()
    return weights
