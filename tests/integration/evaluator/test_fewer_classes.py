"""A baseline that scores fewer classes than the candidate: a vocabulary may grow."""

import pytest
import tensorflow as tf
from evaluator_run import CLASSES, create_world
from exported_models import LinearModel, read_matrix

from yt8m.components.console.console import Console
from yt8m.components.evaluator.model_evaluation import evaluate_files
from yt8m.components.metrics import Batch, MetricAccumulator

KNOWN = 8  # fewer than the 20 best that count


class _Lower(LinearModel):
    """The same order of classes by numbers below 0, as a model from elsewhere may give them."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def lower_scores(self, examples):
        results = self.scores(examples)
        return {**results, "scores": results["scores"] - 5.0}


@pytest.mark.parametrize("signature", ["scores", "lower_scores"])
def test_labels_that_it_does_not_know_are_misses_whatever_its_scores_are(tmp_path, signature):
    world = create_world(tmp_path, videos=60)
    model = _Lower(world.weights[:, :KNOWN], frames=False)
    few = str(tmp_path / "few")
    tf.saved_model.save(model, few, signatures={"scores": getattr(model, signature)})
    shards = sorted(world.data.glob("validate*.tfrecord"))
    evaluation = evaluate_files(
        str(world.model("candidate") / "Format-Serving"),
        [str(path) for path in shards],
        Console(quiet=True),
        baseline=few,
    )
    features, labels = read_matrix(shards, CLASSES)
    own = MetricAccumulator(KNOWN)
    scores = features @ world.weights[:-1, :KNOWN] + world.weights[-1, :KNOWN]
    own.update(Batch(predictions=scores, multi_hot=labels[:, :KNOWN]))
    expected = own.gap() * labels[:, :KNOWN].sum() / labels.sum()
    assert evaluation.overall.baseline["gap"].value == pytest.approx(expected, abs=2e-3)
