"""The operating points in a model's graph, read from its asset when a server loads it."""

from __future__ import annotations

import tempfile
from pathlib import Path

import tensorflow as tf

from yt8m.components.artifacts.operating_points import (
    ASSET,
    EMPTY_TABLE,
    LEVELS_LINE,
    NONE,
    OTHERS_LINE,
    REMEDY,
)

_NOT_JUDGED = f"this model has no operating points: {REMEDY}"


class _Lines(tf.lookup.TextFileInitializer):
    """Its table has a name without the place of the file, which differs between two exports."""

    @property
    def _shared_name(self) -> str:
        return ASSET


class OperatingPointsTable(tf.Module):
    """Saved with an empty table; who judges the model puts another file in the asset's place."""

    def __init__(self) -> None:
        super().__init__()
        self._directory = tempfile.TemporaryDirectory(prefix="yt8m-asset-")  # until it is saved
        path = Path(self._directory.name, ASSET)
        path.write_text(EMPTY_TABLE, encoding="utf-8")
        lines = _Lines(
            str(path), key_dtype=tf.int64, key_index=0, value_dtype=tf.string, value_index=1
        )
        self._table = tf.lookup.StaticHashTable(lines, default_value="")

    def precisions(self, class_ids: tf.Tensor, scores: tf.Tensor) -> tf.Tensor:
        """The highest precision whose threshold each score reaches; 0 where it reaches none."""
        levels_line = self._table.lookup(tf.constant(LEVELS_LINE, tf.int64))
        judged = tf.debugging.assert_none_equal(levels_line, NONE, message=_NOT_JUDGED)
        classes, place = tf.unique(tf.reshape(class_ids, [-1]))
        lines = self._table.lookup(classes)
        others = self._table.lookup(tf.constant(OTHERS_LINE, tf.int64))
        lines = tf.where(tf.equal(lines, ""), others, lines)
        with tf.control_dependencies([judged]):  # before any line is parsed
            levels = _numbers(levels_line)
            thresholds = tf.reshape(_numbers(lines), [-1, tf.size(levels)])
        reached = tf.reshape(scores, [-1, 1]) >= tf.gather(thresholds, place)
        best = tf.reduce_max(tf.where(reached, levels, 0.0), axis=-1)
        return tf.reshape(best, tf.shape(scores))


def _numbers(lines: tf.Tensor) -> tf.Tensor:
    """The numbers of all lines, one after the other."""
    return tf.strings.to_number(tf.strings.split(tf.reshape(lines, [-1]), ",").flat_values)
