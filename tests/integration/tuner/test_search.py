"""Real searches: KerasTuner's oracle, the trainer's own processes, TFX's own files."""

import json
import logging
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import searching
from searching import RATE, SPACE, directory_of, make_fn_args, trials_of
from tfx.components.tuner.executor import write_best_hyperparameters
from tfx.types import standard_artifacts
from training import CLASSES

from yt8m.components.artifacts import tuner_results
from yt8m.components.artifacts.training_curve import EVALUATION, TRAINING, read_curve
from yt8m.components.trainer.backends.run import job_of
from yt8m.components.tuner.run import tuner_fn
from yt8m.schemas.errors import DataError, UserError


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    from records import make_dataset

    return make_dataset(tmp_path_factory.mktemp("data"), classes=CLASSES)


def artifact(kind, place):
    made = kind()
    made.uri = str(place)
    place.mkdir(parents=True)
    return made


def written(tuner, place):
    """What TFX's executor makes of a search: hyperparameters as the Trainer gets them, results."""
    outputs = {
        "best_hyperparameters": [artifact(standard_artifacts.HyperParameters, place / "best")],
        "tuner_results": [artifact(standard_artifacts.TunerResults, place / "results")],
    }
    write_best_hyperparameters(tuner, outputs)
    (file,) = (place / "best").iterdir()
    results = (place / "results" / tuner_results.FILE_NAME).read_text()
    return json.loads(file.read_text()), tuner_results.parse_trials(results)


def test_the_best_of_the_trials_is_what_the_trainer_gets(tmp_path, data, caplog):
    caplog.set_level(logging.INFO)
    space = {RATE: {"choice": [1e-7, 3e-2]}}  # one of them learns nothing
    search = {"space": space, "search": {"name": "random_search", "max_trials": 2}}
    fn_args = make_fn_args(tmp_path, data, {**search, "num_parallel_trials": 2}, max_steps=20)
    tuner = tuner_fn(fn_args).tuner
    tuner.search()
    best, trials = written(tuner, tmp_path / "out")
    assert [trial.values for trial in trials] == [{RATE: 3e-2}, {RATE: 1e-7}]
    assert trials[0].score > trials[1].score
    assert all(f"trial {t.trial_id}: gap {t.score:.4f}" in caplog.text for t in trials)
    evaluated = read_curve(f"{directory_of(tmp_path)}/trial_{trials[0].trial_id}/logs/{EVALUATION}")
    assert trials[0].score == evaluated[-1]["gap"]
    before = job_of(fn_args)
    fn_args.hyperparameters = best
    tuned = job_of(fn_args)
    assert tuned.trainer.optimizer.learning_rate == 3e-2
    assert tuned.checkpoint_dir != before.checkpoint_dir  # another model
    left = {path.name for path in directory_of(tmp_path).glob("trial_*/*")}
    assert left == {"trial.json", "job.json", "chief-0.log", "logs", "trial.lock"}
    assert {trial["status"] for trial in trials_of(tmp_path).values()} == {"COMPLETED"}


def start(root, data, tuner, log, **trainer):
    """A search in a process of its own."""
    words = [str(root), str(data), json.dumps(tuner), json.dumps(trainer)]
    script = str(Path(searching.__file__))
    with log.open("ab") as file:
        return subprocess.Popen([sys.executable, script, *words], stderr=file, stdout=file)


def wait_for(condition, process, log, seconds=300):
    deadline = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


def saved_steps(root):
    """How far the checkpoint of each trial is."""
    found = {}
    for path in root.glob("checkpoints/tuner-*/search/trial_*/checkpoints/ckpt-*.index"):
        trial, step = path.parts[-3], int(path.stem.rpartition("-")[2])
        found[trial] = max(found.get(trial, 0), step)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_search_that_is_killed_goes_on_where_it_was(tmp_path, data, number):
    tuner = {"search": {"name": "random_search", "max_trials": 3}, "num_parallel_trials": 2}
    trainer = {"max_steps": 400, "checkpoint": {"every_steps": 20}}
    uninterrupted, killed, log = tmp_path / "whole", tmp_path / "killed", tmp_path / "log"
    assert start(uninterrupted, data, tuner, log, **trainer).wait() == 0, log.read_text()
    process = start(killed, data, tuner, log, **trainer)
    wait_for(lambda: len(saved_steps(killed)) == 2, process, log)
    process.send_signal(number)
    assert process.wait(timeout=120) != 0
    stopped = trials_of(killed)
    assert {trial["status"] for trial in stopped.values()} == {"RUNNING"}
    assert start(killed, data, tuner, log, **trainer).wait() == 0, log.read_text()
    found, expected = trials_of(killed), trials_of(uninterrupted)
    assert len(found) == 3
    assert {name: trial["status"] for name, trial in found.items()} == dict.fromkeys(
        expected, "COMPLETED"
    )
    for name, trial in expected.items():
        assert found[name]["hyperparameters"]["values"] == trial["hyperparameters"]["values"]
        assert found[name]["score"] == trial["score"]  # to the last bit
    for name in stopped:  # it went on from the checkpoint, and not from the first step
        curve = read_curve(f"{directory_of(killed)}/trial_{name}/logs/{TRAINING}")
        assert sum(row["kind"] == "checkpoint" for row in curve) >= 20
        assert (
            "step 0 of 400" not in (directory_of(killed) / f"trial_{name}/chief-0.log").read_text()
        )


def test_two_searches_in_one_directory_are_kept_apart(tmp_path, data):
    tuner = {"search": {"name": "random_search", "max_trials": 1}}
    trainer = {"max_steps": 10**6, "checkpoint": {"every_steps": 20}, "start_new_model": True}
    first_log, second_log = tmp_path / "first", tmp_path / "second"
    first = start(tmp_path, data, tuner, first_log, **trainer)
    try:
        wait_for(lambda: saved_steps(tmp_path), first, first_log)
        second = start(tmp_path, data, tuner, second_log, **trainer)
        assert second.wait(timeout=120) != 0
        *_, said = second_log.read_text().splitlines()
        assert re.search(rf"is in use: process {first.pid} on .*; wait for it, or stop it$", said)
        assert first.poll() is None
        assert saved_steps(tmp_path)
    finally:
        first.terminate()
        first.wait(timeout=120)
    assert {trial["status"] for trial in trials_of(tmp_path).values()} == {"RUNNING"}  # intact


@pytest.mark.slow
def test_a_trial_that_is_killed_is_tried_again_and_one_that_fails_is_not(tmp_path, data):
    space = {RATE: {"choice": [0.1, 3e38]}}  # with one of them every weight becomes NaN
    search = {"name": "random_search", "max_trials": 2}
    tuner = {"space": space, "search": search, "num_parallel_trials": 2}
    log = tmp_path / "log"
    trainer = {"optimizer": {"name": "sgd"}, "clip_gradient_norm": 0, "max_steps": 2000}
    process = start(tmp_path, data, tuner, log, **trainer, checkpoint={"every_steps": 20})
    # Then the oracle has been asked for a third, and has said that there is none.
    wait_for(lambda: has_failed(tmp_path) and saved_steps(tmp_path), process, log)
    time.sleep(1)
    (trial,) = saved_steps(tmp_path)
    job = next(tmp_path.glob(f"checkpoints/tuner-*/search/{trial}/job.json"))
    (pid,) = [p for p in children(process.pid) if str(job) in command(p)]
    os.kill(pid, signal.SIGKILL)
    assert process.wait(timeout=300) == 0, log.read_text()
    by_rate = {t["hyperparameters"]["values"][RATE]: t for t in trials_of(tmp_path).values()}
    assert by_rate[0.1]["status"] == "COMPLETED"
    assert by_rate[3e38]["status"] == "FAILED"
    assert "training has diverged" in by_rate[3e38]["message"]


def has_failed(root):
    directory = next(iter(root.glob("checkpoints/tuner-*/search")), None)
    return directory is not None and "FAILED" in {t["status"] for t in trials_of(root).values()}


def children(pid):
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def command(pid):
    return Path(f"/proc/{pid}/cmdline").read_text()


@pytest.mark.slow
def test_hyperband_lets_the_best_go_on_with_their_weights(tmp_path, data):
    search = {"name": "hyperband", "max_epochs": 2, "factor": 2}
    fn_args = make_fn_args(tmp_path, data, {"search": search, "num_parallel_trials": 2})
    tuner = tuner_fn(fn_args).tuner
    tuner.search()
    best, trials = written(tuner, tmp_path / "out")
    assert best["values"]["tuner/epochs"] == 2
    assert set(trials[0].values) == set(SPACE)
    notes = {name: t["hyperparameters"]["values"] for name, t in trials_of(tmp_path).items()}
    continued = {name: v["tuner/trial_id"] for name, v in notes.items() if "tuner/trial_id" in v}
    assert continued
    for name, earlier in continued.items():
        curves = [
            read_curve(f"{directory_of(tmp_path)}/trial_{one}/logs/{TRAINING}")
            for one in (earlier, name)
        ]
        assert curves[1][: len(curves[0]) - 1] == curves[0][:-1]  # and what came after
        assert curves[1][-1]["step"] == 2 * curves[0][-1]["step"]


@pytest.mark.slow
def test_a_mistake_in_a_trial_ends_the_search_with_what_was_wrong(tmp_path, data):
    tuner = {"trial": {"trainer.warm_start": str(tmp_path / "nothing")}}
    search = tuner_fn(make_fn_args(tmp_path, data, tuner)).tuner
    with pytest.raises(UserError, match=r"nothing: neither an export.*"):
        search.search()


def test_a_split_without_examples_is_no_score(tmp_path, data):
    fn_args = make_fn_args(tmp_path, data, {}, validation_split="test")
    with pytest.raises(DataError, match=r"trainer\.validation_split = test.*known: train, eval"):
        tuner_fn(fn_args)
