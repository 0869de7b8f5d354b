"""The signature `decisions` of a real export, in a process that has TensorFlow alone."""

import hashlib
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from batches import MODELS, create_network
from records import make_dataset, read_all
from sources import FEATURES, SIZES

from yt8m.cli.main import run as yt8m
from yt8m.components.artifacts.operating_points import (
    ASSET_FILE,
    EMPTY_TABLE,
    load_operating_points,
    table_text,
)
from yt8m.components.export.load import load_export
from yt8m.components.export.save import ExportSpec, export_model, save_module
from yt8m.components.metrics.operating_points import OperatingPoints
from yt8m.components.models.heads import create_heads
from yt8m.components.registry.digests import model_digest
from yt8m.schemas.features import Level

# As a model server loads it: a session of TensorFlow 1's, whose tables the main op fills.
_SERVER = """
import json, sys
import tensorflow.compat.v1 as tf
records = [r.numpy() for r in tf.data.TFRecordDataset(sys.argv[2])] if tf.executing_eagerly() else 0
with tf.Graph().as_default(), tf.Session() as session:
    signature = tf.saved_model.load(session, ["serve"], sys.argv[1]).signature_def["decisions"]
    feeds = {signature.inputs["examples"].name: records,
             signature.inputs["precision"].name: [float(sys.argv[3])] * len(records)}
    names = {name: info.name for name, info in signature.outputs.items() if name != "video_id"}
    answer = session.run(names, feeds)
print(json.dumps({name: value.tolist() for name, value in answer.items()}))
"""


def exported(place, level, model):
    heads = create_heads((), features=FEATURES, level=level)
    network = create_network(MODELS[model], features=FEATURES, level=level, heads=heads, seed=1)
    for weights in network.trainable_variables:  # which begin so near to one another
        noise = np.random.default_rng(0).normal(size=weights.shape)
        weights.assign(noise.astype(np.float32))
    export_model(network, str(place), ExportSpec(level=level, features=FEATURES, top_k=5))
    return place


def some_points():
    """Of all classes but two; those of class 3 are never reached at .9."""
    of_class = np.random.default_rng(1).uniform(0.2, 0.9, (FEATURES.num_classes - 2, 2))
    of_class.sort(axis=1)
    of_class[3, 1] = np.inf
    return OperatingPoints(
        levels=(0.5, 0.9),
        classes=np.arange(FEATURES.num_classes - 2),
        of_class=of_class,
        of_others=np.array([0.4, 0.6]),
    )


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    place = exported(tmp_path_factory.mktemp("model") / "1", Level.VIDEO, "logistic")
    (place / ASSET_FILE).write_text(table_text(some_points()))
    return place


@pytest.fixture(scope="module")
def shard(tmp_path_factory):
    data = tmp_path_factory.mktemp("data")
    make_dataset(data, level="video", train=30, eval=2, shards=1, sizes=SIZES)
    return next(data.glob("train*"))


def expected(model, shard, asked):
    """Whether each of the best classes is accepted, by the table's numbers."""
    served = load_export(str(model)).serve(examples=tf.constant(read_all(shard)))
    classes, scores = served["class_ids"].numpy(), served["scores"].numpy()
    points = load_operating_points(str(model))
    return classes, scores >= points.thresholds(asked, FEATURES.num_classes)[classes]


def test_a_server_accepts_what_the_table_says(model, shard):
    asked = 0.9
    plain = {k: v for k, v in os.environ.items() if k != "TF_USE_LEGACY_KERAS"}
    done = subprocess.run(
        [sys.executable, "-c", _SERVER, str(model), str(shard), str(asked)],
        env=plain, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.splitlines()[-1])
    classes, accepted = expected(model, shard, asked)
    assert answer["class_ids"] == classes.tolist()
    assert answer["yes"] == accepted.tolist()
    assert 0 < accepted.mean() < 1
    reached = np.array(answer["precisions"])
    assert set(np.unique(reached.round(3))) == {0.0, 0.5, 0.9}


def test_each_record_has_its_own_precision(model, shard):
    decide = load_export(str(model)).loaded.signatures["decisions"]
    records = tf.constant(read_all(shard)[:2])
    answer = decide(examples=records, precision=tf.constant([0.5, 0.9]))["yes"].numpy()
    for row, asked in enumerate((0.5, 0.9)):
        assert answer[row].tolist() == expected(model, shard, asked)[1][row].tolist()


def test_two_models_in_one_process_have_each_its_own_table(tmp_path, model, shard):
    other = tmp_path / "other"
    shutil.copytree(model, other)
    (other / ASSET_FILE).write_text("-1\t0.9\n-2\t-inf\n")
    loaded = [load_export(str(place)).loaded for place in (model, other)]
    records = tf.constant(read_all(shard))
    precision = tf.fill(tf.shape(records), 0.9)
    answers = [
        one.signatures["decisions"](examples=records, precision=precision)["yes"].numpy()
        for one in loaded
    ]
    assert answers[0].tolist() == expected(model, shard, 0.9)[1].tolist()
    assert answers[1].all()
    assert not answers[0].all()


def test_the_graph_does_not_say_where_it_was_made(model):
    assert b"yt8m-asset-" not in (model / "saved_model.pb").read_bytes()


def test_a_model_that_nobody_judged_says_so(tmp_path, shard):
    model = exported(tmp_path / "model", Level.FRAME, "frame_logistic")
    assert load_operating_points(str(model)) is None
    decide = load_export(str(model)).loaded.signatures["decisions"]
    for _ in range(100):  # the operations of a graph run in any order
        with pytest.raises(tf.errors.InvalidArgumentError, match="has no operating points"):
            decide(examples=tf.constant([b""]), precision=tf.constant([0.9]))


def test_a_model_of_segments_has_no_decisions(tmp_path):
    model = exported(tmp_path / "model", Level.SEGMENT, "frame_logistic")
    assert "decisions" not in load_export(str(model)).loaded.signatures


def test_the_table_is_no_part_of_the_model_s_digest(tmp_path):
    copy = exported(tmp_path / "model", Level.VIDEO, "logistic")
    before = model_digest(str(copy))
    # The empty table counts as any file does, as for a yt8m that knows no operating points.
    rows = sorted(
        (str(path.relative_to(copy)), hashlib.sha256(path.read_bytes()).hexdigest())
        for path in copy.rglob("*")
        if path.is_file()
    )
    assert before == hashlib.sha256(json.dumps(rows).encode()).hexdigest()
    (copy / ASSET_FILE).write_text(table_text(some_points()))
    assert model_digest(str(copy)) == before


def test_a_model_that_is_saved_again_loses_the_table_of_what_it_was(tmp_path, model):
    loaded = load_export(str(model))
    again = tmp_path / "again"
    save_module(loaded.loaded, str(again), signatures=loaded.loaded.signatures, info=loaded.info)
    assert (again / ASSET_FILE).read_text() == EMPTY_TABLE


@pytest.mark.parametrize("form", ["jsonl", "tfrecord", "parquet"])
def test_predict_writes_what_is_accepted(tmp_path, model, shard, form):
    out = tmp_path / "out"
    words = ["--model", str(model), "--data", str(shard), "--out", str(out), "--format", form]
    assert yt8m(["predict", *words, "--top-k", "5", "--precision", "0.9"]) == 0
    classes, accepted = expected(model, shard, 0.9)
    wanted = [row[kept].tolist() for row, kept in zip(classes, accepted, strict=True)]
    assert _classes_in(out, form) == wanted


def _classes_in(path, form):
    if form == "parquet":
        import pyarrow.parquet as pq

        return pq.read_table(path).column("class_ids").to_pylist()
    if form == "jsonl":
        return [json.loads(line)["class_ids"] for line in path.read_text().splitlines()]
    spec = {"class_ids": tf.io.VarLenFeature(tf.int64)}
    parsed = [tf.io.parse_single_example(record, spec) for record in read_all(path)]
    return [one["class_ids"].values.numpy().tolist() for one in parsed]


def test_predict_names_what_is_missing(tmp_path, shard, model, capsys):
    bare = exported(tmp_path / "model", Level.VIDEO, "logistic")
    words = ["--data", str(shard), "--out", str(tmp_path / "out"), "--format"]
    assert yt8m(["predict", "--model", str(bare), *words, "jsonl", "--precision", "0.9"]) == 2
    assert f"{bare} has no operating points" in capsys.readouterr().err
    assert yt8m(["predict", "--model", str(model), *words, "video", "--precision", "0.9"]) == 2
    assert "--precision: for the formats jsonl" in capsys.readouterr().err
    assert yt8m(["predict", "--model", str(model), *words, "jsonl", "--precision", "0.95"]) == 2
    assert "--precision 0.95: at most 0.9" in capsys.readouterr().err


def test_an_ensemble_has_none_although_its_members_have(tmp_path, model, capsys):
    """Theirs are of their own scores, and its scores are means."""
    out, data = tmp_path / "ensemble", tmp_path / "data"
    make_dataset(data, level="video", train=4, eval=2, shards=1, sizes=SIZES)
    assert yt8m(["ensemble", "--quiet", "--models", str(model), str(model), "--out", str(out)]) == 0
    assert load_operating_points(str(out)) is None
    assert "decisions" not in load_export(str(out)).loaded.signatures
    capsys.readouterr()
    words = ["predict", "--model", str(out), "--data", str(data / "train*"), "--precision", "0.5"]
    assert yt8m([*words, "--format", "jsonl", "--out", str(tmp_path / "out.jsonl")]) == 2
    assert f"{out} has no operating points" in capsys.readouterr().err
