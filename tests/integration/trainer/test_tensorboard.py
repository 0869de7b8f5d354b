"""TensorBoard's files, read back: what the curve says, and the weights' histograms."""

import contextlib
import json
import math
import re
import socket
import subprocess
import sys
import time
import tracemalloc
import urllib.request
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from tensorboard.plugins.histogram.summary_v2 import histogram_pb as stock_histogram_pb
from training import make_job

from yt8m.components.artifacts.training_curve import EVALUATION, TRAINING, read_curve
from yt8m.components.trainer.backends.in_process import run_job
from yt8m.components.trainer.loop.training_log import histogram_pb

STEPS, EVERY = 6, 2


def test_a_line_of_the_log_tells_what_a_person_looks_for(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("yt8m.components.console.progress._LINE_EVERY_S", 0.0)
    run_job(make_job(tmp_path, max_steps=4, log={"every_steps": 2}), {})
    lines = [line for line in capsys.readouterr().err.splitlines() if " train: " in line]
    metrics = " ".join(rf"{name} [01]\.\d{{3}}" for name in ("GAP", "Hit@1", "PERR"))
    figures = rf"[\d,]+ examples/s, batch: loss \d+\.\d{{3}} {metrics}"
    assert re.search(
        rf" train: 2/4 steps in \d+\.\d s, [\d.]+/s, (?:[\d,]+ s left, )?{figures}$", lines[1]
    )
    assert re.search(rf" train: 4/4 steps in \d+\.\d s, [\d.]+/s, {figures}$", lines[-1])


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    evaluation = {"enabled": True, "start_delay_s": 0, "throttle_s": 0}
    job = make_job(
        tmp_path_factory.mktemp("job"),
        max_steps=STEPS,
        checkpoint={"every_steps": EVERY},
        optimizer={"name": "adam", "learning_rate": 0.1},
        schedule={"name": "staircase", "decay": 0.5, "decay_examples": 16},
        log={"every_steps": EVERY, "tensorboard": True, "histograms_every_steps": 3},
        validation={"every_steps": 3},
        evaluation={**evaluation, "name": "unseen", "steps": 1},
    )
    run_job(job, {})
    return job


def summaries(directory, plugin):
    """`{(tag, step): value}` of one kind, from all event files of a directory."""
    found = {}
    paths = [str(path) for path in directory.glob("events*")]
    for record in tf.data.TFRecordDataset(paths):
        event = tf.compat.v1.Event.FromString(record.numpy())
        for value in event.summary.value:
            if value.metadata.plugin_data.plugin_name == plugin:
                found[value.tag, event.step] = tf.make_ndarray(value.tensor)
    return found


def logs(job, name):
    return Path(job.log_dir) / name


def assert_as_told(scalars, rows, prefix=""):
    told = 0
    for row in rows:
        for key, value in row.items():
            if isinstance(value, int | float) and key != "step":
                assert scalars[prefix + key, row["step"]] == pytest.approx(value, rel=1e-4), key
                told += 1
    assert told


def test_every_figure_of_the_curve_is_a_scalar(job):
    scalars = summaries(logs(job, "train"), "scalars")
    rows = read_curve(f"{job.log_dir}/{TRAINING}")
    by_kind = {
        k: [r for r in rows if r["kind"] == k] for k in ("train", "validation", "checkpoint")
    }
    assert [row["step"] for row in by_kind["train"]] == [2, 4, 6]
    assert [row["step"] for row in by_kind["validation"]] == [0, 3, 6]
    assert_as_told(scalars, by_kind["train"])
    assert_as_told(scalars, by_kind["validation"], "validation/")
    assert_as_told(scalars, by_kind["checkpoint"], "checkpoint/")
    rates = [float(scalars["learning_rate", step]) for step in (2, 4, 6)]
    assert rates == pytest.approx([0.1, 0.05, 0.025])
    assert {"loss", "hit_at_1", "perr", "gap", "examples_per_s"} <= {tag for tag, _ in scalars}


@contextlib.contextmanager
def installed_tensorboard(logdir, log):
    """The address of the program that this environment has, on these logs."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = Path(sys.executable).parent / "tensorboard"
    command = [program, "--logdir", logdir, "--port", str(port), "--host", "127.0.0.1"]
    with log.open("wb") as file:
        server = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        try:
            yield f"http://127.0.0.1:{port}", server
        finally:
            server.terminate()
            server.wait()


def test_the_installed_program_serves_the_curve(job, tmp_path):
    rows = [r for r in read_curve(f"{job.log_dir}/{TRAINING}") if r["kind"] == "train"]
    with installed_tensorboard(job.log_dir, tmp_path / "log") as (address, server):
        path = "/data/plugin/scalars/scalars?run=train&tag=loss"
        while len(points := read_json(address + path)) < len(rows):
            assert server.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.2)
    assert [point[1] for point in points] == [row["step"] for row in rows]
    assert [point[2] for point in points] == pytest.approx([r["loss"] for r in rows], rel=1e-4)


def read_json(address):
    """What the server answers; nothing while it starts or reads."""
    try:
        with urllib.request.urlopen(address, timeout=10) as answer:
            return json.load(answer)
    except OSError:
        return []


def test_histograms_hold_each_number_of_every_weight(job):
    found = summaries(logs(job, "train"), "histograms")
    reader = tf.train.load_checkpoint(f"{job.checkpoint_dir}/ckpt-{STEPS}")
    shapes = reader.get_variable_to_shape_map()
    sizes = sorted(
        math.prod(shape)
        for key, shape in shapes.items()
        if key.startswith("network") and key.endswith("VARIABLE_VALUE")
    )
    for step in (3, 6):
        histograms = [value for (_, at), value in found.items() if at == step]
        # Rows of a histogram are left edge, right edge, count.
        assert sorted(int(h[:, 2].sum()) for h in histograms) == sizes
    assert {step for _, step in found} == {3, 6}


def test_evaluations_have_a_directory_of_their_name(job):
    scalars = summaries(logs(job, "eval_unseen"), "scalars")
    rows = read_curve(f"{job.log_dir}/{EVALUATION}")
    assert {row["videos"] for row in rows} == {8}  # `steps: 1`: one batch of the split
    assert_as_told(scalars, rows, "evaluation/")


def test_a_histogram_is_tensorboards_own_and_takes_little_memory():
    values = np.random.default_rng(0).normal(size=(2000, 1000)).astype(np.float32)
    tracemalloc.start()
    ours = histogram_pb("layer/kernel", values)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 << 20  # of 8 MB, and no more of larger ones; theirs: 480 MB
    theirs = stock_histogram_pb("layer/kernel", values, buckets=30)
    assert ours.value[0].tag == theirs.value[0].tag
    assert ours.value[0].metadata == theirs.value[0].metadata
    found, wanted = (tf.make_ndarray(one.value[0].tensor) for one in (ours, theirs))
    np.testing.assert_allclose(found[:, :2], wanted[:, :2], rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(found[:, 2], wanted[:, 2])


def test_weights_that_are_no_numbers_are_left_out_of_a_histogram():
    broken = histogram_pb("w", np.array([1.0, np.nan, 2.0, np.inf], np.float32))
    assert tf.make_ndarray(broken.value[0].tensor)[:, 2].sum() == 2
    nothing = histogram_pb("w", np.full(3, np.nan, np.float32))
    assert tf.make_ndarray(nothing.value[0].tensor)[:, 2].sum() == 0
