"""One update of the weights, the same under every strategy.

Loss is the local sum over the GLOBAL number of rows, or over what else a loss is divided by;
micro-batches are summed in local tensors; the replicas' gradients are summed and only then clipped,
so that the number of processes changes nothing but the order in which numbers are added (and what
dropout and batch normalisation see).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import tensorflow as tf

from yt8m.components.compat import layer_losses, weight_losses
from yt8m.components.models.config import LossName
from yt8m.components.models.heads import Head
from yt8m.components.models.layers import fused
from yt8m.components.models.losses import distillation_loss
from yt8m.components.models.network import Network
from yt8m.components.preprocessing.sums import sum_in_slices
from yt8m.components.trainer.config import Clip, TrainerConfig
from yt8m.components.trainer.loop.weight_rules import WeightRules
from yt8m.components.trainer.teacher import Teacher
from yt8m.schemas.batch import SPLIT, TEACHER
from yt8m.schemas.errors import ConfigError

Batch = Mapping[str, tf.Tensor]
_LABEL_KEYS = ("labels", "rated", "video_labels")
_LABELS_MULTIPLE = 16  # XLA compiles for every new width
_NORM_SLICES = 8


class Losses(NamedTuple):
    """A step's losses: means over the global batch, [] float32 each."""

    regularisation: tf.Tensor  # of the weights, and what layers added
    by_head: tuple[tf.Tensor, ...]  # unweighted, in the order of the heads
    gradient_norm: tf.Tensor  # of all gradients together, before clipping
    gradient_norms: tf.Tensor  # [weights] float32: of each, in the network's order


class StepResult(NamedTuple):
    """The newest step's losses, and some rows of this process to take metrics from."""

    losses: Losses
    scores: tf.Tensor  # [rows, classes of the first head]
    shown: dict[str, tf.Tensor]  # the same rows of the batch's label columns


class GlobalBatch(NamedTuple):
    """The global batch over all replicas, of which micro-batches' losses are parts."""

    rows: tf.Tensor  # [] float32
    normalisers: Mapping[str, tf.Tensor]  # by head, [] float32 each


@dataclass(frozen=True, kw_only=True)
class Replicas:
    """Number of replicas, and of those in this process."""

    total: int
    local: int


class TrainStep:
    """Computes, aggregates, clips and applies gradients; `run` does several steps in one call."""

    def __init__(
        self,
        config: TrainerConfig,
        *,
        network: Network,
        optimizer: Any,  # tf_keras publishes no types
        strategy: tf.distribute.Strategy,
        replicas: Replicas,
        use_xla: bool,
        teacher: Teacher | None = None,
    ) -> None:
        self._config, self._network, self._optimizer = config, network, optimizer
        self._teacher = teacher
        self._strategy, self._replicas = strategy, replicas
        own = [head.column for head in network.heads if head.column]
        self._label_keys = (*_LABEL_KEYS, *own)
        self._rules = WeightRules(config.weight_rules, network.trainable_variables)
        # Two functions: TensorFlow leaves the losses of all steps but the last out of the graph.
        heads = network.heads
        self._loss_of = {h.name: fused(partial(self._loss, h), enabled=use_xla) for h in heads}
        self._loss_gradient_of = {
            h.name: fused(partial(self._loss_gradient, h), enabled=use_xla) for h in heads
        }
        # Several replicas hold copies of each weight, which compiled code cannot assign to.
        is_alone = use_xla and replicas.total == 1
        self._norm_slices = _NORM_SLICES if is_alone else 1
        self._update = fused(self._clip_and_apply, enabled=is_alone)
        self.run = tf.function(self._run, autograph=False)

    def _run(self, iterator: Any, rates: tf.Tensor) -> StepResult:
        """One step for each learning rate of `rates` [steps] float32."""
        result: Any = None
        for number in range(rates.shape[0]):  # unrolled: an iterator survives no other loop well
            self._optimizer.learning_rate.assign(rates[number])
            batch = iterator.get_next()
            per_replica = self._strategy.run(self._replica_step, args=(batch,))
            result = tf.nest.map_structure(self._first_of_process, per_replica)
        newest: StepResult = result
        return newest

    def _first_of_process(self, value: Any) -> tf.Tensor:
        return self._strategy.experimental_local_results(value)[0]

    def _replica_step(self, batch: Batch) -> StepResult:
        rows = _pad_labels(self._rows_of_replica(batch), self._label_keys)
        gradients, sums, scores, shown = self._window(rows)
        if self._replicas.total > 1:
            gradients, sums = self._over_replicas(gradients, sums)
        regularisation = self._regularisation()  # before the weights move
        norm, norms = self._update(gradients)
        *by_head, added = tf.unstack(sums, num=len(self._network.heads) + 1)
        losses = Losses(
            regularisation=regularisation + added,
            by_head=tuple(by_head),
            gradient_norm=norm,
            gradient_norms=norms,
        )
        return StepResult(losses=losses, scores=scores, shown=shown)

    def _regularisation(self) -> tf.Tensor:
        return self._penalty(weight_losses(self._network))

    def _penalty(self, losses: Sequence[tf.Tensor]) -> tf.Tensor:
        return self._config.regularisation_penalty * tf.add_n(losses) if losses else tf.zeros([])

    def _clip_and_apply(self, gradients: Sequence[tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        """Regularise, clip, move the weights; the norms before clipping, of all and of each."""
        gradients = self._with_regularisation(gradients)
        norms = [self._norm(gradient) for gradient in gradients]
        norm = tf.linalg.global_norm(norms)
        clipped = self._clip(gradients, norms, norm)
        pairs = list(zip(clipped, self._network.trainable_variables, strict=True))
        self._rules.updating(
            lambda: self._optimizer.apply_gradients(pairs, skip_gradients_aggregation=True)
        )
        return norm, tf.stack(norms)

    def _with_regularisation(self, gradients: Sequence[tf.Tensor]) -> Sequence[tf.Tensor]:
        with tf.GradientTape() as tape:
            regularisation = self._regularisation()
        own = tape.gradient(regularisation, self._network.trainable_variables)
        return [g if o is None else g + o for g, o in zip(gradients, own, strict=True)]

    def _norm(self, gradient: tf.Tensor) -> tf.Tensor:
        values = tf.reshape(gradient, [-1])
        return tf.sqrt(sum_in_slices(tf.square, values, axis=-1, slices=self._norm_slices))

    def _over_replicas(
        self, gradients: list[tf.Tensor], sums: tf.Tensor
    ) -> tuple[list[tf.Tensor], tf.Tensor]:
        """Sums over the replicas; statistics such as moving averages become their means.

        So every replica holds the same statistics after each step, and a checkpoint says it all.
        """
        statistics = [v for v in self._network.non_trainable_variables if v.dtype.is_floating]
        values = [*gradients, sums, *(tf.identity(v) for v in statistics)]
        context = tf.distribute.get_replica_context()
        summed = context.all_reduce(tf.distribute.ReduceOp.SUM, values)
        count = len(gradients)
        for variable, total in zip(statistics, summed[count + 1 :], strict=True):
            variable.assign(total / self._replicas.total)
        return list(summed[:count]), summed[count]

    def _rows_of_replica(self, batch: Batch) -> dict[str, tf.Tensor]:
        """This replica's rows of the process's batch."""
        if self._replicas.local == 1:
            return dict(batch)
        context = tf.distribute.get_replica_context()
        index = context.replica_id_in_sync_group % self._replicas.local
        with tf.device("/cpu:0"):  # so that a GPU receives its own rows only
            return _part(batch, index, self._replicas.local)

    def _window(self, rows: Batch) -> tuple[list[tf.Tensor], tf.Tensor, tf.Tensor, Any]:
        """Gradients and losses summed over the micro-batches of `rows`."""
        count = self._config.accumulate
        whole = self._global_batch(rows)
        gradients, sums, scores, shown = self._micro_batch(_part(rows, 0, count), whole)
        if count == 1:
            return gradients, sums, scores, shown

        def add(number: Any, gradients: Any, sums: Any) -> Any:
            more, more_sums, _, _ = self._micro_batch(_part(rows, number, count), whole)
            added = [a + b for a, b in zip(gradients, more, strict=True)]
            return number + 1, added, sums + more_sums

        # One at a time: micro-batches exist to save memory.
        _, gradients, sums = tf.while_loop(
            lambda number, *_: number < count,
            add,
            (tf.constant(1), gradients, sums),
            parallel_iterations=1,
        )
        return gradients, sums, scores, shown

    def _global_batch(self, rows: Batch) -> GlobalBatch:
        """Of the global batch, before its first gradient is taken."""
        network, labels, total = self._network, self._labels(rows), self._replicas.total
        normalisers = [network.normaliser(head, labels) for head in network.heads]
        differ = any(head.loss.name is LossName.OWN or head.splits for head in network.heads)
        if total > 1 and differ:  # where each replica's may be another
            context = tf.distribute.get_replica_context()
            normalisers = context.all_reduce(tf.distribute.ReduceOp.SUM, normalisers)
        elif total > 1:
            normalisers = [normaliser * total for normaliser in normalisers]
        by_head = dict(zip([head.name for head in network.heads], normalisers, strict=True))
        return GlobalBatch(rows=tf.cast(_rows(rows), tf.float32) * total, normalisers=by_head)

    def _micro_batch(
        self, rows: Batch, whole: GlobalBatch
    ) -> tuple[list[tf.Tensor], tf.Tensor, tf.Tensor, Any]:
        """Gradients, [losses of the heads, layers' own], and rows for metrics of a micro-batch."""
        network, labels = self._network, self._labels(rows)
        targets = labels if self._teacher is None else {**labels, TEACHER: self._teacher(rows)}
        targets = network.for_members(targets)
        variables, heads = network.trainable_variables, network.heads
        with tf.GradientTape() as tape:
            outputs = network(rows, training=True)
            predictions = {head.name: outputs[head.name] for head in heads}
            added = self._penalty(layer_losses(network))
            joint = network.joint_loss(targets, outputs)
            if joint is not None:
                added += joint / tf.cast(_rows(rows), tf.float32)
        fraction = tf.cast(_rows(rows), tf.float32) / whole.rows
        by = whole.normalisers
        losses = [self._loss_of[name](targets, p, by[name]) for name, p in predictions.items()]
        output_gradients = [
            self._loss_gradient_of[name](targets, p, by[name]) for name, p in predictions.items()
        ]
        gradients = tape.gradient(
            [*predictions.values(), added],
            variables,
            output_gradients=[*output_gradients, fraction],
            unconnected_gradients=tf.UnconnectedGradients.ZERO,
        )
        few = slice(self._config.log.metric_rows)
        shown = {key: value[few] for key, value in labels.items()}
        scores = predictions[heads[0].name]
        by_member = tf.reshape(scores, [network.members, -1, scores.shape[-1]])
        dense = [tf.convert_to_tensor(gradient) for gradient in gradients]
        if self._config.clip_micro_batches:
            dense = self._clip_alone(dense)
        return (
            dense,
            # What is minimised is the sum over the members, what is told their mean.
            tf.stack([*(loss / network.members for loss in losses), added * fraction]),
            tf.reduce_mean(by_member[:, few], axis=0),
            shown,
        )

    def _labels(self, batch: Batch) -> dict[str, tf.Tensor]:
        return {key: batch[key] for key in (*self._label_keys, SPLIT) if key in batch}

    def _clip_alone(self, gradients: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """A micro-batch's part of the gradients, clipped as if there were no other."""
        parts = self._config.accumulate * self._replicas.total
        alone = [gradient * parts for gradient in gradients]
        norms = [self._norm(gradient) for gradient in alone]
        return [g / parts for g in self._clip(alone, norms, tf.linalg.global_norm(norms))]

    def _loss(
        self, head: Head, labels: Batch, probabilities: tf.Tensor, normaliser: tf.Tensor
    ) -> tf.Tensor:
        """This micro-batch's part of the head's mean over the global batch."""
        total = self._network.head_loss(head, labels, probabilities)
        config = self._config.teacher
        if config is not None and TEACHER in labels and head.learns_classes:
            said = distillation_loss(probabilities, labels[TEACHER], temperature=config.temperature)
            total = (1 - config.weight) * total + config.weight * said
        return tf.math.divide_no_nan(total, normaliser)

    def _loss_gradient(
        self, head: Head, labels: Batch, probabilities: tf.Tensor, normaliser: tf.Tensor
    ) -> tf.Tensor:
        """The gradient of what is minimised for the head by its probabilities."""
        unit = 1.0 if self._config.normalize_gradients else normaliser
        with tf.GradientTape() as tape:
            tape.watch(probabilities)
            minimised = self._loss(head, labels, probabilities, normaliser) * head.weight * unit
        gradient = tape.gradient(minimised, probabilities)
        if gradient is None:
            own = type(self._network)
            raise ConfigError(
                f"trainer.network: {own.__module__}.{own.__qualname__}.own_loss does not depend on "
                "the probabilities by operations that have gradients (tf.argmax and comparisons "
                "have none), so nothing would be learned"
            )
        return gradient

    def _clip(
        self, gradients: Sequence[tf.Tensor], norms: Sequence[tf.Tensor], norm: tf.Tensor
    ) -> Sequence[tf.Tensor]:
        """`gradients`, whose norms are `norms` and together `norm`, within the configured limit."""
        limit = self._config.clip_gradient_norm
        if not limit:
            return gradients
        match self._config.clip:
            case Clip.VARIABLE:
                return [_within(limit, g, n) for g, n in zip(gradients, norms, strict=True)]
            case Clip.GLOBAL:
                return [_within(limit, gradient, norm) for gradient in gradients]
            case Clip.VALUE:
                return [tf.clip_by_value(g, -limit, limit) for g in gradients]


def _within(limit: float, gradient: tf.Tensor, norm: tf.Tensor) -> tf.Tensor:
    """`gradient` scaled down to `limit` where `norm` is above it."""
    return gradient * (limit / tf.maximum(norm, limit))


def _rows(batch: Batch) -> Any:
    return tf.shape(batch[_LABEL_KEYS[0]])[0]


def _part(batch: Batch, number: Any, count: int) -> dict[str, tf.Tensor]:
    """Rows number `number` of `count` equal parts; what does not divide goes to the later ones."""
    if count == 1:
        return dict(batch)
    # One column may know its length where another, of sparse origin, does not.
    rows = next((v.shape[0] for v in batch.values() if v.shape[0] is not None), None)
    if rows is not None and rows % count == 0:
        size = rows // count
        return {key: _equal_part(value, number, count, size) for key, value in batch.items()}
    rows = _rows(batch)
    return {k: v[number * rows // count : (number + 1) * rows // count] for k, v in batch.items()}


def _equal_part(value: tf.Tensor, number: Any, count: int, size: int) -> tf.Tensor:
    """Rows of part `number`; gathered, for XLA takes a slice from a variable place as dynamic."""
    parts = tf.reshape(value, tf.concat([[count, size], tf.shape(value)[1:]], axis=0))
    return tf.ensure_shape(tf.gather(parts, number), [size, *value.shape[1:]])


def _pad_labels(rows: dict[str, tf.Tensor], keys: Sequence[str]) -> dict[str, tf.Tensor]:
    """`rows` with label columns of a width from few, so that XLA compiles few of them."""
    for key in keys:
        if key in rows:
            width = tf.shape(rows[key])[1]
            missing = -width % _LABELS_MULTIPLE
            rows[key] = tf.pad(rows[key], [[0, 0], [0, missing]], constant_values=-1)
    return rows
