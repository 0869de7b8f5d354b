"""TFMA's own views, as a notebook calls them, on what Evaluator left."""

import pytest
import tensorflow_model_analysis as tfma
from evaluator_run import create_world, run_evaluator
from tensorflow_model_analysis.proto import config_pb2

BY_LABELS = {"slices": [{"by": "num_labels", "edges": [2, 4]}]}
PLOT = """
metrics_specs { metrics { class_name: "CalibrationPlot" } binarize { class_ids { values: [3] } } }
"""


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    """A candidate and a baseline, by number of labels, with a plot of the user's own."""
    root = tmp_path_factory.mktemp("views")
    world = create_world(root / "world")
    return run_evaluator(
        world,
        root / "run",
        model=world.model("good"),
        baseline=world.model("worse", noise=2.0),
        gate={"gap_threshold": 0.1},
        config={**BY_LABELS, "eval_config": PLOT},
    )


def loaded(evaluated, model=tfma.CANDIDATE_KEY):
    return tfma.load_eval_result(str(evaluated.evaluation_dir), model_name=model)


def bounded(estimate):
    """As TFMA writes a value with its interval."""
    return {"value": estimate.value, "lowerBound": estimate.lower, "upperBound": estimate.upper}


@pytest.mark.parametrize(
    ("how", "slices"),
    [
        ({}, ["Overall"]),
        ({"slicing_column": "num_labels"}, ["num_labels:2-3", "num_labels:4+", "num_labels:<2"]),
        (
            {"slicing_spec": config_pb2.SlicingSpec(feature_values={"num_labels": "4+"})},
            ["num_labels:4+"],
        ),
    ],
    ids=["overall", "a column", "one slice"],
)
def test_the_slicing_view_is_given_every_slice_with_its_numbers(evaluated, how, slices):
    view = tfma.view.render_slicing_metrics(loaded(evaluated), **how)
    assert sorted(row["slice"] for row in view.data) == slices
    parts = {f"num_labels:{part.value}": part for part in evaluated.evaluation.slices}
    parts["Overall"] = evaluated.evaluation.overall
    for row in view.data:
        shown, part = row["metrics"][""][""], parts[row["slice"]]
        assert shown["gap"]["boundedValue"] == bounded(part.candidate["gap"])
        assert shown["map_diff"]["boundedValue"] == bounded(part.difference["map"])
        # The view sizes its bars by this column.
        assert shown[view.config["weightedExamplesColumn"]]["doubleValue"] == part.examples


def test_the_time_series_view_takes_several_evaluations(evaluated):
    results = [loaded(evaluated), loaded(evaluated, tfma.BASELINE_KEY)]
    series = tfma.make_eval_results(results, tfma.constants.MODEL_CENTRIC_MODE)
    view = tfma.view.render_time_series(series)
    shown = [run["metrics"][""][""]["gap"]["boundedValue"]["value"] for run in view.data]
    overall = evaluated.evaluation.overall
    assert shown == [overall.candidate["gap"].value, overall.baseline["gap"].value]


@pytest.mark.parametrize("model", [tfma.CANDIDATE_KEY, tfma.BASELINE_KEY])
def test_the_plot_view_draws_calibration_and_the_curve(evaluated, model):
    view = tfma.view.render_plot(loaded(evaluated, model))
    evaluation = evaluated.evaluation
    buckets = view.data["calibrationHistogramBuckets"]["buckets"]
    assert [int(b["numWeightedExamples"]) for b in buckets] == [
        part.count for part in evaluation.calibration[model]
    ]
    matrices = view.data["confusionMatrixAtThresholds"]["matrices"]
    points = evaluation.precision_recall[model]
    assert [m["threshold"] for m in matrices] == sorted(point.score for point in points)
    positives = sum(found.positives for found in evaluation.classes)
    predictions = sum(part.count for part in evaluation.calibration[model])
    hits = sum(b["totalWeightedLabel"] for b in buckets if "totalWeightedLabel" in b)
    for matrix in matrices:
        tp, fp, fn, tn = (
            matrix.get(name, 0.0)
            for name in ("truePositives", "falsePositives", "falseNegatives", "trueNegatives")
        )
        assert tp / (tp + fp) == pytest.approx(matrix["precision"])
        assert tp / (tp + fn) == pytest.approx(matrix["recall"])
        assert tp + fn == positives
        assert fp + tn == pytest.approx(predictions - hits)
    lowest = matrices[0]
    assert lowest["truePositives"] + lowest["falsePositives"] <= predictions


def test_a_plot_of_the_users_own_stands_beside_ours(evaluated):
    view = tfma.view.render_plot(loaded(evaluated), class_id=3)
    buckets = view.data["calibrationHistogramBuckets"]["buckets"]
    assert sum(float(b["numWeightedExamples"]) for b in buckets) == 300
    one_slice = config_pb2.SlicingSpec(feature_values={"num_labels": "4+"})
    assert tfma.view.render_plot(loaded(evaluated), slicing_spec=one_slice, class_id=3).data
