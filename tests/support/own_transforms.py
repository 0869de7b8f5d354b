"""Transforms of a user's own, fit and unfit, as `transform.function` names them."""

import tensorflow as tf


def apart(features):
    """Each feature at length 1 by itself, the sound at half of it, and how loud it was."""
    look = tf.math.l2_normalize(features["rgb"], axis=-1)
    sound = 0.5 * tf.math.l2_normalize(features["audio"], axis=-1)
    loud = tf.norm(features["audio"], axis=-1, keepdims=True)
    return tf.concat([look, sound, loud], axis=-1)


def centred_by_batch(features):
    return features["rgb"] - tf.reduce_mean(features["rgb"], axis=0, keepdims=True)


def divided_by_zero(features):
    return features["rgb"] / 0.0


def one_number(features):
    return tf.reduce_sum(features["rgb"], axis=-1)


def doubled(features):
    return tf.cast(features["rgb"], tf.float64)


def of_another_record(features):
    return features["text"]


NO_FUNCTION = 3


def nothing(features: dict[str, tf.Tensor]) -> None:
    """Forgets to return what it makes."""
