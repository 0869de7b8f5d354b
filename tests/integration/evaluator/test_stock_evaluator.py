"""TFX's own Evaluator, on the same models and records: equal numbers, and the same blessing."""

import pytest
import tensorflow_model_analysis as tfma
from evaluator_run import CLASSES, create_world, run_evaluator
from stock_evaluator import eval_config, run_stock_evaluator

METRICS = ("gap", "map", "perr", "hit_at_1")


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return create_world(tmp_path_factory.mktemp("world"))


def values(place, model):
    metrics = tfma.load_eval_result(str(place), model_name=model).get_metrics_for_slice(())
    return {
        n: v.get("doubleValue", v.get("boundedValue", {}).get("value")) for n, v in metrics.items()
    }


VALUE = """thresholds { key: "gap" value { value_threshold { lower_bound { value: 0.7 } } } }"""
CHANGE = """
thresholds { key: "gap" value {
  value_threshold { lower_bound { value: 0.1 } }
  change_threshold { direction: HIGHER_IS_BETTER absolute { value: 0.0 } } } }
"""


@pytest.mark.parametrize(
    ("names", "thresholds", "gate", "blessed"),
    [
        (["good"], VALUE, {"gap_threshold": 0.7}, True),
        (["worse", "good"], CHANGE, {"gap_threshold": 0.1, "gap_change_threshold": 0.0}, False),
    ],
    ids=["alone", "with a baseline"],
)
def test_the_stock_evaluator_gives_equal_numbers_and_blesses_alike(
    world, tmp_path, names, thresholds, gate, blessed
):
    models = {"good": world.model("good"), "worse": world.model("worse", noise=2.0)}
    model, baseline = models[names[0]], models[names[1]] if names[1:] else None
    compare = baseline is not None
    stock = run_stock_evaluator(
        tmp_path / "stock",
        sorted(world.data.glob("validate*.tfrecord")),
        model=model,
        baseline=baseline,
        config=eval_config(CLASSES, has_baseline=compare, thresholds=thresholds),
    )
    ours = run_evaluator(world, tmp_path / "ours", model=model, baseline=baseline, gate=gate)
    for name in (tfma.CANDIDATE_KEY, tfma.BASELINE_KEY) if compare else ("",):
        metrics = [*METRICS, *(f"{n}_diff" for n in METRICS if compare and name == "candidate")]
        theirs, mine = values(stock, name), values(ours.evaluation_dir, name)
        assert {n: theirs[n] for n in metrics} == pytest.approx(
            {n: mine[n] for n in metrics}, abs=1e-12
        )
    assert ours.blessed is blessed
    left = "BLESSED" if blessed else "NOT_BLESSED"
    for place in (stock, ours.evaluation_dir):
        assert (place.parent / "blessing" / left).exists()
        assert tfma.load_validation_result(str(place)).validation_ok is blessed
