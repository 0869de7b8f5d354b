"""Models as google/youtube-8m's starter code left them: TF1 graphs, checkpoints, SavedModels."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

tf1 = tf.compat.v1
TOP_K = 20
Network = Callable[[tf.Tensor, int], tf.Tensor]


@dataclass(frozen=True, kw_only=True)
class StarterModel:
    """What was written, and what the graph's own session said of the records."""

    train_dir: Path  # model.ckpt-17, model_flags.json
    export: Path
    scores: np.ndarray  # [records, classes]
    ids: list[bytes]


def logistic(inputs: tf.Tensor, classes: int) -> tf.Tensor:
    return tf.sigmoid(_linear(inputs, classes, "fully_connected"))


def moe(inputs: tf.Tensor, classes: int, mixtures: int = 3) -> tf.Tensor:
    gates = _linear(inputs, classes * (mixtures + 1), "gates", bias=False)
    experts = _linear(inputs, classes * mixtures, "experts")
    chosen = tf.nn.softmax(tf.reshape(gates, [-1, mixtures + 1]))[:, :mixtures]
    opinions = tf.sigmoid(tf.reshape(experts, [-1, mixtures]))
    return tf.reshape(tf.reduce_sum(chosen * opinions, axis=1), [-1, classes])


def frame_logistic(frames: tf.Tensor, classes: int) -> tf.Tensor:
    return logistic(tf.reduce_mean(frames, axis=0, keepdims=True), classes)


def dbof(frames: tf.Tensor, classes: int) -> tf.Tensor:
    """Of all frames, sigmoid, the best of each cluster: what a sample of all frames gives."""
    clusters, hidden = 12, 6
    values = _batch_norm(frames, "input_bn")
    values = values @ tf1.get_variable(
        "cluster_weights", (frames.shape[-1], clusters), initializer=_normal(3)
    )
    values = tf.reduce_max(tf.sigmoid(_batch_norm(values, "cluster_bn")), axis=0, keepdims=True)
    values = values @ tf1.get_variable(
        "hidden1_weights", (clusters, hidden), initializer=_normal(4)
    )
    return moe(tf.sigmoid(_batch_norm(values, "hidden1_bn")), classes)


def lstm(frames: tf.Tensor, classes: int) -> tf.Tensor:
    """Two layers of TensorFlow 1's BasicLSTMCell, by its definition."""
    units, values = 5, frames
    for number in range(2):
        with tf1.variable_scope(f"rnn/multi_rnn_cell/cell_{number}/basic_lstm_cell"):
            shape = (values.shape[-1] + units, 4 * units)
            kernel = tf1.get_variable("kernel", shape, initializer=_normal(7 + number, 0.5))
            bias = tf1.get_variable("bias", (4 * units,), initializer=_normal(9 + number, 0.5))

        def step(state: tf.Tensor, value: tf.Tensor, k=kernel, b=bias) -> tf.Tensor:
            memory, output = tf.split(state, 2)
            gates = tf.linalg.matvec(k, tf.concat([value, output], 0), transpose_a=True) + b
            write, candidate, keep, show = tf.split(gates, 4)
            memory = memory * tf.sigmoid(keep + 1.0) + tf.sigmoid(write) * tf.tanh(candidate)
            return tf.concat([memory, tf.tanh(memory) * tf.sigmoid(show)], 0)

        states = tf1.scan(step, values, initializer=tf.zeros([2 * units]))
        values = tf.ensure_shape(states[:, units:], [None, units])
    return moe(values[-1:], classes)


def _batch_norm(values: tf.Tensor, name: str) -> tf.Tensor:
    """slim.batch_norm while it scores: moving statistics, epsilon 0.001."""
    size = values.shape[-1:]
    with tf1.variable_scope(name):
        gamma = tf1.get_variable("gamma", size, initializer=_normal(11, 1.0))
        beta = tf1.get_variable("beta", size, initializer=_normal(12, 1.0))
        mean = tf1.get_variable("moving_mean", size, initializer=_normal(13, 0.1), trainable=False)
        variance = tf1.get_variable(
            "moving_variance",
            size,
            initializer=tf1.random_uniform_initializer(0.5, 2.0, seed=14),
            trainable=False,
        )
    return (values - mean) * tf.math.rsqrt(variance + 0.001) * gamma + beta


def unknown(inputs: tf.Tensor, classes: int) -> tf.Tensor:
    return logistic(_linear(inputs, 4, "hidden1"), classes)


def _linear(inputs: tf.Tensor, units: int, name: str, *, bias: bool = True) -> tf.Tensor:
    """slim.fully_connected without an activation: the same names of variables."""
    with tf1.variable_scope(name):
        shape = (inputs.shape[-1], units)
        weights = tf1.get_variable("weights", shape, initializer=_normal(units))
        product = inputs @ weights
        if not bias:
            return product
        return product + tf1.get_variable("biases", (units,), initializer=_normal(units + 1))


def _normal(seed: int, stddev: float = 3.0) -> Any:
    return tf1.random_normal_initializer(stddev=stddev, seed=seed)


def write_starter_model(
    place: Path,
    network: Network,
    records: list[bytes],
    *,
    name: str,
    sizes: dict[str, int],
    classes: int,
    frames: bool = False,
) -> StarterModel:
    """Build the graph, save it both ways, and run it on `records` with all its scores.

    Variables are the references of TensorFlow 1, and Adam's slots lie beside them.
    """
    train_dir, export = place / "train", place / "export"
    train_dir.mkdir(parents=True)
    with _loops_of_tf1(), tf1.Graph().as_default(), tf1.Session() as session:
        serialized = tf1.placeholder(tf.string, (None,))
        with tf1.variable_scope("tower", use_resource=False) as scope:

            def answer(one: tf.Tensor) -> tuple[tf.Tensor, ...]:
                with tf1.variable_scope(scope, reuse=tf1.AUTO_REUSE):
                    ids, vectors = (_frames if frames else _vector)(one, sizes)
                    scores = network(vectors, classes)
                values, best = tf1.nn.top_k(scores, min(TOP_K, classes))
                return ids, best, values, scores

            types = (tf.string, tf.int32, tf.float32, tf.float32)
            made = tf1.map_fn(answer, serialized, dtype=types) if frames else answer(serialized)
        ids, best, values, scores = made
        loss = tf.add_n([tf.reduce_sum(v) for v in tf1.trainable_variables()])
        step = tf1.train.get_or_create_global_step()
        train = tf1.train.AdamOptimizer(0.1).minimize(loss, global_step=step)
        tf1.set_random_seed(1)
        session.run(tf1.global_variables_initializer())
        session.run(train)
        tf1.train.Saver().save(session, str(train_dir / "model.ckpt"), global_step=17)
        tf1.saved_model.simple_save(
            session,
            str(export),
            inputs={"example_bytes": serialized},
            outputs={"video_id": ids, "class_indexes": best, "predictions": values},
        )
        found_ids, found = session.run([ids, scores], {serialized: records})
    prefix = "" if frames else "mean_"
    flags = {
        "model": name,
        "feature_names": ", ".join(f"{prefix}{feature}" for feature in sizes),
        "feature_sizes": ", ".join(map(str, sizes.values())),
        "frame_features": frames,
        "label_loss": "CrossEntropyLoss",
    }
    (train_dir / "model_flags.json").write_text(json.dumps(flags))
    return StarterModel(
        train_dir=train_dir,
        export=export,
        scores=found.reshape(len(records), classes),
        ids=found_ids.reshape(-1).tolist(),
    )


@contextlib.contextmanager
def _loops_of_tf1() -> Iterator[None]:
    """Loops as operations of the graph itself; TensorFlow 2 makes functions of them."""
    tf1.disable_control_flow_v2()
    try:
        yield
    finally:
        tf1.enable_control_flow_v2()


def _vector(records: tf.Tensor, sizes: dict[str, int]) -> tuple[tf.Tensor, tf.Tensor]:
    spec = {f"mean_{n}": tf1.FixedLenFeature([s], tf.float32) for n, s in sizes.items()}
    found = tf1.parse_example(records, {"id": tf1.FixedLenFeature([], tf.string), **spec})
    vectors = tf.concat([found[f"mean_{name}"] for name in sizes], axis=1)
    return found["id"], tf.nn.l2_normalize(vectors, 1)


def _frames(record: tf.Tensor, sizes: dict[str, int]) -> tuple[tf.Tensor, tf.Tensor]:
    """Of one record, dequantised, each frame at length 1."""
    lists = {name: tf.io.FixedLenSequenceFeature([], tf.string) for name in sizes}
    context, found = tf.io.parse_single_sequence_example(
        record, {"id": tf.io.FixedLenFeature([], tf.string)}, lists
    )
    parts = [
        tf.reshape(tf.cast(tf.io.decode_raw(found[n], tf.uint8), tf.float32), [-1, size])
        for n, size in sizes.items()
    ]
    frames = tf.concat(parts, axis=1) * (4 / 255) + 4 / 512 - 2
    frames = tf.nn.l2_normalize(frames, 1)
    return context["id"][tf.newaxis], tf.ensure_shape(frames, [None, sum(sizes.values())])
