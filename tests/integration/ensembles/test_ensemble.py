"""An ensemble is a model: its scores are the mean, and whatever takes a model takes it."""

import dataclasses
import json

import numpy as np
import pytest
import tensorflow as tf
from batches import MODELS, create_network
from evaluator_run import create_world, run_evaluator
from exported_models import LinearModel
from records import make_dataset, read_all
from sources import FEATURES, SIZES

from yt8m.cli.main import run as yt8m
from yt8m.components.export.load import load_export, load_model
from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.extras.ensembles.save import export_ensemble
from yt8m.components.models.heads import create_heads
from yt8m.components.registry.archive import pack_model
from yt8m.schemas.features import Level


def exported(place, model, *, level=Level.VIDEO, seed=1):
    heads = create_heads((), features=FEATURES, level=level)
    network = create_network(MODELS[model], features=FEATURES, level=level, heads=heads, seed=seed)
    for weights in network.trainable_variables:
        noise = np.random.default_rng(seed).normal(size=weights.shape)
        weights.assign(noise.astype(np.float32))
    export_model(network, str(place), ExportSpec(level=level, features=FEATURES))
    return place


@pytest.fixture(scope="module")
def members(tmp_path_factory):
    place = tmp_path_factory.mktemp("members")
    return [exported(place / name, name, seed=n) for n, name in enumerate(("logistic", "moe"))]


class OfPrecision(LinearModel):
    """Of somebody else, who scores in another type."""

    def __init__(self, weights, precision):
        super().__init__(weights, frames=False)
        self._precision = precision

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def scores(self, examples):
        found = super().scores(examples)
        return {**found, "scores": tf.cast(found["scores"], self._precision)}


def ensemble(models, out, *words):
    return yt8m(["ensemble", "--quiet", "--models", *map(str, models), "--out", str(out), *words])


def test_its_scores_are_the_weighted_mean_by_every_signature(members, tmp_path, capsys):
    out = tmp_path / "sub" / "ensemble"
    data = make_dataset(tmp_path / "data", train=9, shards=1, sizes=SIZES)
    records = tf.constant(read_all(data / "train0000.tfrecord"))
    words = ("--weights", "3,1", "--vocabulary", str(data / "vocabulary.csv"), "--json")
    assert ensemble(members, out, *words) == 0
    assert json.loads(capsys.readouterr().out)["weights"] == [0.75, 0.25]
    whole, parts = load_export(str(out)), [load_export(str(path)) for path in members]
    expected = sum(
        weight * model.score(examples=records)["scores"].numpy()
        for weight, model in zip((0.75, 0.25), parts, strict=True)
    )
    found = whole.score(examples=records)
    np.testing.assert_allclose(found["scores"].numpy(), expected, rtol=1e-6)
    np.testing.assert_array_equal(
        found["video_id"].numpy(), parts[0].score(examples=records)["video_id"].numpy()
    )
    best = whole.serve(examples=records)
    np.testing.assert_array_equal(best["class_ids"].numpy()[:, 0], expected.argmax(axis=1))
    assert best["class_names"].shape == best["class_ids"].shape
    rng = np.random.default_rng(0)
    batch = {n: tf.constant(rng.normal(size=(4, s)).astype(np.float32)) for n, s in SIZES.items()}
    arrays = [m.loaded.signatures["features"](**batch)["scores"].numpy() for m in (*parts, whole)]
    np.testing.assert_allclose(arrays[2], 0.75 * arrays[0] + 0.25 * arrays[1], rtol=1e-6)
    assert whole.info.config["ensemble"][0]["model"] == str(members[0])


def test_a_member_in_an_archive_is_recorded_by_the_name_that_was_given(members, tmp_path, capsys):
    archive, out = tmp_path / "member.tgz", tmp_path / "ensemble"
    pack_model(str(members[1]), str(archive))
    assert ensemble([members[0], archive], out, "--json") == 0
    names = [str(members[0]), str(archive)]
    assert json.loads(capsys.readouterr().out)["models"] == names
    recorded = load_export(str(out)).info.config["ensemble"]
    assert [member["model"] for member in recorded] == names


def test_members_in_half_precision_are_averaged_in_the_precision_of_the_others(tmp_path):
    rng, models = np.random.default_rng(0), []
    for precision in (tf.float32, tf.float16, tf.bfloat16):
        shape = (sum(SIZES.values()) + 1, FEATURES.num_classes)
        model = OfPrecision(rng.normal(size=shape).astype(np.float32), precision)
        tf.saved_model.save(model, str(tmp_path / precision.name), {"scores": model.scores})
        models.append(tmp_path / precision.name)
    data = make_dataset(tmp_path / "data", train=9, shards=1, sizes=SIZES)
    words = ("--weights", "fit", "--data", str(data / "train*"))
    assert ensemble(models, tmp_path / "out", *words) == 0
    records = tf.constant(read_all(data / "train0000.tfrecord"))
    whole = load_export(str(tmp_path / "out"))
    weights = [member["weight"] for member in whole.info.config["ensemble"]]
    parts = [load_model(str(model)).score_records(records).scores.numpy() for model in models]
    expected = sum(weight * part for weight, part in zip(weights, parts, strict=True))
    found = whole.score_records(records).scores.numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_one_member_with_a_transform_graph_is_enough_for_the_ensemble_to_have_one(
    members, tmp_path
):
    models = [load_model(str(member)) for member in members]
    for has_graph in (False, True):
        models[0].info = dataclasses.replace(models[0].info, has_transform_graph=has_graph)
        out = str(tmp_path / "out")
        info = export_ensemble(models, ["a", "b"], [1, 1], out, level=Level.VIDEO)
        assert info.has_transform_graph is has_graph


def test_segments_keep_their_starts(tmp_path):
    parts = [
        exported(tmp_path / str(n), "frame_logistic", level=Level.SEGMENT, seed=n) for n in (1, 2)
    ]
    assert ensemble(parts, tmp_path / "out") == 0
    data = make_dataset(tmp_path / "data", level="segment", train=4, shards=1, sizes=SIZES)
    records = tf.constant(read_all(data / "train0000.tfrecord"))
    one, whole = (load_export(str(p)).score_records(records) for p in (parts[0], tmp_path / "out"))
    np.testing.assert_array_equal(whole.starts, one.starts)


def test_fitted_weights_beat_a_bad_member_and_the_gate_takes_the_ensemble(tmp_path, capsys):
    world = create_world(tmp_path / "world")
    good, bad = (world.model(name, noise=noise) for name, noise in (("good", 0.3), ("bad", 8.0)))
    train = str(world.data / "train*")
    out = tmp_path / "ensemble" / "Format-Serving"
    assert ensemble([good, bad], out, "--weights", "fit", "--data", train, "--json") == 0
    weights = json.loads(capsys.readouterr().out)["weights"]
    assert weights[0] > 0.8
    assert load_model(str(out)).num_classes == load_model(f"{good}/Format-Serving").num_classes
    judged = run_evaluator(
        world, tmp_path / "run", model=out.parent, baseline=bad, gate={"gap_threshold": 0.5}
    )
    assert judged.decision.blessed, judged.decision.reason
    pushed = ["models", "import", str(out), "--push", str(tmp_path / "push"), "--data", train]
    assert yt8m([*pushed, "--quiet", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["served"]


@pytest.mark.parametrize(("rows", "warned"), [(1, True), (100, False)])
def test_weights_that_few_rows_tell_are_warned_of(members, tmp_path, capsys, rows, warned):
    data = make_dataset(tmp_path / "data", train=rows, shards=1, sizes=SIZES, classes=12)
    words = ["--weights", "fit", "--data", str(data / "train*")]
    assert ensemble(members, tmp_path / "both", *words) == 0
    said = f"{rows} rows say little about other videos; give --data of 100 rows or more"
    assert (said in capsys.readouterr().err) == warned


def test_members_that_do_not_fit_and_wrong_weights_are_refused(members, tmp_path, capsys):
    frames = exported(tmp_path / "frames", "frame_logistic", level=Level.FRAME)
    out = tmp_path / "out"
    (tmp_path / "notes" / "1").mkdir(parents=True)
    codes = [
        ensemble(members[:1], out),
        ensemble([members[0], frames], out),
        ensemble(members, out, "--weights", "1,2,3"),
        ensemble(members, out, "--weights", "0,0"),
        ensemble(members, out, "--weights", "fit"),
        ensemble([*members, tmp_path], out),
        ensemble(members, tmp_path / "notes"),
        ensemble(members, members[1]),
    ]
    errors = capsys.readouterr().err.split("error: ")[1:]
    assert codes == [2] * 8
    expected = (
        "two members or more",
        "is of level frame",
        "2 numbers",
        "2 numbers",
        "needs labelled records",
        "is not a SavedModel",
        "notes: holds other files (1)",
        "belongs to the model",
    )
    for why, message in zip(expected, errors, strict=True):
        assert why in message
    assert not out.exists()
    assert (tmp_path / "notes" / "1").is_dir()
