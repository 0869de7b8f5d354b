"""Our metric inside TFX's own Evaluator gives what our Evaluator gives."""

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


@pytest.mark.parametrize("compare", [False, True], ids=["alone", "with a baseline"])
def test_the_stock_evaluator_gives_equal_numbers(world, tmp_path, compare):
    good = world.model("good")
    worse = world.model("worse", noise=2.0) if compare else None
    shards = sorted(world.data.glob("validate*.tfrecord"))
    stock = run_stock_evaluator(
        tmp_path / "stock",
        shards,
        model=good,
        baseline=worse,
        config=eval_config(CLASSES, has_baseline=compare),
    )
    ours = run_evaluator(
        world, tmp_path / "ours", model=good, baseline=worse, gate={"gap_threshold": 0.1}
    ).evaluation_dir
    for model in (tfma.CANDIDATE_KEY, tfma.BASELINE_KEY) if compare else ("",):
        names = [*METRICS, *(f"{n}_diff" for n in METRICS if compare and model == "candidate")]
        theirs, mine = values(stock, model), values(ours, model)
        assert {n: theirs[n] for n in names} == pytest.approx(
            {n: mine[n] for n in names}, abs=1e-12
        )
