"""Classifiers: a vector in, a probability for each class out."""

from __future__ import annotations

import functools
import math

import tensorflow as tf
import tf_keras

from yt8m.components.models.config import (
    LogisticConfig,
    MlpConfig,
    MoeConfig,
    TrunkClassifierConfig,
)
from yt8m.components.models.layers import ContextGating, Linear, Recipe, fused
from yt8m.components.models.trunks import ResidualMlp, Signal
from yt8m.schemas.errors import ConfigError

# A video has about three labels. A sigmoid that starts at that rate, instead of at 1/2, is spared
# the first hundreds of steps, which would only teach it how rare labels are.
_LABELS_A_VIDEO = 3.0
_SAID_DEVIATION = 0.01


class Logistic(tf_keras.layers.Layer):
    """A sigmoid for each class, on request of logits that look at the other classes, too."""

    def __init__(
        self, num_classes: int, *, config: LogisticConfig, name: str, recipe: Recipe
    ) -> None:
        super().__init__(name=name)
        self._classes = Linear(
            num_classes,
            name=f"{name}_classes",
            recipe=recipe,
            l2=config.l2,
            bias=_prior_logit(num_classes),
        )
        self._co_occurrence = (
            CoOccurrence(
                num_classes, config.co_occurrence, name=f"{name}_co_occurrence", recipe=recipe
            )
            if config.co_occurrence
            else None
        )

    def call(
        self, vectors: tf.Tensor, training: bool = False, noise: tf.Tensor | None = None
    ) -> tf.Tensor:
        logits = self._classes(vectors)
        if self._co_occurrence is not None:
            logits += self._co_occurrence(tf.sigmoid(logits))
        return tf.sigmoid(logits)


class CoOccurrence(tf_keras.layers.Layer):
    """What the probabilities of all classes say of each one: a shift of its logit.

    Through few units: a weight for each pair of classes would be more than videos teach. It begins
    as no shift at all.
    """

    def __init__(self, num_classes: int, units: int, *, name: str, recipe: Recipe) -> None:
        super().__init__(name=name)
        self._said = Linear(
            units, name=f"{name}_said", recipe=recipe, use_bias=False, stddev=_SAID_DEVIATION
        )
        self._shift = Linear(
            num_classes, name=f"{name}_shift", recipe=recipe, use_bias=False, stddev=0.0
        )

    def call(self, probabilities: tf.Tensor) -> tf.Tensor:
        return self._shift(self._said(probabilities))


class MixtureOfExperts(tf_keras.layers.Layer):
    """For each class, sigmoid experts weighed by a softmax gate that may choose none of them."""

    def __init__(self, num_classes: int, *, config: MoeConfig, name: str, recipe: Recipe) -> None:
        super().__init__(name=name)
        self._num_mixtures = config.num_mixtures
        self._mix = fused(self._mixed, enabled=recipe.fuse)
        self._gates = Linear(
            num_classes * (config.num_mixtures + 1),
            name=f"{name}_gates",
            recipe=recipe,
            l2=config.l2,
            use_bias=False,
        )
        self._experts = Linear(
            num_classes * config.num_mixtures,
            name=f"{name}_experts",
            recipe=recipe,
            l2=config.l2,
            bias=_prior_logit(num_classes),
        )
        self._gating = (
            ContextGating(num_classes, name=f"{name}_gating", recipe=recipe)
            if config.context_gating
            else None
        )

    def call(
        self, vectors: tf.Tensor, training: bool = False, noise: tf.Tensor | None = None
    ) -> tf.Tensor:
        scores = self._mix(self._gates(vectors), self._experts(vectors))
        return scores if self._gating is None else self._gating(scores, training=training)

    def _mixed(self, gates: tf.Tensor, experts: tf.Tensor) -> tf.Tensor:
        """[batch, classes] from the logits, in which one mixture's classes follow another's.

        That order, rather than one class's mixtures side by side, keeps every step as wide as the
        classes are many. The last gate has no expert.
        """
        choices = tf.split(gates, self._num_mixtures + 1, axis=-1)
        highest = tf.stop_gradient(functools.reduce(tf.maximum, choices))
        weights = [tf.exp(choice - highest) for choice in choices]
        opinions = [tf.sigmoid(expert) for expert in tf.split(experts, self._num_mixtures, axis=-1)]
        chosen = [w * opinion for w, opinion in zip(weights[:-1], opinions, strict=True)]
        return tf.add_n(chosen) / tf.add_n(weights)


class MlpClassifier(tf_keras.layers.Layer):
    """Residual blocks on a trunk's vector, and a classifier on them."""

    def __init__(self, num_classes: int, *, config: MlpConfig, name: str, recipe: Recipe) -> None:
        super().__init__(name=name)
        if config.members > 1 or config.modality_norm:
            raise ConfigError(
                "model.classifier: members must be 1 and modality_norm false, because only "
                "models of the raw features have them"
            )
        self._blocks = ResidualMlp(config, sizes=(), name=f"{name}_blocks", recipe=recipe)
        self._end = create_classifier(
            config.classifier, num_classes, name=f"{name}_end", recipe=recipe
        )

    def call(
        self, vectors: tf.Tensor, training: bool = False, noise: tf.Tensor | None = None
    ) -> tf.Tensor:
        hidden = self._blocks(Signal(vectors=vectors, noise=noise), training=training)
        return self._end(hidden, training=training, noise=noise)


def _prior_logit(num_classes: int) -> float:
    rate = min(0.5, _LABELS_A_VIDEO / num_classes)
    return math.log(rate / (1.0 - rate))


def create_classifier(
    config: TrunkClassifierConfig, num_classes: int, *, name: str, recipe: Recipe
) -> tf_keras.layers.Layer:
    """The end of a network as `config` describes it."""
    if isinstance(config, MlpConfig):
        return MlpClassifier(num_classes, config=config, name=name, recipe=recipe)
    if isinstance(config, MoeConfig):
        return MixtureOfExperts(num_classes, config=config, name=name, recipe=recipe)
    return Logistic(num_classes, config=config, name=name, recipe=recipe)
