"""The evaluator role, wrong TF_CONFIGs and absent peers, in real processes."""

import contextlib
import json
import os
import socket
import subprocess
import sys
import time

import pytest
from cluster import Group, run
from records import make_dataset
from training import CLASSES, make_job

from yt8m.components.artifacts.training_curve import EVALUATION, read_curve

pytestmark = pytest.mark.distributed


# Devices are hidden in vain once TensorFlow has begun to use them.
HIDDEN = """
import tensorflow as tf
from tensorflow.python.eager import context
def _hide(devices, kind):
    print("visible:", kind, devices, "begun:", bool(context.context()._context_handle), flush=True)
tf.config.set_visible_devices = _hide
"""


def test_the_evaluator_scores_checkpoints_exports_and_ends_after_the_last_one(tmp_path):
    exporters = [{"name": "latest", "keep": 1}, {"name": "best"}, {"name": "final"}]
    job = make_job(
        tmp_path,
        max_steps=9,
        checkpoint={"every_steps": 3},
        evaluation={
            "enabled": True,
            "start_delay_s": 0,
            "throttle_s": 0,
            "exporters": exporters,
        },
    )
    with Group(job, "chief=1,evaluator=1", tmp_path / "logs", first=HIDDEN) as group:
        assert set(group.join().values()) == {0}
        assert "visible: GPU [] begun: False" in group.log("evaluator 0")
        assert "visible:" not in group.log("chief 0")
        assert "no checkpoint" in group.log("evaluator 0")  # warned once, while there was none
        assert group.log("evaluator 0").count("no checkpoint") == 1
    rows = read_curve(f"{job.log_dir}/{EVALUATION}")
    assert rows[-1]["step"] == 9
    assert len({row["step"] for row in rows}) == len(rows)
    exported = {p.parent.name: p.name for p in (tmp_path / "logs/export").glob("*/[0-9]*")}
    assert exported["latest"] == exported["final"] == "9"
    assert "best" in exported


def test_an_evaluator_whose_training_never_comes_gives_up(tmp_path):
    evaluation = {"enabled": True, "idle_limit_s": 2}
    job = make_job(tmp_path, checkpoint={"every_s": 1}, evaluation=evaluation)
    group = Group(job, "chief=1,evaluator=1", tmp_path / "logs")
    try:
        group.start("evaluator 0")
        assert group.join("evaluator 0") == {"evaluator 0": 1}
    finally:
        group.__exit__(None, None, None)
    assert "error: evaluator: no new checkpoint in" in group.log("evaluator 0")


@pytest.mark.parametrize(
    "was_killed",
    [
        pytest.param(False, id="ended", marks=pytest.mark.slow),
        pytest.param(True, id="killed"),
    ],
)
def test_an_evaluator_does_not_take_a_wiped_training_for_its_own(tmp_path, was_killed):
    data = make_dataset(tmp_path / "data", classes=CLASSES)
    job = make_job(tmp_path, data=data, max_steps=3)
    run(job, "", tmp_path / "first")
    if was_killed:
        (tmp_path / "checkpoints/DONE").unlink()
    evaluation = {"enabled": True, "start_delay_s": 0, "throttle_s": 0}
    again = make_job(
        tmp_path, data=data, max_steps=3, start_new_model=True, seed=7, evaluation=evaluation
    )
    group = Group(again, "chief=1,evaluator=1", tmp_path / "logs")
    try:
        group.start("evaluator 0")
        group.wait_until(lambda: "no checkpoint" in group.log("evaluator 0"))
        group.start("chief 0")
        assert set(group.join().values()) == {0}
    finally:
        group.__exit__(None, None, None)
    (row,) = read_curve(f"{again.log_dir}/{EVALUATION}")
    alone = make_job(tmp_path / "alone", data=data, max_steps=3, seed=7, evaluation=evaluation)
    run(alone, "", tmp_path / "alone-logs")
    (expected,) = read_curve(f"{alone.log_dir}/{EVALUATION}")
    assert (row["step"], row["loss"]) == (3, expected["loss"])


BAD = [
    ({"cluster": {"worker": ["h:1", "h:2"]}, "task": {"type": "worker", "index": 5}}, "task.index"),
    (
        {"cluster": {"chief": ["h:1"], "ps": ["h:2"]}, "task": {"type": "chief", "index": 0}},
        "worker",
    ),
    ({"cluster": {"chief": ["h:1"]}, "task": {"type": "evaluator", "index": 1}}, "evaluator"),
]


def refused(job, root, config):
    """What the process said that was refused at once, by our words and none of TensorFlow's."""
    (root / "job.json").write_text(job.to_json())
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "yt8m.components.trainer.backends",
            "--config",
            str(root / "job.json"),
        ],
        env={**os.environ, "TF_CONFIG": json.dumps(config)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert "tensorflow" not in done.stderr.lower()
    return done.stderr


@pytest.mark.parametrize(("config", "named"), BAD)
def test_a_wrong_tf_config_ends_the_process_at_once_with_exit_code_2(tmp_path, config, named):
    said = refused(make_job(tmp_path), tmp_path, config)
    assert said.startswith("error: TF_CONFIG")
    assert named in said


def test_buckets_that_the_workers_cannot_share_are_refused_as_early(tmp_path):
    inputs = {"bucket_batches": 2, "bucket_multiple": 4}
    job = make_job(tmp_path, level="frame", model={"name": "frame_logistic"}, inputs=inputs)
    workers = ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"]
    task = {"type": "worker", "index": 0}
    said = refused(job, tmp_path, {"cluster": {"worker": workers}, "task": task})
    assert "error: trainer.inputs.bucket_multiple = 4: must be a multiple of" in said


def others(config):
    """Addresses of the cluster in this TF_CONFIG but the process's own."""
    parsed = json.loads(config)
    task = parsed["task"]
    own = parsed["cluster"][task["type"]][task["index"]]
    return {a for addresses in parsed["cluster"].values() for a in addresses} - {own}


@pytest.mark.parametrize("is_open", [False, True], ids=["absent", "silent"])
@pytest.mark.parametrize(
    ("processes", "started", "missing"),
    [
        ("chief=1,worker=1", "chief 0", "worker 0"),
        ("chief=1,worker=1", "worker 0", "chief 0"),
        ("chief=1,worker=1,ps=1", "chief 0", "ps 0"),
        ("chief=1,worker=1,ps=1", "worker 0", "chief"),
    ],
)
def test_a_peer_that_never_comes_ends_in_an_error_that_names_it(
    tmp_path, processes, started, missing, is_open
):
    """Nor does one whose port is open, but which never says a word."""
    job = make_job(tmp_path, distribution={"peer_timeout_s": 2})
    group = Group(job, processes, tmp_path / "logs")
    began = time.monotonic()
    with contextlib.ExitStack() as silent:
        for address in others(group.configs[started]) if is_open else ():
            host, _, port = address.rpartition(":")
            silent.enter_context(socket.create_server((host, int(port))))
        try:
            group.start(started)
            assert group.join(started) == {started: 1}
        finally:
            group.__exit__(None, None, None)
    assert time.monotonic() - began < 100
    log = group.log(started)
    assert "reachable" in log
    assert missing in log
