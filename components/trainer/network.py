"""A job's model: vocabulary, heads, and the network with new weights."""

from __future__ import annotations

import functools
import gc
import time
import weakref
from collections.abc import Callable
from typing import Any

import tensorflow as tf
import tf_keras

from yt8m.components.models.heads import Head, create_heads
from yt8m.components.models.layers import Recipe
from yt8m.components.models.network import Network, find_network_type
from yt8m.components.records.vocabulary import load_vocabulary
from yt8m.components.trainer.config import CacheKind
from yt8m.components.trainer.job import TrainingJob
from yt8m.schemas.errors import ConfigError, Yt8mError
from yt8m.schemas.own_code import told_of
from yt8m.schemas.vocabulary import Vocabulary

_COLLECTIONS_S = (0.0, 0.2, 0.5, 1.0)


def heads_of(job: TrainingJob) -> tuple[Head, ...]:
    """The heads that the job's configuration names."""
    return create_heads(
        job.trainer.heads,
        features=job.features,
        level=job.level,
        vocabulary=vocabulary_of(job),
        splits=job.trainer.mixed_splits,
    )


def vocabulary_of(job: TrainingJob) -> Vocabulary | None:
    """The vocabulary, where the job names one."""
    if not job.vocabulary:
        return None
    return load_vocabulary(job.vocabulary, num_classes=job.features.num_classes)


def network_type_of(job: TrainingJob, heads: tuple[Head, ...]) -> type[Network]:
    """The class of the job's network; ConfigError if it cannot be had, or does not suit `heads`."""
    return find_network_type(job.trainer.network, heads)


def network_of(
    job: TrainingJob, heads: tuple[Head, ...], *, compute_dtype: str, fuse: bool = False
) -> Network:
    """The job's network, with new weights."""
    create = functools.partial(
        network_type_of(job, heads),
        job.trainer.model,
        features=job.features,
        level=job.level,
        heads=heads,
        sharing=job.trainer.sharing,
        recipe=Recipe(seed=job.trainer.seed, compute_dtype=compute_dtype, fuse=fuse),
        **({"transform": job.transform} if job.transform else {}),
    )
    if job.trainer.network:
        # Layers of the user's own draw their first weights, and their dropout, from Keras's seed.
        tf_keras.utils.set_random_seed(job.trainer.seed)
        network = _create_own(job.trainer.network, create)
    else:
        network = create()
    if job.trainer.cache is CacheKind.MEANS and not network.averages_frames:
        raise ConfigError(
            f"trainer.cache = {job.trainer.cache.value!r}: must be 'frames' or 'off' with "
            f"trainer.network = {job.trainer.network!r}, which looks at frames"
        )
    return network


def _create_own(path: str, create: Callable[[], Network]) -> Network:
    """Create a network of the user's own; ConfigError if it fails, or hides some of its weights."""
    made: list[weakref.ref[tf.Variable]] = []

    def remember(create_next: Callable[..., tf.Variable], **arguments: Any) -> tf.Variable:
        variable = create_next(**arguments)
        made.append(weakref.ref(variable))
        return variable

    try:
        with tf.variable_creator_scope(remember):
            network = create()
    except (Yt8mError, OSError, MemoryError, tf.errors.OpError):  # told already, or the machine's
        raise
    except Exception as error:
        what = told_of(error, path)
        raise ConfigError(f"trainer.network = {path!r}: cannot be created ({what})") from error
    held = {id(part) for part in (*network.weights, *tf.train.TrackableView(network).descendants())}
    if weights := _kept_outside(made, held):  # the export would refuse them, after the training
        raise ConfigError(
            f"trainer.network = {path!r}: the weight {weights[0]} would be neither trained nor "
            "exported; make its layer with tf_keras, not tf.keras, and keep it in an attribute of "
            "the network or of one of its layers"
        )
    return network


def _kept_outside(made: list[weakref.ref[tf.Variable]], held: set[int]) -> list[str]:
    """The names of those weights in `made` that live on, but are not in `held`.

    A model that was only looked at, for its weights say, is gone after a collection. That does
    nothing while a collection of another thread goes on, so it is tried again.
    """

    def names() -> list[str]:
        living = (v for ref in made if (v := ref()) is not None)
        return [v.name for v in living if v.dtype.is_floating and id(v) not in held]

    for wait_s in _COLLECTIONS_S:
        time.sleep(wait_s)
        gc.collect()
        if not names():
            break
    return names()
