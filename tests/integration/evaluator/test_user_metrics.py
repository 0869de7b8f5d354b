"""Thresholds on metrics of the user's eval config are checked before anything runs."""

import json

import pytest
from records import make_dataset

from yt8m.components.evaluator.config import EvaluatorConfig, GateConfig
from yt8m.components.evaluator.tfma_user_metrics import check_user_metrics
from yt8m.pipeline.presets import load_config
from yt8m.pipeline.run.preflight import preflight
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import ConfigError

ROWS = """
metrics_specs { metrics { class_name: "ExampleCount" config: '"name": "rows"' } }
metrics_specs {
  metrics { class_name: "MeanLabel" }
  metrics { class_name: "AUC" module: "tf_keras.metrics" config: '"name": "area"' }
  binarize { class_ids { values: [0, 1] } }
}
"""


def check(metric, text=ROWS):
    evaluator = from_dict(EvaluatorConfig, {"eval_config": text}, path="evaluator")
    thresholds = [{"metric": metric, "minimum": 0.5}]
    gate = from_dict(GateConfig, {"gap_threshold": 0.5, "thresholds": thresholds}, path="gate")
    check_user_metrics(evaluator, gate)


@pytest.mark.parametrize("metric", ["rows", "gap", "hit_at_1", "example_count"])
def test_a_metric_that_somebody_computes_is_right(metric):
    check(metric)


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        ("row", "did you mean rows?"),
        ("gpa", "did you mean gap?"),
        # There are only those of each class, which a threshold of the gate cannot tell apart.
        ("mean_label", "takes its threshold in evaluator.eval_config"),
        ("area", "takes its threshold in evaluator.eval_config"),
    ],
)
def test_a_metric_that_nobody_computes_is_named_before_the_run(metric, words):
    with pytest.raises(ConfigError, match=r"gate\.thresholds\[0\]\.metric = ") as error:
        check(metric)
    assert words in str(error.value)


def test_a_module_that_only_an_image_has_is_left_to_it():
    check("anything", 'metrics_specs { metrics { class_name: "Own" module: "of_the_image" } }')


def test_such_a_metric_is_told_with_all_other_problems_of_a_run(tmp_path):
    settings = {
        "root": str(tmp_path / "root"),
        "data.root": str(make_dataset(tmp_path / "data")),
        "pusher.push_dir": str(tmp_path / "push"),
        "evaluator.eval_config": ROWS,
        "evaluator.split": "train",
        "gate.thresholds": [{"metric": "row", "minimum": 2}],
    }
    config = load_config("smoke", [f"{key}={json.dumps(v)}" for key, v in settings.items()])
    with pytest.raises(ConfigError) as error:
        preflight(config, {})
    for problem in ("gate.thresholds[0].metric = 'row'", "evaluator.split = train"):
        assert problem in str(error.value)
