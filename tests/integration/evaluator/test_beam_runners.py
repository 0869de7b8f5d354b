"""Where Beam puts the scoring changes nothing that comes out of it."""

import gc
import weakref

import pytest
import tensorflow_model_analysis as tfma
from evaluator_run import create_world, run_evaluator

from yt8m.components.evaluator import executor
from yt8m.components.evaluator.beam_scoring import ScoreRange
from yt8m.components.evaluator.scoring import ShardScorer
from yt8m.pipeline.beam import IN_PROCESS_RUNNER

TWO_PROCESSES = (
    f"--runner={IN_PROCESS_RUNNER}",
    "--direct_running_mode=multi_processing",
    "--direct_num_workers=2",
)
TWO_THREADS = (
    f"--runner={IN_PROCESS_RUNNER}",
    "--direct_running_mode=multi_threading",
    "--direct_num_workers=2",
)
# Metrics of TFMA's own are computed from single examples, which travel between the workers.
STOCK = 'metrics_specs { metrics { class_name: "MeanLabel" } binarize { class_ids { values: 0 } } }'


@pytest.mark.slow
def test_two_worker_processes_give_what_one_process_gives(tmp_path):
    world = create_world(tmp_path / "world")
    given = {
        "model": world.model("good"),
        "baseline": world.model("worse", noise=2.0),
        "gate": {"gap_threshold": 0.7, "gap_change_threshold": 0.05},
        "config": {"slices": [{"by": "num_labels", "edges": [2, 4]}], "eval_config": STOCK},
    }
    one = run_evaluator(world, tmp_path / "one", **given)
    two = run_evaluator(world, tmp_path / "two", **given, beam=TWO_PROCESSES)

    assert two.evaluation == one.evaluation
    assert two.decision.blessed
    assert (two.decision.checks, two.decision.reason) == (one.decision.checks, one.decision.reason)
    results = [
        tfma.load_eval_result(str(run.evaluation_dir), model_name=tfma.CANDIDATE_KEY)
        for run in (one, two)
    ]
    in_memory, apart = (result.get_metrics_for_all_slices() for result in results)
    assert apart == in_memory
    assert len(apart) == 4


def test_two_workers_that_share_shards_give_what_one_gives_to_the_last_bit(tmp_path, monkeypatch):
    world = create_world(tmp_path / "world", videos=90)
    given = {"model": world.model("good"), "gate": {"gap_threshold": 0.7}}
    slices = [{"by": "num_labels", "edges": [2, 4]}]
    given["config"] = {"batch_size": 16, "slices": slices, "intervals": {"enabled": False}}
    one = run_evaluator(world, tmp_path / "one", **given)
    ranges = []
    monkeypatch.setattr(ScoreRange, "_batches", noting(ScoreRange._batches, ranges))
    two = run_evaluator(world, tmp_path / "two", **given, beam=TWO_THREADS)

    assert two.evaluation == one.evaluation
    assert sorted((one.first, one.end) for one in ranges) == [
        (first, min(first + 16, 90)) for first in range(0, 90, 16)
    ]


@pytest.mark.parametrize("beam", [(), TWO_THREADS], ids=["one", "two threads"])
def test_models_are_gone_while_their_rows_are_merged(beam, tmp_path, monkeypatch):
    models, alive = [], {}
    create, add, merge = ShardScorer.__init__, executor.add_scoring, executor.collect

    def created(self, *args):
        create(self, *args)
        models.extend(weakref.ref(model.loaded) for model in self.models.values())

    def looking(name, then):
        def look(*args, **named):
            alive[name] = sum(model() is not None for model in models)
            return then(*args, **named)

        return look

    monkeypatch.setattr(ShardScorer, "__init__", created)
    monkeypatch.setattr(executor, "add_scoring", looking("scoring", add))
    monkeypatch.setattr(executor, "collect", looking("merging", merge))
    world = create_world(tmp_path / "world", videos=90)
    given = {"model": world.model("good"), "gate": {"gap_threshold": 0.7}}
    gc.disable()  # or chance decides when the cycles in loaded models are collected
    try:
        run_evaluator(world, tmp_path / "out", **given, beam=beam)
    finally:
        gc.enable()
    assert len(models) >= 2  # that of the check, and one or more that score
    assert alive == {"scoring": 0, "merging": 0}


def noting(batches, ranges):
    def score(self, scorer, taken):
        ranges.append(taken)
        return batches(self, scorer, taken)

    return score
