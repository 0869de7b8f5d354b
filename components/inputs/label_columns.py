"""Columns of classes that heads of the user's own learn, beside the labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import tensorflow as tf

from yt8m.components.inputs.config import LabelColumn
from yt8m.schemas.batch import NO_LABEL

OUTSIDE = "classes of a head of your own"  # begins the error, from which `faults` takes it


def with_known_classes(
    batch: Mapping[str, tf.Tensor], columns: Sequence[LabelColumn]
) -> dict[str, tf.Tensor]:
    """The batch, where the numbers of each column are classes; else an error of TensorFlow's.

    Verification knows no such columns, and what is compiled would take another number for a class.
    """
    checks = [_check(batch[column.name], column) for column in columns]
    with tf.control_dependencies(checks):
        kept = {column.name: tf.identity(batch[column.name]) for column in columns}
    return {**batch, **kept}


def _check(values: tf.Tensor, column: LabelColumn) -> tf.Operation:
    are_classes = (values >= NO_LABEL) & (values < column.num_classes)
    return tf.debugging.Assert(
        tf.reduce_all(are_classes),
        [
            # Without quotes, of which TensorFlow makes other characters.
            f"{OUTSIDE}: a record has a number outside 0..{column.num_classes - 1} in its "
            f"feature {column.name} (num_classes of the head)"
        ],
    )
