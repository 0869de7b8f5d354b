"""A model of whole videos that is validated on rated segments while it trains."""

import json
import shutil

import pytest
import tensorflow as tf
from records import make_dataset
from training import CLASSES, make_job, rows

from yt8m.cli.main import run as yt8m
from yt8m.components.trainer.backends.in_process import run_job
from yt8m.components.trainer.evaluation import split_scorer
from yt8m.components.trainer.evaluation.split_scorer import SplitScorer
from yt8m.components.trainer.input import load_data
from yt8m.components.trainer.job import TrainingJob
from yt8m.components.trainer.network import heads_of, network_of
from yt8m.schemas.errors import ConfigError, DataError
from yt8m.schemas.features import ID

TRAINED = {
    "model": {"name": "dbof", "clusters": 32, "hidden": 16, "frames": 12},
    "max_steps": 30,
    "batch_size": 16,
    "segments": "product",
    "validation": {"every_steps": 10, "metric": "map", "keep_best": True},
    "evaluation": {
        "enabled": True,
        "steps": None,
        "start_delay_s": 0,
        "throttle_s": 0,
        "exporters": [{"name": "best", "metric": "map"}],
    },
    "checkpoint": {"every_steps": 10},
    "early_stopping": {"name": "reached", "metric": "map", "value": 0.999},
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Whole videos to train on, rated segments of others to validate on."""
    place = tmp_path_factory.mktemp("data")
    values = {"classes": CLASSES, "min_frames": 15, "max_frames": 30, "shards": 2}
    frames = make_dataset(place / "frames", level="frame", train=60, eval=30, **values)
    rated = make_dataset(place / "rated", level="segment", train=60, eval=30, **values)
    (place / "mixed").mkdir()
    for path in (*frames.glob("train*"), *rated.glob("validate*")):
        shutil.copy(path, place / "mixed")
    return place


@pytest.fixture(scope="module")
def job(data, tmp_path_factory):
    made = make_job(tmp_path_factory.mktemp("job"), level="frame", data=data / "mixed", **TRAINED)
    run_job(made, {})
    return made


def evaluated(model, data, score, capsys):
    words = ["--data", str(data / "mixed" / "validate*"), "--json", "--quiet", "--no-intervals"]
    capsys.readouterr()
    assert yt8m(["evaluate", "--model", model, "--segments", score, *words]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_best_validation_is_by_map_of_segments_and_is_what_the_export_scores(job, data, capsys):
    validations = rows(job, "validation")
    best = max(validations, key=lambda row: row["map"])
    found = evaluated(job.export_dir, data, "product", capsys)
    for name in ("map", "gap", "hit_at_1", "perr", "loss"):
        assert best[name] == pytest.approx(found[name], abs=1e-4)
    assert best["videos"] == found["examples"]
    windows = evaluated(job.export_dir, data, "window", capsys)
    assert windows["map"] != pytest.approx(found["map"], abs=1e-4)


def test_evaluations_and_the_best_exporter_see_the_same_segments(job, data, capsys):
    evaluations = rows(job, "evaluation", "evaluation.jsonl")
    best = max(evaluations, key=lambda row: row["map"])
    assert best["exported"] == ["best"]
    found = evaluated(f"{job.exporters_dir}/best/{best['step']}", data, "product", capsys)
    assert best["map"] == pytest.approx(found["map"], abs=1e-4)


@pytest.mark.parametrize("steps", [None, 3])
def test_several_workers_find_together_what_one_finds(job, steps):
    heads = heads_of(job)
    network = network_of(job, heads, compute_dtype="float32")
    scorer, found = SplitScorer(network, segments=job.trainer.segments), load_data(job)
    whole = scorer.score(*found.validation_batches(steps))
    parts = [
        scorer.part(*found.validation_batches(steps, num_workers=3, worker_index=number))
        for number in range(3)
    ]
    together = scorer.join(parts)
    assert together.videos == whole.videos > 0
    assert dict(together.metrics) == pytest.approx(dict(whole.metrics), rel=1e-5)


def test_what_has_no_rated_segments_is_refused_before_or_at_the_first_validation(data, tmp_path):
    unrated = make_job(tmp_path, level="frame", data=data / "frames", **TRAINED)
    with pytest.raises(DataError, match="the validation split has no rated segments"):
        run_job(unrated, {})
    rated = make_job(tmp_path / "rated", level="segment", data=data / "rated", **TRAINED)
    with pytest.raises(ConfigError, match=r"must be null where data\.level is segment"):
        load_data(TrainingJob.from_json(rated.to_json()))


def test_segments_get_their_videos_scores_however_few_come_at_a_time():
    batches = [{ID: tf.constant(names)} for names in ([b"a", b"b"], [b"c"], [b"d"])]
    number = {b"a": 1.0, b"b": 2.0, b"c": 3.0, b"d": 4.0}

    def score(batch):
        values = [[number[name]] for name in batch[ID].numpy().tolist()]
        return {"entities": tf.constant(values)}

    videos = split_scorer._WholeVideos(score, batches)
    for names in ([b"a"], [b"a", b"b", b"b"], [b"b"], [b"c", b"d"], [b"d"]):
        found = videos.of(tf.constant(names))["entities"].numpy()[:, 0].tolist()
        assert found == [number[name] for name in names]
        assert len(videos._known) <= 2  # no more than what may still be asked for
