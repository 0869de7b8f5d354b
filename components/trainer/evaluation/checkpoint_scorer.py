"""Scoring and exporting a training's weights, outside any strategy; the evaluator role."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tensorflow as tf

from yt8m.components import storage
from yt8m.components.artifacts.training_curve import EVALUATION, read_curve
from yt8m.components.export.retrieval_index import build_index
from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.models.heads import Head
from yt8m.components.models.network import Network
from yt8m.components.models.retrieval import Neighbours
from yt8m.components.trainer.cluster.devices import hide_gpus
from yt8m.components.trainer.cluster.stop_signal import StopSignal
from yt8m.components.trainer.evaluation.checkpoint_export import restore_network
from yt8m.components.trainer.evaluation.continuous_eval import watch
from yt8m.components.trainer.evaluation.early_stopping import EvaluatedStep, best_step
from yt8m.components.trainer.evaluation.exporters import Exporter
from yt8m.components.trainer.evaluation.split_scorer import SplitScorer, SplitScores, parse_part
from yt8m.components.trainer.input import TrainingData, load_data
from yt8m.components.trainer.job import TrainingJob
from yt8m.components.trainer.metrics import metrics_of
from yt8m.components.trainer.network import heads_of, network_of, vocabulary_of
from yt8m.components.trainer.state.checkpoints import check_model, save_best_evaluated, step_of
from yt8m.components.trainer.state.curve import CurveWriter, copy_curves
from yt8m.schemas.config_tree import to_dict

# What every process gives, in their order, from what this one gives.
Exchange = Callable[[bytes], Sequence[bytes]]


@dataclass(frozen=True, kw_only=True)
class _Evaluated:
    """The newest checkpoint that was evaluated, and what was found."""

    path: str = ""
    content: bytes = b""  # a step may be saved again, and with other weights
    scores: SplitScores | None = None
    row: Mapping[str, Any] = field(default_factory=dict)


class CheckpointScorer:
    """One network that takes others' weights, to be validated, evaluated and exported."""

    def __init__(self, job: TrainingJob, data: TrainingData, heads: tuple[Head, ...]) -> None:
        self._job, self._data, self._heads = job, data, heads
        self._network: Network | None = None
        self._validator: SplitScorer | None = None
        self._evaluator: SplitScorer | None = None
        self._evaluated = _Evaluated()
        exporters = job.trainer.evaluation.exporters
        self._metrics = metrics_of(job.trainer)
        self._exporters = [Exporter(c, job.exporters_dir, self._metrics) for c in exporters]

    def validate(
        self, weights: list[Any], exchange: Exchange, *, num_workers: int, worker_index: int
    ) -> SplitScores:
        """The scores of `weights` on the validation split, for decisions within training.

        Every process that trains scores its part, and learns from `exchange` what the others found.
        """
        config = self._job.trainer.validation
        self.network.set_weights(weights)
        if self._validator is None:
            self._validator = SplitScorer(
                self.network,
                excluded_heads=config.excluded_heads,
                segments=self._job.trainer.segments,
                metrics=self._metrics,
            )
        batches = self._data.validation_batches(
            config.steps, num_workers=num_workers, worker_index=worker_index
        )
        mine = self._validator.part(*batches)
        parts = [mine] if num_workers == 1 else map(parse_part, exchange(mine.to_bytes()))
        return self._validator.join(list(parts))

    def evaluate(self, path: str, final: bool) -> None:
        """Score the checkpoint at `path`, write that down, and let the exporters have it.

        A checkpoint that turns out to be the last one after it was scored is not scored again.
        """
        began, step, before = time.monotonic(), step_of(path), self._evaluated
        content = _read_index(path)
        self._restore(path)
        is_again = path == before.path
        is_known = is_again and content == before.content
        scores = before.scores if is_known else None
        scores = scores or self._score_for_evaluation()
        metrics = scores.to_dict()
        others = {} if is_known else self._score_others()
        if not is_known:
            self._keep_if_best(step, metrics)
        exported = [
            exporter.name
            for exporter in self._exporters
            if scores.is_finite
            and exporter.export(
                step, metrics, self._write, final=final, overwrite=is_again and not is_known
            )
        ]
        if is_known and not exported:
            return
        row = {**metrics, **others, "duration_s": time.monotonic() - began, "exported": exported}
        if is_known:
            row = {**before.row, "exported": [*before.row["exported"], *exported]}
        self._evaluated = _Evaluated(path=path, content=content, scores=scores, row=row)
        self._write_down(step, row)

    def _keep_if_best(self, step: int, metrics: Mapping[str, Any]) -> None:
        """Keep the weights that early stopping exports, before anybody reads that they are best."""
        before = [(s, m) for s, m in read_history(self._job) if s < step]
        policy = self._job.trainer.early_stopping
        if best_step(policy, [*before, (step, metrics)], self._metrics) == step:
            save_best_evaluated(self._job.checkpoint_dir, self.network, step)

    def _restore(self, path: str) -> None:
        restore_network(self.network, path, averaged=self._job.trainer.ema_momentum is not None)

    def _score_for_evaluation(self) -> SplitScores:
        if self._evaluator is None:
            self._evaluator = SplitScorer(
                self.network, segments=self._job.trainer.segments, metrics=self._metrics
            )
        steps = self._job.trainer.evaluation.steps
        return self._evaluator.score(*self._data.validation_batches(steps))

    def _score_others(self) -> dict[str, Any]:
        """The values of further splits, as `<split>/<metric>`."""
        config = self._job.trainer.evaluation
        values: dict[str, Any] = {}
        for split in config.other_splits:
            assert self._evaluator is not None  # it has scored the first split
            scores = self._evaluator.score(*self._data.other_batches(split, config.steps))
            values |= {f"{split}/{name}": value for name, value in scores.to_dict().items()}
        return values

    def export(self, weights: list[Any], directory: str) -> None:
        """The SavedModel of `weights`."""
        self.network.set_weights(weights)
        self._write(directory)

    @property
    def network(self) -> Network:
        if self._network is None:
            # Float32, as the export is: what is scored is what ships.
            self._network = network_of(self._job, self._heads, compute_dtype="float32")
        return self._network

    @functools.cached_property
    def _neighbours(self) -> Neighbours | None:
        config, features = self._job.trainer.retrieval, self._job.features
        if config is None:
            return None
        index = build_index(self._data.train, config)
        return Neighbours(config, index, sizes=features.sizes, num_classes=features.num_classes)

    def _write(self, directory: str) -> None:
        job = self._job
        spec = ExportSpec(
            level=job.level,
            features=job.features,
            vocabulary=vocabulary_of(job),
            transform_graph=job.transform_graph or None,
            neighbours=self._neighbours,
            config=to_dict(job.trainer),
        )
        export_model(self.network, directory, spec)

    def _write_down(self, step: int, row: dict[str, Any]) -> None:
        curve = CurveWriter(f"{self._job.checkpoint_dir}/{EVALUATION}", step=step - 1)
        curve.add("evaluation", step, row)
        curve.close()
        name = self._job.trainer.evaluation.name
        if not self._job.trainer.log.tensorboard:
            return
        directory = f"{self._job.log_dir}/eval{'_' + name if name else ''}"
        with tf.summary.create_file_writer(directory).as_default():
            for key, value in row.items():
                if isinstance(value, int | float):
                    tf.summary.scalar(f"evaluation/{key}", value, step=step)


def evaluate_continuously(job: TrainingJob) -> None:
    """The evaluator role: until the training's last checkpoint is scored."""
    data, config = load_data(job), job.trainer
    if not config.evaluation.uses_gpu:
        hide_gpus()
    scorer = CheckpointScorer(job, data, heads_of(job))

    def evaluate(path: str, final: bool) -> None:
        check_model(job.checkpoint_dir, data.model)  # which the chief wrote before
        scorer.evaluate(path, final)

    wiped_within_s = min(config.begin_s, config.idle_limit_s) if config.start_new_model else 0.0
    with StopSignal() as stop:
        watch(
            job.checkpoint_dir,
            config.evaluation,
            evaluate,
            stopping_criteria=config.stopping_criteria,
            idle_limit_s=config.idle_limit_s,
            wiped_within_s=wiped_within_s,
            should_end=lambda: stop.requested,
        )
        if stop.requested:
            stop.obey("evaluator: ended by a signal")
    copy_curves(job.checkpoint_dir, job.log_dir)


def _read_index(path: str) -> bytes:
    """The checkpoint's table of contents, in which every tensor has a checksum."""
    return storage.read_bytes(f"{path}.index")


def read_history(job: TrainingJob) -> list[EvaluatedStep]:
    """Read the results of continuous evaluation so far, wherever it runs."""
    rows = read_curve(f"{job.checkpoint_dir}/{EVALUATION}")
    return [(row["step"], row) for row in rows]
