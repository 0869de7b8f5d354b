"""Log of a training for people and machines: a hook of the chief."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.plugins.histogram.metadata import create_summary_metadata
from tensorboard.plugins.scalar.summary_v2 import scalar_pb
from tensorboard.util.tensor_util import make_tensor_proto

from yt8m.components.artifacts.training_curve import TRAINING
from yt8m.components.console.progress import Progress as Bar
from yt8m.components.metrics.accumulator import MetricAccumulator
from yt8m.components.metrics.batch import BrokenPredictions
from yt8m.components.metrics.catalogue import METRICS, values_of
from yt8m.components.models.heads import Head
from yt8m.components.trainer.config import WITHOUT_END, LogConfig
from yt8m.components.trainer.evaluation.split_scorer import SplitScores, metrics_batch
from yt8m.components.trainer.loop.divergence import diverged
from yt8m.components.trainer.loop.hook import Hook, Steps, Training
from yt8m.components.trainer.loop.step import StepResult
from yt8m.components.trainer.state.curve import CurveWriter
from yt8m.schemas.metric_names import LOSS

_BUCKETS = 30  # of a histogram, as TensorBoard's own
_PIECE = 1 << 20  # numbers of which a histogram takes copies at a time
# Of a batch; its loss is the step's own.
_SHOWN = tuple(m for m in METRICS if not m.needs_many_videos and m.name != LOSS)


class TrainingLog(Hook):
    """A progress bar, JSON lines and TensorBoard."""

    def __init__(
        self,
        config: LogConfig,
        *,
        directory: str,
        curve_directory: str,
        heads: Sequence[Head],
        every_steps: int,
        step: int,
        last_step: int,
    ) -> None:
        self._heads, self.every_steps = heads, every_steps
        self._curve = CurveWriter(f"{curve_directory}/{TRAINING}", step=step)
        self._board = (
            tf.summary.create_file_writer(f"{directory}/train") if config.tensorboard else None
        )
        total = last_step if last_step < WITHOUT_END else None
        self._bar = Bar("train", total=total, unit="steps", done=step)
        self._bar.__enter__()
        self._step = step
        self._since = time.monotonic()
        self._started = self._since
        self._rows = 0

    def close(self) -> None:
        self._bar.__exit__(None, None, None)
        self._curve.close()
        if self._board is not None:
            self._board.close()

    def after_steps(self, training: Training, steps: Steps) -> None:
        self._rows += steps.rows
        self._bar.advance(training.step - self._step)
        self._step = training.step
        if not (self.is_due(training) or training.step == training.last_step):
            return
        broken = self._train(training, steps.result, rate=steps.learning_rate)
        seen = broken - set(training.config.validation.excluded_heads)
        if broken and not (seen and training.can_go_back):
            raise diverged(training.step, training.config.network)

    def after_validation(self, training: Training, scores: SplitScores, seconds: float) -> None:
        row = {**scores.to_dict(), "duration_s": seconds, "factor": training.rate_factor}
        self._event("validation", training.step, row)
        self._reset_timer()

    def after_save(self, training: Training, path: str, seconds: float) -> None:
        self._event("checkpoint", training.step, {"duration_s": seconds})
        if self._board is not None:
            self._board.flush()
        self._reset_timer()

    def _train(self, training: Training, result: StepResult, *, rate: float) -> set[str]:
        """Figures of the newest step; speed is that since the last call. The heads with NaN."""
        now = time.monotonic()
        speed = self._rows / max(now - self._since, 1e-9)
        self._since, self._rows = now, 0
        losses = result.losses
        by_head = {h.name: float(v) for h, v in zip(self._heads, losses.by_head, strict=True)}
        loss = sum(head.weight * by_head[head.name] for head in self._heads)
        metrics = shown_metrics(self._heads[0], result)
        row = {
            "examples": training.examples,
            "seconds": now - self._started,
            "examples_per_s": speed,
            LOSS: loss,
            "regularisation": float(losses.regularisation),
            "gradient_norm": float(losses.gradient_norm),
            "learning_rate": rate,
            **{metric.name: metrics and metrics[metric.name] for metric in _SHOWN},
            **{f"loss_{name}": value for name, value in by_head.items() if len(by_head) > 1},
        }
        self._curve.add("train", training.step, row)
        self.scalars(training.step, row)
        # These are the training batch's; the Evaluator's metrics have the same names.
        note = f"{speed:,.0f} examples/s, batch: loss {loss:.3f}"
        if metrics is not None:
            note += "".join(f" {m.title} {metrics[m.name] or 0:.3f}" for m in _SHOWN)
        self._bar.advance(0, note=note)
        broken = {name for name, value in by_head.items() if not math.isfinite(value)}
        return broken if metrics is not None else broken | {self._heads[0].name}

    def _event(self, kind: str, step: int, values: Mapping[str, Any]) -> None:
        self._curve.add(kind, step, values)
        numbers = {f"{kind}/{k}": v for k, v in values.items() if isinstance(v, int | float)}
        self.scalars(step, numbers)

    def scalars(self, step: int, values: Mapping[str, Any]) -> None:
        if self._board is None:
            return
        self._write(
            step, [scalar_pb(k, v) for k, v in values.items() if isinstance(v, int | float)]
        )

    def histograms(self, step: int, values: Iterable[tuple[str, np.ndarray]]) -> None:
        """The distribution of each array; one after the other is asked for."""
        if self._board is not None:
            self._write(step, [histogram_pb(tag, array) for tag, array in values])

    def _write(self, step: int, summaries: Sequence[Summary]) -> None:
        if self._board is None:
            return
        together = b"".join(one.SerializeToString() for one in summaries)  # one summary of all
        with self._board.as_default():  # one write, for each waits on TensorFlow
            tf.summary.experimental.write_raw_pb(together, step=step)

    def _reset_timer(self) -> None:
        """What came since the last figures (a validation, say) is not training's time."""
        self._since, self._rows = time.monotonic(), 0


def histogram_pb(tag: str, values: np.ndarray) -> Summary:
    """As `tf.summary.histogram` has it, which takes 240 bytes a number: a gigabyte for a layer.

    Piece by piece: copies of a large layer would be the most memory that a training takes.
    """
    flat = values.reshape(-1)
    pieces = [flat[start : start + _PIECE] for start in range(0, max(flat.size, 1), _PIECE)]
    limits = [(float(p.min()), float(p.max())) for p in map(_finite, pieces) if p.size]
    span = (
        min((low for low, _ in limits), default=0.0),
        max((high for _, high in limits), default=1.0),
    )
    edges = np.histogram_bin_edges(np.empty(0), bins=_BUCKETS, range=span)
    counts = np.zeros(_BUCKETS, np.int64)
    for piece in map(_finite, pieces):
        counts += np.histogram(piece.astype(np.float64), bins=_BUCKETS, range=span)[0]
    buckets = np.stack([edges[:-1], edges[1:], counts], axis=1)
    summary = Summary()
    summary.value.add(
        tag=tag,
        tensor=make_tensor_proto(buckets, np.float64),
        metadata=create_summary_metadata(display_name=None, description=None),
    )
    return summary


def _finite(values: np.ndarray) -> np.ndarray:
    """Of a diverged training, what can be shown."""
    return values[np.isfinite(values)]


def shown_metrics(head: Head, result: StepResult) -> dict[str, float | None] | None:
    """The metrics of the rows that the step handed out; None if scores are no numbers."""
    metrics = MetricAccumulator(head.num_classes)
    try:
        metrics.update(metrics_batch(head, result.shown, result.scores))
    except BrokenPredictions:
        return None
    return values_of(metrics, _SHOWN)
