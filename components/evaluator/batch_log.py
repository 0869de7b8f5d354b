"""Metrics, speed and histograms of each evaluated batch, for TensorBoard."""

from __future__ import annotations

import time

import numpy as np
import tensorflow as tf

from yt8m.components.evaluator.score_table import CANDIDATE, ScoreTable
from yt8m.components.evaluator.scoring import ScoredBatch
from yt8m.components.metrics.catalogue import METRICS, values_of
from yt8m.components.records.decode import Record, decode_record
from yt8m.schemas.features import DEQUANTISE_BIAS, DEQUANTISE_SCALE

_OF_A_BATCH = [metric for metric in METRICS if not metric.needs_many_videos]
_LEAST = 1e-7  # scores nearer to 0 or 1 have the log-odds of this
_RECORDS = 16  # of a batch whose inputs are counted


class BatchLog:
    """Event files in a directory; a step is a batch."""

    def __init__(self, directory: str) -> None:
        self._writer = tf.summary.create_file_writer(directory)
        self._batch, self._began = 0, time.monotonic()

    def add(self, batch: ScoredBatch, table: ScoreTable) -> None:
        """Note one batch, and what remains of it."""
        seconds = time.monotonic() - self._began
        scores = batch.scores[CANDIDATE].ravel()
        with self._writer.as_default(step=self._batch):
            for name, value in values_of(table.candidate, _OF_A_BATCH).items():
                if value is not None:
                    tf.summary.scalar(f"batch/{name}", value)
            tf.summary.scalar("batch/examples_per_s", len(batch.rows) / max(seconds, 1e-9))
            tf.summary.histogram("scores", scores)
            tf.summary.histogram("log_odds", _log_odds(scores))
            for name, values in _inputs(batch.records).items():
                tf.summary.histogram(f"input/{name}", values)
        self._batch, self._began = self._batch + 1, time.monotonic()

    def close(self) -> None:
        """Write what is still in memory."""
        self._writer.close()


def _log_odds(scores: np.ndarray) -> np.ndarray:
    inner = np.clip(scores.astype(np.float64), _LEAST, 1 - _LEAST)
    return np.asarray(np.log(inner / (1 - inner)))


def _inputs(records: tf.Tensor) -> dict[str, np.ndarray]:
    """The features' numbers of the first records, as a model reads them, by name."""
    decoded = [decode_record(record) for record in records.numpy()[:_RECORDS].tolist()]
    names = dict.fromkeys(name for record in decoded for name in _features(record))
    return {
        name: np.concatenate([_features(record)[name].ravel() for record in decoded])
        for name in names
        if all(name in _features(record) for record in decoded)
    }


def _features(record: Record) -> dict[str, np.ndarray]:
    if record.is_sequence:
        frames = {k: v for k, v in record.feature_lists.items() if isinstance(v, np.ndarray)}
        return {name: v * DEQUANTISE_SCALE + DEQUANTISE_BIAS for name, v in frames.items()}
    numbers = record.features.items()
    return {k: v for k, v in numbers if isinstance(v, np.ndarray) and v.dtype.kind == "f"}
