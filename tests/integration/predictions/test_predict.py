"""Predictions of exported models: what they are, that nothing of how they are made shows in them,
and how a run goes on."""

import contextlib
import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import apache_beam as beam
import numpy as np
import pytest
import tensorflow as tf
from batches import MODELS, create_network
from exported_models import LinearModel
from records import (
    drop_feature,
    edit_record,
    make_dataset,
    read_all,
    replace_record,
    truncate,
)
from sources import FEATURES, SIZES

from yt8m.cli.main import run as yt8m
from yt8m.components.console.console import Console
from yt8m.components.export.load import load_export
from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.models.heads import create_heads
from yt8m.components.predictions.beam_prediction import run_on_beam
from yt8m.components.predictions.plan import Format, PredictionPlan
from yt8m.components.predictions.predict import predict, run_here, take_lock
from yt8m.components.predictions.work import WorkDirectory
from yt8m.components.records.decode import decode_record
from yt8m.components.records.find import find_shards
from yt8m.components.storage.lock import file_lock, is_held
from yt8m.pipeline.beam import beam_arguments
from yt8m.pipeline.config import BeamConfig
from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import Level

QUIET = Console(quiet=True)
MODEL = {Level.VIDEO: "logistic", Level.FRAME: "frame_logistic", Level.SEGMENT: "frame_logistic"}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A small model of each level."""
    place = tmp_path_factory.mktemp("models")
    for level, name in MODEL.items():
        heads = create_heads((), features=FEATURES, level=level)
        network = create_network(MODELS[name], features=FEATURES, level=level, heads=heads, seed=1)
        for weights in network.trainable_variables:  # which begin so near to one another
            noise = np.random.default_rng(0).normal(size=weights.shape)
            weights.assign(noise.astype(np.float32))
        export_model(network, str(place / level.value), ExportSpec(level=level, features=FEATURES))
    return place


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Records of each level; those of `test` have no labels and no segments."""
    place = tmp_path_factory.mktemp("data")
    for level in Level:
        values = {"train": 20, "eval": 4, "test": 8, "shards": 4, "sizes": SIZES}
        make_dataset(place / level.value, level=level.value, **values)
    return place


def rows_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def command(models, data, out, *words, level="video", form="jsonl", split="train"):
    """The exit code of `yt8m predict`, in this process."""
    return yt8m(
        [
            "predict",
            "--quiet",
            "--model",
            str(models / level),
            "--data",
            str(data / level / f"{split}*"),
            "--out",
            str(out),
            "--format",
            form,
            *words,
        ]
    )


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("level", list(MODEL), ids=lambda level: level.value)
def test_every_row_is_what_the_model_says_of_its_record(models, data, tmp_path, level, split):
    out = tmp_path / "new" / "p.jsonl"
    assert command(models, data, out, "--top-k", "3", level=level.value, split=split) == 0
    found = rows_of(out)
    model, number = load_export(str(models / level.value)), 0
    for path in sorted((data / level.value).glob(f"{split}*")):
        for record in read_all(path):
            decoded = decode_record(record)
            name = decoded.features["id"][0].decode()
            if level is Level.SEGMENT and split == "test":
                starts = range(0, decoded.num_frames, 5)
                wanted = [(name, start) for start in starts]
                scores = scores_of_windows(model, decoded, starts)
            else:
                said = model.score(examples=tf.constant([record]))
                starts = said["segment_start"].numpy() if level is Level.SEGMENT else [None]
                wanted, scores = [(name, start) for start in starts], said["scores"].numpy()
            for (video, start), row in zip(wanted, scores, strict=True):
                line = found[number]
                assert (line["video_id"], line.get("segment_start")) == (video, start)
                best = np.argsort(-row, kind="stable")[:3]
                assert line["class_ids"] == best.tolist()
                np.testing.assert_allclose(line["scores"], row[best], rtol=1e-5)
                number += 1
    assert number == len(found)
    assert not list(out.parent.glob(".*"))


def scores_of_windows(model, decoded, starts):
    """By the signature for arrays, window by window."""
    rows = []
    for start in starts:
        frames = {name: decoded.feature_lists[name][start : start + 5] for name in SIZES}
        count = len(frames["rgb"])
        padded = {name: np.pad(f, [(0, 5 - count), (0, 0)])[None] for name, f in frames.items()}
        arrays = {name: tf.constant(value) for name, value in padded.items()}
        arrays["num_frames"] = tf.constant([count], tf.int32)
        rows.append(model.loaded.signatures["features"](**arrays)["scores"].numpy()[0])
    return rows


def plan_of(models, level, form):
    top_k = None if form is Format.SEGMENT else 5
    return PredictionPlan(
        model=str(models / level.value), level=level, format=form, top_k=top_k, batch_size=3
    )


def in_process_pipeline():
    return beam.Pipeline(argv=beam_arguments(BeamConfig()))


@pytest.mark.parametrize(
    ("level", "form"),
    [
        (Level.VIDEO, Format.VIDEO),
        (Level.SEGMENT, Format.SEGMENT),
        (Level.FRAME, Format.PARQUET),
        (Level.FRAME, Format.TFRECORD),
    ],
    ids=lambda value: value.value,
)
def test_neither_workers_nor_groups_nor_beam_change_a_byte(models, data, tmp_path, level, form):
    plan = plan_of(models, level, form)
    shards = find_shards(str(data / level.value / "train*"))
    ways = {"one": run_here(1), "three": run_here(3), "beam": run_on_beam(in_process_pipeline)}
    files = []
    for name, way in ways.items():
        done = predict(
            plan, shards, str(tmp_path / name), run_groups=way, console=QUIET, group_bytes=1
        )
        assert (done.shards, done.continued) == (4, 0)
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1] == files[2]
    assert len(files[0]) > 100


def test_what_an_earlier_run_on_beam_could_not_do_is_done_by_the_next(models, data, tmp_path):
    plan, copy = plan_of(models, Level.VIDEO, Format.JSONL), tmp_path / "data"
    shutil.copytree(data / "video", copy)
    paths = sorted(copy.glob("train*"))
    for path in paths[1:3]:
        truncate(path, -9)
    shards, out = find_shards(*map(str, paths)), tmp_path / "p.jsonl"
    beam_run = run_on_beam(in_process_pipeline)

    def run():
        return predict(plan, shards, str(out), run_groups=beam_run, console=QUIET, group_bytes=1)

    with pytest.raises(UserError, match="a damaged record"):
        run()
    for path in paths[1:3]:
        shutil.copy(data / "video" / path.name, path)
    assert run().continued == 2
    assert len(rows_of(out)) == 20


def test_a_model_that_is_replaced_during_a_run_leaves_no_file_of_two_models(models, data, tmp_path):
    shards = find_shards(str(data / "video" / "train*"))
    plan, model = plan_of(models, Level.VIDEO, Format.JSONL), tmp_path / "video"
    shutil.copytree(plan.model, model)
    plan, out = dataclasses.replace(plan, model=str(model)), tmp_path / "p.jsonl"

    def replaced(*args):
        run_here(1)(*args)
        (model / "variables" / "variables.index").write_bytes(b"another")

    with pytest.raises(UserError, match=f"^{model}: the model's files changed"):
        predict(plan, shards, str(out), run_groups=replaced, console=QUIET, group_bytes=1)
    assert not out.exists()
    assert not list(tmp_path.glob(".*"))


def overwrite(path):
    path.write_bytes(min(path.parent.glob("train*")).read_bytes() * 2)


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize(("change", "what"), [(overwrite, "changed"), (Path.unlink, "was removed")])
def test_records_that_are_replaced_during_a_run_leave_no_file_of_both(
    models, data, tmp_path, change, what, fails
):
    plan, copy, out = plan_of(models, Level.VIDEO, Format.JSONL), tmp_path / "data", tmp_path / "p"
    shutil.copytree(data / "video", copy)
    *_, last = sorted(copy.glob("train*"))
    shards = find_shards(str(copy / "train*"))

    def replaced(*args):
        run_here(1)(*args)
        change(last)
        if fails:
            raise UserError("a damaged record")

    with pytest.raises(DataError, match=f"^{last}: the file {what} during the prediction"):
        predict(plan, shards, str(out), run_groups=replaced, console=QUIET, group_bytes=1)
    assert not out.exists()
    assert not list(tmp_path.glob(".*"))


class InHalfPrecision(LinearModel):
    """Of somebody else, whose signature does not say how many classes there are."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def scores(self, examples):
        found = super().scores(examples)
        half = tf.cast(found["scores"], tf.float16)
        unsaid = tf.compat.v1.placeholder_with_default(half, [None, None])
        return {**found, "scores": unsaid}


def test_scores_in_half_precision_are_written_as_the_numbers_that_they_are(data, tmp_path, capsys):
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(sum(SIZES.values()) + 1, FEATURES.num_classes)).astype(np.float32)
    model = InHalfPrecision(weights, frames=False)
    tf.saved_model.save(model, str(tmp_path / "video"), signatures={"scores": model.scores})
    out, classes = tmp_path / "p", tmp_path / "classes.csv"
    records = [r for path in sorted((data / "video").glob("train*")) for r in read_all(path)]
    scores = model.scores(tf.constant(records))["scores"].numpy()
    assert scores.dtype == np.float16
    assert command(tmp_path, data, out, "--top-k", "3") == 0
    for row, expected in zip(rows_of(out), scores.astype(np.float32), strict=True):
        assert row["scores"] == [float(str(s)) for s in np.sort(expected)[::-1][:3]]
    for form in ("video", "parquet", "tfrecord"):
        assert command(tmp_path, data, out, form=form) == 0
    classes.write_text(f"Index\n3\n{FEATURES.num_classes}\n")
    capsys.readouterr()
    assert command(tmp_path, data, out, "--segment-classes", str(classes)) == 2
    said = f"class {FEATURES.num_classes} is not one of the {FEATURES.num_classes} that"
    assert said in capsys.readouterr().err


SLOWLY = """
import sys, time
from yt8m.components.console.console import Console
from yt8m.components.predictions import predict as module
from yt8m.components.predictions.plan import Format, PredictionPlan
from yt8m.components.records.find import find_shards
from yt8m.schemas.features import Level

write = module.write_part
def write_slowly(*args, **kwargs):
    write(*args, **kwargs)
    time.sleep(600)
module.write_part = write_slowly
model, data, out = sys.argv[1:]
plan = PredictionPlan(
    model=model, level=Level.SEGMENT, format=Format.SEGMENT, top_k=None, batch_size=3
)
module.predict(
    plan, find_shards(data), out, run_groups=module.run_here(1), console=Console(), group_bytes=1
)
"""


def test_a_killed_run_leaves_no_file_and_the_next_one_continues_to_the_same_bytes(
    models, data, tmp_path
):
    plan, pattern = plan_of(models, Level.SEGMENT, Format.SEGMENT), data / "segment" / "train*"
    shards, out = find_shards(str(pattern)), tmp_path / "killed.csv"
    process = subprocess.Popen(
        [sys.executable, "-c", SLOWLY, plan.model, str(pattern), str(out)],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    try:
        deadline = time.monotonic() + 120
        while not list(tmp_path.glob(".killed.csv.parts/*/*.part")):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        with pytest.raises(UserError, match=f"process {process.pid} is writing it"):
            predict(plan, shards, str(out), run_groups=run_here(1), console=QUIET)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert not out.exists()
    done = predict(plan, shards, str(out), run_groups=run_here(2), console=QUIET, group_bytes=1)
    assert done.continued == 1
    whole = tmp_path / "whole.csv"
    predict(plan, shards, str(whole), run_groups=run_here(2), console=QUIET)
    assert out.read_bytes() == whole.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["killed.csv", "whole.csv"]


def test_parts_of_other_data_or_options_are_not_taken(models, data, tmp_path):
    shards = find_shards(str(data / "video" / "train*"))
    plan, out = plan_of(models, Level.VIDEO, Format.JSONL), str(tmp_path / "p.jsonl")

    def interrupted(plan, groups, work, advance):
        run_here(1)(plan, {0: groups[0]}, work, advance)
        raise KeyboardInterrupt

    def done_with(plan):
        with pytest.raises(KeyboardInterrupt):
            predict(plan, shards, out, run_groups=interrupted, console=QUIET, group_bytes=1)
        return predict(plan, shards, out, run_groups=run_here(1), console=QUIET, group_bytes=1)

    assert done_with(plan).continued == 1
    with pytest.raises(KeyboardInterrupt):
        predict(plan, shards, out, run_groups=interrupted, console=QUIET, group_bytes=1)
    other = PredictionPlan(
        model=plan.model, level=plan.level, format=plan.format, top_k=2, batch_size=3
    )
    found = predict(other, shards, out, run_groups=run_here(1), console=QUIET, group_bytes=1)
    assert found.continued == 0
    assert {len(row["class_ids"]) for row in rows_of(Path(out))} == {2}


def test_parts_go_while_nobody_else_may_write_the_same_file(models, data, tmp_path, monkeypatch):
    remove, held = WorkDirectory.remove, []

    def removing(work):
        held.append(is_held(Path(work.lock)))
        remove(work)

    monkeypatch.setattr(WorkDirectory, "remove", removing)
    assert command(models, data, tmp_path / "p.jsonl") == 0
    assert held == [True]
    assert [path.name for path in tmp_path.iterdir()] == ["p.jsonl"]


def test_a_work_directory_that_goes_before_its_lock_is_taken_is_made_again(tmp_path, monkeypatch):
    lock, made = tmp_path / ".out.parts" / "lock", []

    def file_lock_of(path, **words):
        made.append(path)
        if len(made) == 1:
            path.parent.rmdir()
        return file_lock(path, **words)

    monkeypatch.setattr("yt8m.components.predictions.predict.file_lock", file_lock_of)
    with contextlib.ExitStack() as stack:
        take_lock(lock, stack)
        assert is_held(lock)
    assert made == [lock, lock]


def test_what_is_wrong_is_said_and_ends_with_2(models, data, tmp_path, capsys):
    cut = tmp_path / "cut" / "video"
    make_dataset(cut, train=8, shards=1, sizes=SIZES)
    truncate(cut / "train0000.tfrecord", -9)
    lacking = tmp_path / "lacking" / "video"
    make_dataset(lacking, train=8, shards=1, sizes=SIZES)
    edit_record(lacking / "train0000.tfrecord", 3, drop_feature("mean_audio"))
    classes = tmp_path / "classes.csv"
    classes.write_text("Index\n3\n20\n")
    out = tmp_path / "p.csv"
    takes = ", ".join(f"{name} {size}" for name, size in SIZES.items())
    cases = [
        (command(models, data, out, level="video", form="segment"), "of level video"),
        (command(models, data, out, level="segment", form="video"), "of level segment"),
        (command(models, data, out, "--segment-classes", str(classes)), "class 20 is not one"),
        (command(models, data, out, "--segment-classes", "none.csv"), "no such file"),
        (command(models, tmp_path / "cut", cut / "train0000.tfrecord"), "reads this file"),
        (command(models, data, classes, "--segment-classes", str(classes)), "reads this file"),
        (command(models, data, models / "video" / "saved_model.pb"), "belongs to the model"),
        (command(models, data, tmp_path), "is a directory, not a file"),
        (command(models, tmp_path / "cut", out), "train0000.tfrecord"),
        (command(models, tmp_path / "lacking", out), f"video-level records with {takes})"),
        (
            command(models, data, out, split="nothing"),
            "nothing*: no such file, and none that matches",
        ),
        (command(models, data, out, "--beam-option=--x=1"), "needs --beam-runner"),
        (command(data, data, out), "is not a SavedModel"),
    ]
    errors = capsys.readouterr().err.split("error: ")[1:]
    assert [code for code, _ in cases] == [2] * len(cases)
    for (_, why), message in zip(cases, errors, strict=True):
        assert why in message
    mixed = [
        "predict",
        "--quiet",
        "--model",
        str(models / "frame"),
        "--data",
        str(data / "video" / "train*"),
        "--out",
        str(out),
        "--format",
        "jsonl",
    ]
    assert yt8m(mixed) == 2
    assert "is for frame-level records, and the data are at level video" in capsys.readouterr().err
    assert not out.exists()


@pytest.mark.parametrize("level", list(MODEL), ids=lambda level: level.value)
def test_a_record_that_is_none_behind_the_first_ones_is_named(models, tmp_path, level, capsys):
    data = make_dataset(tmp_path / level.value, level=level.value, train=60, shards=1, sizes=SIZES)
    replace_record(data / "train0000.tfrecord", 55, b"\xff\xfe bytes")
    words = ("--batch-size", "30")
    assert command(models, tmp_path, tmp_path / "p.jsonl", *words, level=level.value) == 2
    error = capsys.readouterr().err
    place = 0 if level is Level.FRAME else 25  # mean frames are made a record at a time
    assert f"record {place} of the batch: not a tf.Example or tf.SequenceExample" in error


def test_the_version_in_service_is_taken_of_a_registry(models, data, tmp_path, capsys):
    registry = tmp_path / "push"
    pushed = ["models", "import", str(models / "video"), "--push", str(registry), "--quiet"]
    assert yt8m([*pushed, "--data", str(data / "video" / "validate*")]) == 0
    out = tmp_path / "p.csv"
    capsys.readouterr()
    words = ["--model", str(registry), "--data", str(data / "video" / "train*")]
    assert yt8m(["predict", *words, "--out", str(out), "--format", "video", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["model"] == str(registry / "1")
    assert out.read_text().startswith("VideoId,LabelConfidencePairs\n")
    scored = ["score", "--submission", str(out), "--data", str(data / "video" / "train*"), "--json"]
    assert yt8m(scored) == 0
    assert 0 < json.loads(capsys.readouterr().out)["gap"] < 1


# TensorFlow itself imports pandas, scipy and Keras 3, which are not ours to leave out.
NOT_NEEDED = {"tfx", "apache_beam", "tf_keras", "ml_metadata", "kubernetes", "kfp"}
NOT_NEEDED |= {"tensorboard", "nltk", "boto3", "pymongo", "rich.progress"}
NOT_NEEDED |= {f"tensorflow_{part}" for part in ("data_validation", "model_analysis", "transform")}


@pytest.mark.parametrize(
    "words",
    [
        ["predict", "--data", "train*", "--format", "jsonl", "--out", "p.jsonl"],
        ["evaluate", "--data", "train*"],
    ],
    ids=lambda words: words[0],
)
def test_a_command_that_scores_an_export_loads_tensorflow_and_no_other_large_library(
    models, data, tmp_path, words
):
    words = [str(data / "video" / word) if word == "train*" else word for word in words]
    command = [sys.executable, "-X", "importtime", "-m", "yt8m", *words]
    command += ["--model", str(models / "video")]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    loaded = {line.rpartition("|")[2].strip() for line in lines}
    assert "tensorflow" in loaded
    assert NOT_NEEDED & loaded == set()
