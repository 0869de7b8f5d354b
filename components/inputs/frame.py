"""Frame level: one tf.SequenceExample at a time, frames chosen before they are decoded."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from yt8m.components.inputs.config import FrameChoice, FrameSampling
from yt8m.components.preprocessing.arithmetic import evenly_spaced
from yt8m.schemas.batch import NO_LABEL, NUM_FRAMES, POSITION
from yt8m.schemas.features import ID, LABELS, FeatureConfig


def parse_frames(
    record: tf.Tensor,
    features: FeatureConfig,
    *,
    sampling: FrameSampling | None = None,
    noise: tf.Tensor | None = None,
    with_id: bool = False,
    with_labels: bool = True,
    columns: Sequence[str] = (),
) -> dict[str, tf.Tensor]:
    """One row from a serialized record; `noise` [2] int64 decides random frames."""
    lists = [*([LABELS] if with_labels else []), *columns]
    spec: dict[str, object] = {name: tf.io.VarLenFeature(tf.int64) for name in lists}
    if with_id:
        spec[ID] = tf.io.FixedLenFeature([], tf.string)
    context, encoded = read_sequence(record, spec, features)
    # The first frames as a slice, which copies nothing; a gather does.
    taken = {name: frames[: features.max_frames] for name, frames in encoded.items()}
    if sampling is not None:
        chosen = choose_frames(tf.size(taken[features.names[0]]), sampling, noise)
        taken = {name: tf.gather(frames, chosen) for name, frames in taken.items()}
    row = decode_frames(taken, features)
    row[NUM_FRAMES] = tf.size(taken[features.names[0]])
    row |= {name: context[name].values for name in lists}
    if with_id:
        row[ID] = context[ID]
    return row


def read_sequence(
    record: tf.Tensor, context: dict[str, object], features: FeatureConfig
) -> tuple[dict[str, tf.Tensor], dict[str, tf.Tensor]]:
    """The record's context, and each feature's frames as undecoded texts [frames]."""
    lists = {name: tf.io.FixedLenSequenceFeature([], tf.string) for name in features.names}
    parsed, encoded = tf.io.parse_single_sequence_example(record, context or None, lists)
    first, *others = (encoded[name] for name in features.names)
    for other in others:
        same = tf.debugging.assert_equal(
            tf.size(other), tf.size(first), "features of a record differ in their number of frames"
        )
        with tf.control_dependencies([same] if same is not None else []):
            encoded = {name: tf.identity(value) for name, value in encoded.items()}
    return parsed, encoded


def decode_frames(encoded: dict[str, tf.Tensor], features: FeatureConfig) -> dict[str, tf.Tensor]:
    """`[frames, size] uint8` of each feature; a frame of another size is an error."""
    # The shape is given by the number of texts: of none at all, TensorFlow knows no size.
    return {
        name: tf.reshape(tf.io.decode_raw(encoded[name], tf.uint8), [tf.size(encoded[name]), size])
        for name, size in features.size_by_name.items()
    }


def choose_frames(count: tf.Tensor, sampling: FrameSampling, noise: tf.Tensor | None) -> tf.Tensor:
    """Indices of the frames that are taken of `count`, [any] int32."""
    wanted = sampling.frames
    if sampling.choice is FrameChoice.SPREAD or noise is None:
        taken = tf.minimum(count, wanted)
        return evenly_spaced(tf.range(taken), of=count, taken=taken)
    if sampling.choice is FrameChoice.RANDOM_FRAMES:
        uniform = tf.random.stateless_uniform([wanted], noise)
        return tf.cast(uniform * tf.cast(count, tf.float32), tf.int32)
    latest = tf.maximum(count - wanted, 0)
    start = tf.random.stateless_uniform([], noise, 0, latest + 1, tf.int32)
    return start + tf.range(tf.minimum(count, wanted))


def sample_frames(
    batch: dict[str, tf.Tensor], features: FeatureConfig, sampling: FrameSampling, *, seed: int
) -> dict[str, tf.Tensor]:
    """A batch of whole videos with the frames that `sampling` takes; positions decide chance."""
    key = tf.constant(seed, tf.int64)

    def choose(row: tuple[tf.Tensor, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        position, count = row
        chosen = choose_frames(count, sampling, tf.stack([key, position]))
        missing = sampling.frames - tf.size(chosen)
        return tf.pad(chosen, [[0, missing]], constant_values=-1), tf.size(chosen)

    chosen, counts = tf.map_fn(
        choose,
        (batch[POSITION], batch[NUM_FRAMES]),
        fn_output_signature=(
            tf.TensorSpec([sampling.frames], tf.int32),
            tf.TensorSpec([], tf.int32),
        ),
    )
    chosen = chosen[:, : tf.reduce_max(counts)]
    is_there = tf.cast(chosen >= 0, tf.uint8)[..., tf.newaxis]
    at = tf.maximum(chosen, 0)
    taken = {name: tf.gather(batch[name], at, batch_dims=1) * is_there for name in features.names}
    return {**batch, **taken, NUM_FRAMES: counts}


def padding_of(row: dict[str, tf.TensorSpec]) -> dict[str, tf.Tensor]:
    """The values with which `padded_batch` fills each part of a row."""
    return {
        name: tf.constant(NO_LABEL if spec.dtype is tf.int64 else 0, spec.dtype)
        if spec.dtype is not tf.string
        else tf.constant("")
        for name, spec in row.items()
    }
