"""Tiny exported models with the signature that the evaluator calls: plain tf.Module, no training.

A linear model on the mean of the features, whose weights are the least-squares solution on given
records: as good as a linear model can be there, and worse by as much noise as is asked for.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import tensorflow as tf
from records import read_all

from yt8m.components.records.decode import decode_record

SIZES = {"rgb": 16, "audio": 8}


def read_matrix(paths: list[Path], classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Features [N, 24] and labels [N, classes] of video-level or frame-level records."""
    rows, labels = [], []
    for record in map(decode_record, itertools.chain.from_iterable(map(read_all, sorted(paths)))):
        if record.is_sequence:
            lists = record.feature_lists
            parts = [np.asarray(lists[name], np.float32).mean(axis=0) for name in SIZES]
        else:
            parts = [np.asarray(record.features[f"mean_{name}"]) for name in SIZES]
        rows.append(np.concatenate(parts))
        labels.append(np.isin(np.arange(classes), record.features["labels"]))
    return np.array(rows, np.float32), np.array(labels, np.float32)


def fitted_weights(paths: list[Path], classes: int) -> np.ndarray:
    """[25, classes]: least squares with a constant."""
    features, labels = read_matrix(paths, classes)
    design = np.concatenate([features, np.ones((len(features), 1), np.float32)], axis=1)
    gram = design.T @ design + 1e-3 * np.eye(design.shape[1], dtype=np.float32)
    return np.linalg.solve(gram, design.T @ labels).astype(np.float32)


class LinearModel(tf.Module):
    """Scores of serialized records; the mean over frames where there are frames."""

    def __init__(self, weights: np.ndarray, *, frames: bool, broken_from: float = np.inf) -> None:
        super().__init__()
        self._weights = tf.Variable(weights)
        self._frames = frames
        self._broken_from = broken_from

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def scores(self, examples: tf.Tensor) -> dict[str, tf.Tensor]:
        ids, features = self._frame_means(examples) if self._frames else self._means(examples)
        logits = features @ self._weights[:-1] + self._weights[-1]
        scores = tf.sigmoid(8.0 * (logits - 0.3))
        scores = tf.where(scores > self._broken_from, np.float32(np.nan), scores)
        return {"scores": scores, "video_id": ids}

    def _means(self, examples: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        spec = {f"mean_{n}": tf.io.FixedLenFeature([s], tf.float32) for n, s in SIZES.items()}
        parsed = tf.io.parse_example(examples, {"id": tf.io.FixedLenFeature([], tf.string), **spec})
        return parsed["id"], tf.concat([parsed[f"mean_{n}"] for n in SIZES], axis=1)

    def _frame_means(self, examples: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        lists = {n: tf.io.FixedLenSequenceFeature([], tf.string) for n in SIZES}
        context, parsed, lengths = tf.io.parse_sequence_example(
            examples, {"id": tf.io.FixedLenFeature([], tf.string)}, lists
        )
        means = []
        for name, size in SIZES.items():
            padding = tf.constant("\0" * size)
            present = tf.sequence_mask(lengths[name])
            raw = tf.where(present, parsed[name], padding)
            values = tf.cast(tf.io.decode_raw(raw, tf.uint8, fixed_length=size), tf.float32)
            count = tf.cast(lengths[name], tf.float32)[:, tf.newaxis]
            means.append(tf.reduce_sum(values, axis=1) / count)
        return context["id"], tf.concat(means, axis=1)


def write_model(
    path: Path,
    weights: np.ndarray,
    *,
    frames: bool = False,
    noise: float = 0.0,
    broken_from: float = np.inf,
    signatures: tuple[str, ...] = ("scores", "serving_default"),
) -> Path:
    """Export the model with `weights`, blurred by `noise`; scores above `broken_from` are NaN."""
    scale = noise * np.abs(weights).mean()
    blurred = weights + np.random.default_rng(0).normal(0, 1, weights.shape) * scale
    model = LinearModel(blurred.astype(np.float32), frames=frames, broken_from=broken_from)
    tf.saved_model.save(model, str(path), signatures=dict.fromkeys(signatures, model.scores))
    return path
