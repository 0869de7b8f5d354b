"""What the training log tells of a batch, against the metrics' own definitions."""

import numpy as np
import pytest
import tensorflow as tf

from yt8m.components.models.heads import Head
from yt8m.components.trainer.evaluation.split_scorer import metrics_batch
from yt8m.components.trainer.loop.step import Losses, StepResult
from yt8m.components.trainer.loop.training_log import shown_metrics

CLASSES = 4
SCORES = np.array([[0.9, 0.8, 0.15, 0.2], [0.7, 0.3, 0.6, 0.1]], np.float32)


def result(**columns):
    nothing = tf.constant(0.0)
    losses = Losses(
        regularisation=nothing, by_head=(nothing,), gradient_norm=nothing, gradient_norms=nothing
    )
    shown = {name: tf.constant(ids, tf.int64) for name, ids in columns.items()}
    return StepResult(losses=losses, scores=tf.constant(SCORES), shown=shown)


def test_a_batch_is_scored_by_its_labels():
    told = shown_metrics(
        Head(name="entities", num_classes=CLASSES), result(labels=[[0, -1], [2, 3]])
    )
    assert told["hit_at_1"] == 0.5
    # The first video's one best class is its label; of the second's two best, one is.
    assert told["perr"] == pytest.approx((1 + 1 / 2) / 2)
    # Pooled, the hits are at ranks 1, 4 and 8.
    assert told["gap"] == pytest.approx((1 / 1 + 2 / 4 + 3 / 8) / 3)


def test_of_a_segment_the_classes_that_nobody_rated_do_not_count():
    head = Head(name="segments", num_classes=CLASSES, only_rated=True)
    rated = {"labels": [[1, -1], [-1, -1]], "rated": [[1, 2], [2, 3]]}
    batch = metrics_batch(head, {k: tf.constant(v, tf.int64) for k, v in rated.items()}, SCORES)
    np.testing.assert_array_equal(batch.label_weights, [[0, 1, 1, 0], [0, 0, 1, 1]])
    told = shown_metrics(head, result(**rated))
    # In the first row class 0 scores higher, but nobody rated it; the second has no label.
    assert told["hit_at_1"] == 0.5
