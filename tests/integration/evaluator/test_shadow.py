"""A candidate beside the model in service: agreement, differences, and metrics of labelled rows."""

import json

import numpy as np
import pytest
import tensorflow as tf
from batches import MODELS, create_network
from exported_models import SIZES, fitted_weights, write_model
from records import drop_feature, edit_record, make_dataset, read_all

from yt8m.cli.main import run as yt8m
from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.models.heads import create_heads
from yt8m.components.registry.push import push
from yt8m.schemas.features import FeatureConfig, Level

CLASSES = 20


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """Records, the model in service, and a worse candidate."""
    place = tmp_path_factory.mktemp("world")
    data = make_dataset(place / "data", train=200, eval=60, classes=CLASSES, shards=2, sizes=SIZES)
    weights = fitted_weights(sorted(data.glob("train*")), CLASSES)
    served = write_model(place / "served", weights)
    push(str(served), str(place / "push"), VersionRecord(blessed=True))
    return place, data, write_model(place / "candidate", weights, noise=3.0)


def shadow(capsys, model, push_dir, data, *words, code=0):
    capsys.readouterr()
    command = ["models", "shadow", str(model), "--push", str(push_dir), "--data", str(data)]
    assert yt8m([*command, *words, "--quiet"]) == code
    found = capsys.readouterr()
    return json.loads(found.out) if "--json" in words else found.err if code else found.out


def all_scores(model, data):
    records = [r for path in sorted(data.glob("validate*")) for r in read_all(path)]
    return (
        tf.saved_model.load(str(model))
        .signatures["scores"](examples=tf.constant(records))["scores"]
        .numpy()
    )


def test_agreement_is_that_of_the_scores_and_the_furthest_rows_are_shown(world, capsys):
    place, data, candidate = world
    found = shadow(capsys, candidate, place / "push", data / "validate*", "--json", "--shown", "4")
    ours, theirs = all_scores(candidate, data), all_scores(place / "served", data)
    assert found["in_service"] == 1
    assert (found["rows"], found["labelled"]) == (60, 60)
    same = (ours.argmax(axis=1) == theirs.argmax(axis=1)).mean()
    assert found["same_best"] == pytest.approx(same)
    assert found["overlap"] == 1.0  # of 20 classes, the 20 best
    difference = np.abs(ours - theirs).sum(axis=1)
    assert found["mean_difference"] == pytest.approx(difference.mean(), rel=1e-5)
    shown = [row["difference"] for row in found["differing_rows"]]
    assert shown == pytest.approx(np.sort(difference)[::-1][:4].tolist(), rel=1e-5)
    furthest = np.argsort(-np.abs(ours.mean(axis=0) - theirs.mean(axis=0)))[:4]
    assert [c["class_id"] for c in found["differing_classes"]] == furthest.tolist()
    worst = found["differing_rows"][0]
    row = int(difference.argmax())
    assert worst["candidate"]["classes"][0] == ours[row].argmax()
    assert worst["in_service"]["scores"][0] == pytest.approx(float(theirs[row].max()), rel=1e-5)


def test_the_overlap_is_of_the_best_classes_alone(world, capsys):
    place, data, candidate = world
    words = ("--json", "--top-k", "5")
    found = shadow(capsys, candidate, place / "push", data / "validate*", *words)
    best = [
        np.argsort(-scores, axis=1, kind="stable")[:, :5]
        for scores in (all_scores(candidate, data), all_scores(place / "served", data))
    ]
    shared = [len(set(ours) & set(theirs)) / 5 for ours, theirs in zip(*best, strict=True)]
    assert found["overlap"] == pytest.approx(np.mean(shared))
    assert found["overlap"] < 1


def test_metrics_are_those_of_evaluate_with_their_difference(world, capsys):
    place, data, candidate = world
    found = shadow(capsys, candidate, place / "push", data / "validate*", "--json")
    words = ["evaluate", "--model", str(candidate), "--baseline", str(place / "served")]
    assert yt8m([*words, "--data", str(data / "validate*"), "--quiet", "--json"]) == 0
    judged = json.loads(capsys.readouterr().out)
    assert found["metrics"]["candidate"]["gap"]["value"] == judged["gap"]
    assert found["metrics"]["difference"] == judged["difference"]
    assert found["metrics"]["difference"]["gap"]["upper"] < 0
    text = shadow(capsys, candidate, place / "push", data / "validate*")
    assert "60 rows, 60 with labels" in text
    assert "version 1" in text


def test_logged_records_without_labels_are_compared_and_only_labelled_ones_scored(
    world, tmp_path, capsys
):
    place, _, candidate = world
    logged = make_dataset(tmp_path / "logged", eval=20, classes=CLASSES, shards=1, sizes=SIZES)
    shard = logged / "validate0000.tfrecord"
    for number in range(20):
        edit_record(shard, number, drop_feature("labels"))
    found = shadow(capsys, candidate, place / "push", shard, "--json")
    assert (found["rows"], found["labelled"], found["metrics"]) == (20, 0, None)
    both = f"{tmp_path}/*/validate*"
    make_dataset(tmp_path / "more", eval=10, classes=CLASSES, shards=1, sizes=SIZES)
    found = shadow(capsys, candidate, place / "push", both, "--json")
    assert (found["rows"], found["labelled"]) == (30, 10)
    assert found["metrics"]["candidate"]["gap"]["value"] > 0


def test_segments_are_compared_one_by_one(tmp_path, capsys):
    features = FeatureConfig(sizes=tuple(SIZES.values()), num_classes=CLASSES)
    heads = create_heads((), features=features, level=Level.SEGMENT)
    for seed in (1, 2):
        network = create_network(
            MODELS["frame_logistic"],
            features=features,
            level=Level.SEGMENT,
            heads=heads,
            seed=seed,
        )
        spec = ExportSpec(level=Level.SEGMENT, features=features)
        export_model(network, str(tmp_path / str(seed)), spec)
    push(str(tmp_path / "1"), str(tmp_path / "push"), VersionRecord(blessed=True))
    data = make_dataset(tmp_path / "data", level="segment", eval=8, classes=CLASSES, sizes=SIZES)
    found = shadow(capsys, tmp_path / "2", tmp_path / "push", data / "validate*", "--json")
    assert found["rows"] == found["labelled"] > 8
    assert ":" in found["differing_rows"][0]["name"]
    assert found["mean_difference"] > 0


def test_what_cannot_be_compared_is_refused(world, tmp_path, capsys):
    place, data, candidate = world
    push_dir, shards = place / "push", data / "validate*"
    (tmp_path / "empty").mkdir()
    words = (candidate, tmp_path / "empty", shards)
    assert "no version is in service" in shadow(capsys, *words, code=2)
    words = (candidate, tmp_path / "nowhere", shards)
    assert "no such directory, so no registry" in shadow(capsys, *words, code=2)
    words = (candidate, push_dir, tmp_path / "none*")
    assert "no such file" in shadow(capsys, *words, code=2)
    weights = np.ones((25, CLASSES), np.float32)
    broken = write_model(tmp_path / "broken", weights, broken_from=0.1)
    assert "predicts no finite number" in shadow(capsys, broken, push_dir, shards, code=2)
