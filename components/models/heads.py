"""Heads: what a network predicts, and the columns of a batch it is compared with."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from yt8m.components.models.config import (
    EntitiesHeadConfig,
    HeadConfig,
    LossConfig,
    OwnHeadConfig,
    SegmentsHeadConfig,
    VerticalsHeadConfig,
    head_name,
)
from yt8m.schemas.batch import BATCH_KEYS, RATED, SPLIT, VIDEO_LABELS
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import ID, LABELS, FeatureConfig, Level
from yt8m.schemas.vocabulary import Vocabulary

_COLUMNS = (ID, LABELS, *BATCH_KEYS)


@dataclass(frozen=True, kw_only=True)
class Head:
    """One question: its classes, its loss, its weight among the heads."""

    name: str
    num_classes: int
    weight: float = 1.0
    loss: LossConfig = dataclasses.field(default_factory=LossConfig)
    only_rated: bool = False
    splits: tuple[int, ...] = ()  # numbers of those that it learns from; empty: all
    # For heads over groups of classes: class id -> group ids.
    groups_of_class: tuple[tuple[int, ...], ...] | None = None
    column: str = ""  # of the batch, which has its answers; "": the labels

    @property
    def learns_classes(self) -> bool:
        """Whether what it predicts are the classes themselves, which a teacher scores as well."""
        return self.groups_of_class is None and not self.column


@dataclass(frozen=True, kw_only=True)
class Targets:
    """A head's answers for a batch, as class ids; -1 is padding."""

    ids: tf.Tensor  # [batch, any] int64, each id at most once
    counted: tf.Tensor | None = None  # [batch, any] int64; None: every class counts


def default_heads(level: Level) -> tuple[HeadConfig, ...]:
    """The heads where the configuration names none."""
    return (SegmentsHeadConfig(),) if level is Level.SEGMENT else (EntitiesHeadConfig(),)


def create_heads(
    configs: Sequence[HeadConfig],
    *,
    features: FeatureConfig,
    level: Level,
    vocabulary: Vocabulary | None = None,
    splits: Sequence[str] = (),
) -> tuple[Head, ...]:
    """The heads of `configs`; ConfigError where one does not suit the level.

    `splits` are those that a batch mixes, in their order.
    """
    configs = tuple(configs) or default_heads(level)
    names = [head_name(config) for config in configs]
    if len(set(names)) < len(names):
        raise ConfigError(f"heads = {names}: must be distinct")
    if vocabulary is not None and len(vocabulary) != features.num_classes:
        raise ConfigError(
            f"features.num_classes = {features.num_classes}: the vocabulary has "
            f"{len(vocabulary)} classes; the two must agree"
        )
    heads = [_head(config, features, level, vocabulary) for config in configs]
    return tuple(
        dataclasses.replace(
            head, splits=tuple(splits.index(name) for name in config.splits if name in splits)
        )
        for head, config in zip(heads, configs, strict=True)
    )


def targets(head: Head, batch: Mapping[str, tf.Tensor]) -> Targets:
    """The right answers of `head` for `batch`."""
    if head.column:
        return Targets(ids=batch[head.column])
    if head.only_rated:
        return Targets(ids=batch[LABELS], counted=batch[RATED])
    labels = batch.get(VIDEO_LABELS, batch[LABELS])
    if head.groups_of_class is None:
        return Targets(ids=labels)
    return Targets(ids=_group_ids(labels, head.groups_of_class, head.num_classes))


def learned_rows(head: Head, batch: Mapping[str, tf.Tensor]) -> tf.Tensor | None:
    """1 for a row of a split that `head` learns from, else 0, [rows] float32; None: all rows."""
    if not head.splits or SPLIT not in batch:
        return None
    own = tf.constant(head.splits, tf.int32)
    is_own = tf.reduce_any(batch[SPLIT][:, tf.newaxis] == own, axis=1)
    return tf.cast(is_own, tf.float32)


def membership(groups_of_class: Sequence[Sequence[int]], num_groups: int) -> np.ndarray:
    """`[classes, groups] float32`: 1 where the class belongs to the group."""
    matrix = np.zeros((len(groups_of_class), num_groups), np.float32)
    for class_id, groups in enumerate(groups_of_class):
        matrix[class_id, list(groups)] = 1.0
    return matrix


def _head(
    config: HeadConfig, features: FeatureConfig, level: Level, vocabulary: Vocabulary | None
) -> Head:
    head = Head(
        name=head_name(config),
        num_classes=features.num_classes,
        weight=config.weight,
        loss=config.loss,
    )
    if isinstance(config, OwnHeadConfig):
        taken = {*features.names, *_COLUMNS}
        if config.labels in taken:
            raise ConfigError(
                f"heads.{config.task}.labels = {config.labels!r}: must be a feature of the records "
                f"that has no other meaning; taken are {', '.join(sorted(taken))}"
            )
        return dataclasses.replace(head, num_classes=config.num_classes, column=config.labels)
    if isinstance(config, VerticalsHeadConfig):
        if vocabulary is None:
            raise ConfigError("heads: `verticals` needs a vocabulary.csv, which groups the classes")
        return dataclasses.replace(
            head,
            num_classes=len(vocabulary.verticals),
            groups_of_class=vocabulary.verticals_of_class,
        )
    if isinstance(config, SegmentsHeadConfig):
        if level is not Level.SEGMENT:
            raise ConfigError(
                f"heads: `segments` needs rated segments (data.level: segment, not {level.value})"
            )
        return dataclasses.replace(head, only_rated=True)
    return head


def _group_ids(
    labels: tf.Tensor, groups_of_class: Sequence[Sequence[int]], num_groups: int
) -> tf.Tensor:
    """Ids of the groups that `labels` [batch, any] fall into, each once, padded with -1."""
    table = tf.constant(membership(groups_of_class, num_groups))
    known = tf.cast(labels >= 0, table.dtype)[..., tf.newaxis]
    hits = tf.reduce_max(tf.gather(table, tf.maximum(labels, 0)) * known, axis=1, keepdims=False)
    ids = tf.range(num_groups, dtype=labels.dtype)
    return tf.where(hits > 0, ids, tf.constant(-1, labels.dtype))
