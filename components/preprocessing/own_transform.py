"""A transform of the user's own in the place of `normalize`: one function, used by Transform, by
networks and by exports alike, so that training and serving see the same vectors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from yt8m.components.preprocessing.arithmetic import dequantize, frame_mask
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.own_code import load_named

# What the user writes: of each feature `[..., size] float32`, one vector `[..., any size] float32`.
Function = Callable[[Mapping[str, tf.Tensor]], tf.Tensor]
_TOLERANCE = 1e-4
_KIND = "must make one float32 vector of each row, by its last axis"


@dataclass(frozen=True, kw_only=True)
class OwnTransform:
    """The function at `path`, tried out."""

    path: str
    features: FeatureConfig
    size: int  # of the vectors that it makes
    function: Function

    def __call__(
        self, stored: Mapping[str, tf.Tensor], *, level: Level, num_frames: tf.Tensor | None = None
    ) -> tf.Tensor:
        """As `normalize`: vectors `[..., size] float32` of features as records hold them."""
        read = dequantize if level.is_sequence else tf.identity
        vectors = self.function({name: read(stored[name]) for name in self.features.names})
        if level.is_sequence and num_frames is not None:
            mask = frame_mask(num_frames, tf.shape(vectors)[-2])[..., tf.newaxis]
            vectors = tf.where(mask > 0, vectors, 0.0)
        return tf.ensure_shape(vectors, [*[None] * (vectors.shape.rank - 1), self.size])


def find_transform(path: str, features: FeatureConfig, level: Level) -> OwnTransform | None:
    """The function that `transform.function` names, or None; ConfigError where it is unfit."""
    if not path:
        return None
    where = f"transform.function = {path!r}"
    function = load_named(path, where)
    if not callable(function):
        raise ConfigError(f"{where}: must be a function")
    with tf.init_scope():  # tried on numbers, also where a graph is being made
        size = _size_of(function, where, features, level)
    return OwnTransform(path=path, features=features, size=size, function=function)


def _size_of(function: Function, where: str, features: FeatureConfig, level: Level) -> int:
    """The size of its vectors, after trying it on a few rows together and on each by itself.

    Serving has other batches than training: what looked at the other rows would differ there.
    """
    rows = (2, 3) if level.is_sequence else (4,)  # videos and frames, or videos
    numbers = np.random.default_rng(0)
    given = {
        name: numbers.normal(size=(*rows, size)).astype(np.float32)
        for name, size in features.size_by_name.items()
    }
    together = _try(function, where, given)
    if together.dtype != np.float32 or together.shape[:-1] != rows or not together.shape[-1]:
        raise ConfigError(
            f"{where}: {_KIND}; for features {(*rows, 'size')} it returned {together.dtype} "
            f"{together.shape}"
        )
    if not np.isfinite(together).all():
        raise ConfigError(f"{where}: {_KIND}; of finite features it made NaN or infinity")
    size = int(together.shape[-1])
    flat = {name: value.reshape(-1, value.shape[-1]) for name, value in given.items()}
    for number, expected in enumerate(together.reshape(-1, size)):
        alone = _try(function, where, {n: value[number : number + 1] for n, value in flat.items()})
        if alone.shape != (1, size) or not np.allclose(alone[0], expected, atol=_TOLERANCE):
            raise ConfigError(
                f"{where}: a row's vector must depend on that row alone, and be the same each "
                "time: the row alone gave another vector than in a batch"
            )
    return size


def _try(function: Function, where: str, given: Mapping[str, np.ndarray]) -> np.ndarray:
    try:
        made = function({name: tf.constant(value) for name, value in given.items()})
        return np.asarray(tf.convert_to_tensor(made))
    except Exception as error:  # it is the user's code: whatever it raises is told
        shapes = ", ".join(f"{name} {value.shape}" for name, value in given.items())
        raise ConfigError(
            f"{where}: {_KIND}; for {shapes} it raised {type(error).__name__}: {error}"
        ) from error
