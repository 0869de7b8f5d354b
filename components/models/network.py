"""Networks from their configuration, and how several heads share one."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any, cast

import tensorflow as tf
import tf_keras

from yt8m.components.models.classifiers import create_classifier
from yt8m.components.models.config import (
    LOOKS_AT_FRAMES,
    DbofConfig,
    FrameLogisticConfig,
    FrameModelConfig,
    LogisticConfig,
    LossName,
    MlpConfig,
    ModelConfig,
    MoeConfig,
    NetVladConfig,
    NextVladConfig,
    RnnConfig,
    Sharing,
    TransformerConfig,
    TrunkClassifierConfig,
)
from yt8m.components.models.dbof import Dbof
from yt8m.components.models.ensemble import create_classifiers, create_trunks
from yt8m.components.models.heads import Head, learned_rows, membership
from yt8m.components.models.layers import Recipe, fused
from yt8m.components.models.losses import head_loss
from yt8m.components.models.recurrent import Recurrent
from yt8m.components.models.transformer import Transformer
from yt8m.components.models.trunks import Mean, ResidualMlp, Signal
from yt8m.components.models.vlad import NetVlad, NextVlad
from yt8m.components.preprocessing.arithmetic import mean_of_normalized, normalize
from yt8m.components.preprocessing.own_transform import find_transform
from yt8m.schemas.batch import MEAN_FRAMES, NUM_FRAMES, POSITION
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import LABELS, FeatureConfig, Level
from yt8m.schemas.own_code import load_named

_SHARED = "shared"
_FRAMES_MULTIPLE = 20  # divides 300, what most videos have
_USUAL_MULTIPLE = 10  # who chooses some frames of each video chooses such a number


class Network(tf_keras.Model):
    """Called on a batch, gives `{head name: probabilities [batch, classes of the head]}`.

    While training those of each member, one after the other: [members x batch, classes].
    """

    # True in a custom network whose trunk looks at each frame, whatever the model is.
    looks_at_frames = False

    def __init__(
        self,
        model: ModelConfig,
        *,
        features: FeatureConfig,
        level: Level,
        heads: Sequence[Head],
        sharing: Sharing,
        recipe: Recipe,
        transform: str = "",
    ) -> None:
        if level is Level.VIDEO and isinstance(model, FrameModelConfig):
            raise ConfigError(
                f"model.name = {model.name!r}: needs frames (data.level: frame or segment), "
                "but data.level is video"
            )
        # One name for all, so that weights are found by theirs when another model starts from them.
        super().__init__(name="network")
        self.model_config, self.recipe = model, recipe
        self._features, self._level = features, level
        self.heads, self.sharing = tuple(heads), sharing
        self.own_transform = find_transform(transform, features, level)
        names, fuse = features.names, recipe.fuse
        self._normalize = fused(
            functools.partial(normalize, names=names, level=level, compiled=fuse), enabled=fuse
        )
        self._mean = fused(
            functools.partial(mean_of_normalized, names=names, compiled=fuse), enabled=fuse
        )
        self.members = model.members if isinstance(model, MlpConfig) else 1
        apart = sharing is Sharing.NOTHING and len(self.heads) > 1
        self._trunks = [
            create_trunks(self._create_checked_trunk, self.members, name=f"{n}_trunk")
            for n in ([head.name for head in heads] if apart else [_SHARED])
        ]
        self._classifiers = [
            create_classifiers(
                functools.partial(self._create_classifier, classes),
                self.members,
                name=f"{n}_classifier",
            )
            for n, classes in self._outputs()
        ]
        self.build_on(batch_spec(features, level))

    def call(self, batch: Mapping[str, tf.Tensor], training: bool = False) -> dict[str, tf.Tensor]:
        # Without positions (a batch made by hand) every step drops the same units.
        noise = batch.get(POSITION, tf.zeros([1], tf.int64))[0] if training else None
        return self.scores(self.signal(batch)._replace(noise=noise), training=training)

    def _check_scores(self, outputs: object) -> None:
        """ConfigError where `scores` of a custom network do not answer each head."""
        expected = {head.name: head.num_classes for head in self.heads}
        given: object = type(outputs).__name__
        if isinstance(outputs, Mapping):
            given = {name: _number_of_classes(part) for name, part in outputs.items()}
            if all(given.get(name, 0) in (expected[name], None) for name in expected):
                return
        raise ConfigError(
            f"trainer.network: {_name(type(self))}.scores gives {given}, but must return a "
            "dictionary of each head's probabilities [rows, classes]: by name, and with as many "
            f"classes, {expected}"
        )

    def signal(self, batch: Mapping[str, tf.Tensor]) -> Signal:
        """The input of trunks: the batch's features, normalised."""
        if MEAN_FRAMES in batch:  # which the reader of a training has made
            return Signal(vectors=batch[MEAN_FRAMES])
        if self.averages_frames:
            return Signal(vectors=self._mean_frame(batch))
        num_frames = batch.get(NUM_FRAMES)
        parts = {name: batch[name] for name in self._features.names}
        if self.own_transform is not None:
            vectors = self.own_transform(parts, level=self._level, num_frames=num_frames)
        else:
            vectors = self._normalize(self._of_few_lengths(parts), num_frames=num_frames)
        if self._level.is_sequence:
            vectors = _with_a_frame(vectors)
        return Signal(vectors=vectors, num_frames=num_frames)

    @property
    def averages_frames(self) -> bool:
        """Whether it looks at the mean of all frames alone, and none need be made.

        Those of a custom transform must be: only our arithmetic is known to have a short cut.
        """
        made = self.looks_at_frames or self.own_transform is not None
        made = made or isinstance(self.model_config, LOOKS_AT_FRAMES)
        return self._level.is_sequence and not made

    def _mean_frame(self, batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """One vector a video, for models that look at no single frame."""
        parts = self._of_few_lengths({name: batch[name] for name in self._features.names})
        vectors: tf.Tensor = self._mean(parts, num_frames=batch[NUM_FRAMES])
        return vectors

    def _of_few_lengths(self, parts: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Frames, padded where XLA would compile for too many lengths."""
        first = parts[self._features.names[0]]
        if not (self.recipe.fuse and self._level.is_sequence) or first.shape[1] is not None:
            return parts
        frames = tf.shape(first)[1]
        is_usual = (frames < _FRAMES_MULTIPLE) | (frames % _USUAL_MULTIPLE == 0)
        missing = tf.where(is_usual, 0, -frames % _FRAMES_MULTIPLE)
        # Most batches hold a video of full length, and padding by nothing would copy them.
        return tf.cond(missing > 0, lambda: _padded(parts, missing), lambda: parts)

    def scores(self, signal: Signal, training: bool = False) -> dict[str, tf.Tensor]:
        """The heads' probabilities for vectors that are normalised already."""
        return self._of_heads(self._classified(signal, training=training))

    def scores_and_members(self, signal: Signal) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        """`scores`, and each member's for the first head: [members, batch, classes]."""
        outputs = self._classified(signal, **({"each": True} if self.members > 1 else {}))
        members = [tf.stack(tf.split(output, self.members)) for output in outputs]
        return self._of_heads([tf.reduce_mean(each, axis=0) for each in members]), members[0]

    def _classified(
        self, signal: Signal, training: bool = False, **others: bool
    ) -> list[tf.Tensor]:
        """The output of each classifier."""
        trunks = [trunk(signal, training=training) for trunk in self._trunks]
        if len(trunks) < len(self._classifiers):
            trunks *= len(self._classifiers)
        return [
            classifier(vector, training=training, noise=signal.noise, **others)
            for classifier, vector in zip(self._classifiers, trunks, strict=True)
        ]

    def _of_heads(self, outputs: Sequence[tf.Tensor]) -> dict[str, tf.Tensor]:
        if self.sharing is Sharing.ALL:
            return {head.name: _of_classes(head, outputs[0]) for head in self.heads}
        return {head.name: out for head, out in zip(self.heads, outputs, strict=True)}

    def for_members(self, labels: Mapping[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """`labels` as often as there are members, as the probabilities are while training."""
        if self.members == 1:
            return dict(labels)
        return {key: tf.concat([part] * self.members, axis=0) for key, part in labels.items()}

    def head_loss(
        self, head: Head, batch: Mapping[str, tf.Tensor], probabilities: tf.Tensor
    ) -> tf.Tensor:
        """The head's loss, [] float32: a sum, to be divided by `normaliser`."""
        if head.loss.name is LossName.OWN:
            return self._one_number("own_loss", self.own_loss(head, batch, probabilities))
        return head_loss(head, batch, probabilities)

    def _one_number(self, method: str, made: object) -> tf.Tensor:
        """Check the result of a method of the user's, [] float32."""
        where = f"trainer.network: {_name(type(self))}.{method} must return one number, a sum"
        try:
            number = tf.cast(made, tf.float32)
        except (TypeError, ValueError) as error:
            raise ConfigError(f"{where}; it returned {type(made).__name__}") from error
        if number.shape.rank:
            raise ConfigError(
                f"{where}; it returned {number.shape}. tf.reduce_sum makes one number of these"
            )
        return number

    def normaliser(self, head: Head, batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """The divisor of sums of the head's loss, [] float32; it is summed as they are."""
        if head.loss.name is LossName.OWN:
            return self._one_number("own_normaliser", self.own_normaliser(head, batch))
        learned = learned_rows(head, batch)
        return _rows(batch) if learned is None else tf.reduce_sum(learned)

    def own_loss(
        self, head: Head, batch: Mapping[str, tf.Tensor], probabilities: tf.Tensor
    ) -> tf.Tensor:
        """The sum that `loss.name: own` minimises; a model that has such a loss overrides this.

        Of the probabilities and labels alone: gradients reach the weights through the former.
        """
        raise NotImplementedError(f"{head.name}: see `find_network_type`, which refuses this")

    def joint_loss(
        self, batch: Mapping[str, tf.Tensor], outputs: Mapping[str, tf.Tensor]
    ) -> tf.Tensor | None:
        """A loss beside the heads' losses, summed over the rows; None: none.

        It sees everything that `scores` gives by name, and is divided by the number of rows. The
        curve has it in `regularisation`; validations do not compute it.
        """
        return None

    def own_normaliser(self, head: Head, batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """The divisor of the sum of `own_loss`: the rows, unless a model overrides this.

        Of the labels alone: it must be known, of all micro-batches and replicas, before the first
        gradient is taken.
        """
        return _rows(batch)

    def copy(self, *, compute_dtype: str) -> Network:
        """The same network with the same weights, to score in `compute_dtype`, not compiled."""
        twin = type(self)(
            self.model_config,
            features=self._features,
            level=self._level,
            heads=self.heads,
            sharing=self.sharing,
            recipe=Recipe(seed=self.recipe.seed, compute_dtype=compute_dtype, trains=False),
            **({"transform": self.own_transform.path} if self.own_transform else {}),
        )
        for new, old in zip(twin.weights, self.weights, strict=True):
            new.assign(old.numpy())
        return twin

    @tf.autograph.experimental.do_not_convert  # nothing needs converting, and it takes seconds
    def build_on(self, spec: Mapping[str, tf.TensorSpec]) -> None:
        """Create every weight, so that it exists before the first batch."""
        outputs = self(
            {
                name: tf_keras.Input(shape=part.shape[1:], dtype=part.dtype, name=name)
                for name, part in spec.items()
            }
        )
        self._check_scores(outputs)  # not in `call`: Keras would add all arguments to the message

    def create_trunk(self, name: str) -> tf_keras.layers.Layer:
        """The layer from a `Signal` to a vector by row; a custom network overrides this."""
        own = self.own_transform
        sizes = (own.size,) if own else self._features.sizes
        return _create_trunk(self.model_config, sizes, name=name, recipe=self.recipe)

    def _create_checked_trunk(self, name: str) -> tf_keras.layers.Layer:
        trunk = self.create_trunk(name)
        if not callable(trunk):
            raise ConfigError(
                f"trainer.network: {_name(type(self))}.create_trunk gives "
                f"{type(trunk).__name__}, but must return a layer of tf_keras"
            )
        return trunk

    def _create_classifier(self, num_classes: int, name: str) -> tf_keras.layers.Layer:
        end = _end(self.model_config)
        return create_classifier(end, num_classes, name=name, recipe=self.recipe)

    def _outputs(self) -> list[tuple[str, int]]:
        if self.sharing is Sharing.ALL:
            return [(_SHARED, self._features.num_classes)]
        if len(self.heads) == 1:  # by one name, so that a model of one head can start another's
            return [(_SHARED, self.heads[0].num_classes)]
        return [(head.name, head.num_classes) for head in self.heads]


def _number_of_classes(probabilities: tf.Tensor) -> int | None:
    """The size of the last axis; None where the graph does not know it."""
    shape = tf.TensorShape(probabilities.shape)
    return shape[-1] if shape.rank else None


def _rows(batch: Mapping[str, tf.Tensor]) -> tf.Tensor:
    return tf.cast(tf.shape(batch[LABELS])[0], tf.float32)


def _with_a_frame(vectors: tf.Tensor) -> tf.Tensor:
    """`vectors`; one frame of zeros where no video has any, for models need one to look at."""
    if vectors.shape[1]:
        return vectors
    rows, frames = tf.unstack(tf.shape(vectors)[:2])
    none = tf.zeros([rows, 1, vectors.shape[-1]], vectors.dtype)
    return tf.cond(frames > 0, lambda: vectors, lambda: none)


def _padded(parts: Mapping[str, tf.Tensor], missing: tf.Tensor) -> dict[str, tf.Tensor]:
    """Frames `[batch, frames, size]` with `missing` more of zeros."""

    def longer(part: tf.Tensor) -> tf.Tensor:
        more = tf.zeros(tf.stack([tf.shape(part)[0], missing, part.shape[2]]), part.dtype)
        return tf.concat([part, more], axis=1)  # which copies; tf.pad looks at each number

    return {name: longer(part) for name, part in parts.items()}


def find_network_type(path: str, heads: Sequence[Head]) -> type[Network]:
    """The class at the dotted `path`, Network itself where it is empty; ConfigError if unfit."""
    network: Any = Network
    where = f"trainer.network = {path!r}"
    if path:
        network = load_named(path, where)
        if not (isinstance(network, type) and issubclass(network, Network)):
            raise ConfigError(f"{where}: must be a subclass of {_name(Network)}")
    own = [head.name for head in heads if head.loss.name is LossName.OWN]
    if own and network.own_loss is Network.own_loss:
        raise ConfigError(
            f"heads.{own[0]}.loss.name = 'own': {_name(network)} has no own_loss; trainer.network "
            "names a class that has"
        )
    return cast("type[Network]", network)


def _name(network_type: type[Network]) -> str:
    return f"{network_type.__module__}.{network_type.__qualname__}"


def batch_spec(features: FeatureConfig, level: Level) -> dict[str, tf.TensorSpec]:
    """The parts of a batch that a network looks at."""
    if level is Level.VIDEO:
        return {
            name: tf.TensorSpec([None, size], tf.float32, name)
            for name, size in features.size_by_name.items()
        }
    frames = {
        name: tf.TensorSpec([None, None, size], tf.uint8, name)
        for name, size in features.size_by_name.items()
    }
    return {**frames, NUM_FRAMES: tf.TensorSpec([None], tf.int32, NUM_FRAMES)}


def _create_trunk(
    model: ModelConfig, sizes: Sequence[int], *, name: str, recipe: Recipe
) -> tf_keras.layers.Layer:
    size = sum(sizes)
    match model:
        case LogisticConfig() | MoeConfig() | FrameLogisticConfig():
            return Mean(name=name)
        case MlpConfig():
            return ResidualMlp(model, sizes=sizes, name=name, recipe=recipe)
        case DbofConfig():
            return Dbof(model, size=size, name=name, recipe=recipe)
        case RnnConfig():
            return Recurrent(model, name=name, recipe=recipe)
        case NetVladConfig():
            return NetVlad(model, size=size, name=name, recipe=recipe)
        case NextVladConfig():
            return NextVlad(model, sizes=sizes, name=name, recipe=recipe)
        case TransformerConfig():
            return Transformer(model, size=size, name=name, recipe=recipe)


def _end(model: ModelConfig) -> TrunkClassifierConfig:
    if isinstance(model, LogisticConfig | MoeConfig):
        return model
    if isinstance(model, FrameLogisticConfig):
        return LogisticConfig(l2=model.l2)
    return model.classifier


def _of_classes(head: Head, probabilities: tf.Tensor) -> tf.Tensor:
    """A head's probabilities from those of the classes: a group is there if any class is."""
    if head.groups_of_class is None:
        return probabilities
    table = tf.constant(membership(head.groups_of_class, head.num_classes))
    absent = tf.math.log(tf.maximum(1.0 - probabilities, 1e-7))
    return 1.0 - tf.exp(tf.matmul(absent, table))
