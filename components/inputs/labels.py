"""Labels, ids and slicing features of a batch of records; the features themselves are left."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import tensorflow as tf
from google.protobuf.message import DecodeError

from yt8m.components.inputs.segment import distinct_segments_of_batch, gather_by_row
from yt8m.components.inputs.shards import UNREADABLE, why_unreadable
from yt8m.schemas.batch import NO_LABEL, NO_VALUE
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import (
    ID,
    LABELS,
    PRESENT_SCORE,
    SEGMENT_LABELS,
    SEGMENT_SCORES,
    SEGMENT_START_TIMES,
    FeatureConfig,
    Level,
)


@dataclass(frozen=True, kw_only=True)
class LabelRequest:
    """Labels to read of each record."""

    level: Level
    features: FeatureConfig
    num_frames: bool = False
    values: tuple[str, ...] = ()  # features whose first value the data are sliced by


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordLabels:
    """By row: a video, or a rated segment of one."""

    ids: np.ndarray  # [R] bytes
    labels: np.ndarray  # [R, L] int64, padded with -1
    rated: np.ndarray | None = None  # [R, any] int64, padded with -1; segments
    starts: np.ndarray | None = None  # [R] int64; segments
    num_frames: np.ndarray | None = None  # [R]
    values: dict[str, np.ndarray] = field(default_factory=dict)  # [R] texts

    def __len__(self) -> int:
        return len(self.ids)

    def select(self, chosen: np.ndarray) -> RecordLabels:
        """The rows where the mask `chosen` is true."""
        optional = (self.rated, self.starts, self.num_frames)
        rated, starts, num_frames = (None if one is None else one[chosen] for one in optional)
        return RecordLabels(
            ids=self.ids[chosen],
            labels=self.labels[chosen],
            rated=rated,
            starts=starts,
            num_frames=num_frames,
            values={name: column[chosen] for name, column in self.values.items()},
        )

    @property
    def names(self) -> list[str]:
        """Of rows, for people: the video's id, and where a segment starts."""
        ids = [one.decode(errors="replace") for one in self.ids]
        if self.starts is None:
            return ids
        return [f"{one}:{start}" for one, start in zip(ids, self.starts, strict=True)]


def parse_labels(records: tf.Tensor, wanted: LabelRequest) -> RecordLabels:
    """Labels of serialized `records` [B]; DataError where they cannot be read."""
    try:
        parsed, num_frames = _parse(records, wanted)
    except (*UNREADABLE, DecodeError) as error:
        raise DataError(f"the labels cannot be read: {why_unreadable(records, error)}") from error
    ids = parsed[ID].numpy()
    values = {
        name: _texts(ids) if name == ID else _first_values(parsed[name], len(ids))
        for name in wanted.values
    }
    if wanted.level is not Level.SEGMENT:
        labels = tf.sparse.to_dense(parsed[LABELS], NO_LABEL).numpy()
        return RecordLabels(ids=ids, labels=labels, num_frames=num_frames, values=values)
    record, starts, rated, labels = _segments(parsed, ids)
    return RecordLabels(
        ids=ids[record],
        labels=labels,
        rated=rated,
        starts=starts,
        num_frames=None if num_frames is None else num_frames[record],
        values={name: column[record] for name, column in values.items()},
    )


def check_classes(rows: RecordLabels, num_classes: int) -> None:
    """DataError that names the first row with a label, or a rated class, that is no class."""
    for what, classes in (("label", rows.labels), ("rated class", rows.rated)):
        if classes is not None and classes.size and classes.max() >= num_classes:
            row = int(np.argmax((classes >= num_classes).any(axis=1)))
            raise DataError(
                f"video {rows.names[row]}: {what} {classes[row].max()} is not one of the "
                f"{num_classes} classes (0 to {num_classes - 1})"
            )


def _parse(
    records: tf.Tensor, wanted: LabelRequest
) -> tuple[dict[str, tf.Tensor], np.ndarray | None]:
    spec: dict[str, object] = {ID: tf.io.FixedLenFeature([], tf.string)}
    if wanted.level is Level.SEGMENT:
        spec[SEGMENT_START_TIMES] = tf.io.VarLenFeature(tf.int64)
        spec[SEGMENT_LABELS] = tf.io.VarLenFeature(tf.int64)
        spec[SEGMENT_SCORES] = tf.io.VarLenFeature(tf.float32)
    else:
        spec[LABELS] = tf.io.VarLenFeature(tf.int64)
    for name in wanted.values:
        if name != ID:
            spec[name] = tf.io.VarLenFeature(_type_of(records, name, wanted.level))
    if not wanted.level.is_sequence:
        return tf.io.parse_example(records, spec), None
    smallest = min(wanted.features.size_by_name.items(), key=lambda item: item[1])[0]
    lists = {smallest: tf.io.FixedLenSequenceFeature([], tf.string)} if wanted.num_frames else None
    context, _, lengths = tf.io.parse_sequence_example(records, spec, lists)
    return context, lengths[smallest].numpy() if wanted.num_frames else None


def _type_of(records: tf.Tensor, name: str, level: Level) -> tf.DType:
    """The type of feature `name`, from the first record that has it."""
    for record in records.numpy():
        if level.is_sequence:
            features = tf.train.SequenceExample.FromString(record).context
        else:
            features = tf.train.Example.FromString(record).features
        kind = features.feature[name].WhichOneof("kind") if name in features.feature else None
        if kind is not None:
            return {"bytes_list": tf.string, "int64_list": tf.int64}.get(kind, tf.float32)
    return tf.string


def _first_values(column: tf.SparseTensor, rows: int) -> np.ndarray:
    """[rows] text of each record's first value, or NO_VALUE."""
    texts = np.full(rows, NO_VALUE, object)
    first = column.indices.numpy()[:, 1] == 0
    values = column.values.numpy()[first]
    texts[column.indices.numpy()[first, 0]] = _texts(values)
    return texts


def _texts(values: np.ndarray) -> np.ndarray:
    """`values` for people; whole numbers in full, for a shorter text would join different ones."""
    if values.dtype.kind == "f":
        return np.array([f"{value:g}" for value in values], object)
    texts = [v.decode(errors="replace") if isinstance(v, bytes) else str(v) for v in values]
    return np.array(texts, object)


def _segments(
    parsed: dict[str, tf.Tensor], ids: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Record, start, rated classes and labels of each distinct rated segment, in record order."""
    counts = {
        name: np.bincount(parsed[name].indices.numpy()[:, 0], minlength=len(ids))
        for name in (SEGMENT_START_TIMES, SEGMENT_LABELS, SEGMENT_SCORES)
    }
    unlike = np.flatnonzero(np.ptp(np.stack(list(counts.values())), axis=0))
    if unlike.size:
        row = int(unlike[0])
        lengths = ", ".join(f"{n[row]} {name}" for name, n in counts.items())
        raise DataError(
            f"video {ids[row].decode(errors='replace')}: {lengths}; expected as many of each"
        )
    starts, classes = parsed[SEGMENT_START_TIMES], parsed[SEGMENT_LABELS].values
    record, start, row = distinct_segments_of_batch(starts.indices[:, 0], starts.values)
    present = parsed[SEGMENT_SCORES].values >= PRESENT_SCORE
    labels = gather_by_row(
        tf.boolean_mask(classes, present), tf.boolean_mask(row, present), tf.size(start)
    )
    rated = gather_by_row(classes, row, tf.size(start))
    return record.numpy(), start.numpy(), rated.numpy(), labels.numpy()


def rated_weights(rated: np.ndarray, num_classes: int) -> np.ndarray:
    """[R, C] float32: 1 for rated classes, 0 for the others."""
    weights = np.zeros((len(rated), num_classes), np.float32)
    rows, columns = np.nonzero((rated >= 0) & (rated < num_classes))
    weights[rows, rated[rows, columns]] = 1.0
    return weights
