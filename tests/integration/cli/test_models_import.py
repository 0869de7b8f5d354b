"""What the starter code left says here what its own TensorFlow 1 session says."""

import shutil

import numpy as np
import pytest
import tensorflow as tf
from records import make_dataset, read_all
from sources import SIZES
from starter_models import (
    dbof,
    frame_logistic,
    logistic,
    lstm,
    moe,
    unknown,
    write_starter_model,
)
from tensorflow.core.protobuf import saved_model_pb2

from yt8m.cli.main import run
from yt8m.cli.models_import import as_export
from yt8m.components.artifacts.export_info import MEAN_FRAMES
from yt8m.components.export.load import load_export
from yt8m.schemas.errors import EXIT_USER, UserError
from yt8m.schemas.features import Level

tf1 = tf.compat.v1
CLASSES = 20
MODELS = {
    "LogisticModel": (logistic, False),
    "MoeModel": (moe, False),
    "FrameLevelLogisticModel": (frame_logistic, True),
    "DbofModel": (dbof, True),
    "LstmModel": (lstm, True),
}
SAID = {"DbofModel": {"dbof_activation": "sigmoid"}}


def write(place, name="LogisticModel", network=None, *, sizes=SIZES):
    known, frames = MODELS.get(name, (network, False))
    data = make_dataset(
        place / "data", level="frame" if frames else "video", train=5, shards=1, sizes=sizes
    )
    records = read_all(data / "train0000.tfrecord")
    model = write_starter_model(
        place / "old",
        network or known,
        records,
        name=name,
        sizes=sizes,
        classes=CLASSES,
        frames=frames,
    )
    return model, tf.constant(records)


def refusal(source, **said):
    with pytest.raises(UserError) as caught, as_export(str(source), **said):
        pass
    return str(caught.value)


@pytest.mark.parametrize("name", MODELS)
def test_a_checkpoint_gives_the_scores_of_its_own_session(name, tmp_path):
    model, records = write(tmp_path, name)
    with as_export(str(model.train_dir), said=SAID.get(name)) as place:
        export = load_export(place)
        found = export.score_records(records)
        np.testing.assert_allclose(found.scores.numpy(), model.scores, rtol=1e-4, atol=1e-6)
        assert found.ids.tolist() == model.ids
        assert export.info.features.size_by_name == SIZES
        of_means = {MEAN_FRAMES} if name == "FrameLevelLogisticModel" else set()
        of_all = {"serving_default", "scores", "features", "decisions"}
        assert set(export.loaded.signatures) == of_all | of_means


@pytest.mark.parametrize("name", MODELS)
def test_a_saved_model_gives_the_scores_of_its_own_session(name, tmp_path):
    model, records = write(tmp_path, name)
    is_frame = MODELS[name][1]
    with as_export(str(model.export)) as place:
        export = load_export(place)
        found = export.score_records(records)
        np.testing.assert_allclose(found.scores.numpy(), model.scores, rtol=1e-5)
        assert found.ids.tolist() == model.ids
        assert is_frame or export.info.features.size_by_name == SIZES
        assert export.level is (Level.FRAME if is_frame else Level.VIDEO)
        served = export.serve(examples=records)["class_ids"][:, 0].numpy()
        np.testing.assert_array_equal(served, model.scores.argmax(axis=1))


@pytest.mark.parametrize(
    "sizes", [{"rgb": 1024, "audio": 128}, {"rgb": 1024}, {"audio": 128}], ids="-".join
)
def test_without_its_flags_a_checkpoint_is_known_by_its_variables(sizes, tmp_path):
    model, records = write(tmp_path, sizes=sizes)
    (model.train_dir / "model_flags.json").unlink()
    with as_export(str(model.train_dir / "model.ckpt-17")) as place:
        export = load_export(place)
        assert export.info.features.size_by_name == sizes
        found = export.score_records(records)
        np.testing.assert_allclose(found.scores.numpy(), model.scores, rtol=1e-4, atol=1e-6)


def test_what_the_checkpoint_of_a_dbof_model_does_not_say_has_to_be_said(tmp_path):
    model, _ = write(tmp_path, "DbofModel")
    message = refusal(model.train_dir)
    assert "give --flag dbof_activation=relu6" in message


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        (("dbof_pooling_methd", "average"), "NAME one of dbof_activation, dbof_pooling_method"),
        (("dbof_pooling_method", "none"), "none: must be one of max, average"),
        (("dbof_activation", ""), "must be one of relu6, sigmoid, relu, tanh"),
        (("iterations", "many"), "iterations=many: must be a whole number, 1 or more"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_a_flag_that_says_nothing_is_refused(flag, message, tmp_path):
    (tmp_path / "model.ckpt-3.index").write_bytes(b"")  # flags are read before it is
    said = {"dbof_activation": "sigmoid", flag[0]: flag[1]}
    assert message in refusal(tmp_path, said=said)


@pytest.mark.parametrize("name", ["DbofModel", "LstmModel"])
def test_without_its_flags_a_model_of_frames_is_known_by_its_variables(name, tmp_path):
    model, _ = write(tmp_path, name, sizes={"rgb": 1024, "audio": 128})
    (model.train_dir / "model_flags.json").unlink()
    with as_export(str(model.train_dir), said=SAID.get(name)) as place:
        assert load_export(place).level is Level.FRAME


@pytest.mark.parametrize("end", ["index", "meta", "data-00000-of-00001"])
def test_each_file_of_a_checkpoint_names_it(end, tmp_path):
    model, _ = write(tmp_path)
    with as_export(str(model.train_dir / f"model.ckpt-17.{end}")) as place:
        assert load_export(place).num_classes == CLASSES


def change(model, **changes):
    """Save the variables again, each by what its change makes of it; None: not at all."""
    path = str(model.train_dir / "model.ckpt-17")
    reader = tf.train.load_checkpoint(path)
    with tf1.Graph().as_default(), tf1.Session() as session:
        for name in reader.get_variable_to_shape_map():
            value, key = reader.get_tensor(name), name.removeprefix("tower/")
            value = changes[key](value) if key in changes else value
            if value is not None:
                tf1.get_variable(name, initializer=value, use_resource=False)
        session.run(tf1.global_variables_initializer())
        tf1.train.Saver().save(session, path)


CELL = "rnn/multi_rnn_cell/cell_0/basic_lstm_cell"
UNKNOWN, UNFIT = "no checkpoint of a", "its variables do not fit together"


@pytest.mark.parametrize(
    ("name", "variable", "made", "message"),
    [
        ("DbofModel", "input_bn/gamma", None, UNKNOWN),
        ("DbofModel", "cluster_weights", lambda _: np.zeros((24, 11), np.float32), UNFIT),
        ("LstmModel", f"{CELL}/bias", None, UNKNOWN),
        ("LstmModel", f"{CELL}/kernel", lambda _: np.zeros((29, 7), np.float32), UNKNOWN),
        ("MoeModel", "gates/weights", lambda _: np.zeros(80, np.float32), UNKNOWN),
        ("MoeModel", "experts/weights", lambda value: value[:-1], UNFIT),
        ("LogisticModel", "fully_connected/biases", lambda value: value * np.nan, "diverged"),
    ],
)
def test_variables_that_are_missing_or_do_not_fit_are_refused(
    name, variable, made, message, tmp_path
):
    model, _ = write(tmp_path, name)
    change(model, **{variable: made or (lambda _: None)})
    assert message in refusal(model.train_dir, said=SAID.get(name))


def test_other_models_are_left_as_they_are(tmp_path):
    with as_export(str(tmp_path)) as place:
        assert place == str(tmp_path)


def test_a_checkpoint_of_another_model_is_refused_by_what_it_holds(tmp_path):
    model, _ = write(tmp_path, "DeepModel", unknown)
    message = refusal(model.train_dir)
    assert "LogisticModel, MoeModel, FrameLevelLogisticModel, DbofModel and LstmModel" in message
    assert "hidden1/weights [24, 4]" in message
    assert "Adam" not in message


@pytest.mark.parametrize("call", [tf.py_function, tf.numpy_function])
def test_a_model_that_calls_python_is_refused_and_says_why(call, tmp_path, capsys):
    class Model(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
        def score(self, examples):
            scores = call(lambda rows: np.zeros((len(rows), 3), np.float32), [examples], tf.float32)
            return {"scores": tf.ensure_shape(scores, [None, 3]), "video_id": examples}

    model = Model()
    signatures = {"scores": model.score, "serving_default": model.score}
    tf.saved_model.save(model, str(tmp_path / "model"), signatures=signatures)
    words = ["models", "import", str(tmp_path / "model"), "--push", str(tmp_path / "push")]
    assert run([*words, "--level", "video"]) == EXIT_USER
    said = capsys.readouterr().err
    assert f"{tmp_path / 'model'} calls Python" in said
    assert not (tmp_path / "push").exists()


@pytest.mark.parametrize("name", ["../../outside.txt", "/etc/hostname", "a/../../b"])
def test_an_asset_outside_of_its_model_is_refused_before_it_is_read(name, tmp_path, capsys):
    saved = saved_model_pb2.SavedModel()
    saved.meta_graphs.add().asset_file_def.add().filename = name
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "saved_model.pb").write_bytes(saved.SerializeToString())
    words = ["models", "import", str(tmp_path / "model"), "--push", str(tmp_path / "push")]
    assert run([*words, "--level", "video"]) == EXIT_USER
    assert f"its asset {name} is outside of its directory" in capsys.readouterr().err
    assert not (tmp_path / "push").exists()


def test_flags_that_do_not_fit_and_damage_are_refused(tmp_path):
    model, _ = write(tmp_path)
    place, flags = model.train_dir, model.train_dir / "model_flags.json"
    assert "trained on video-level records" in refusal(place, level=Level.FRAME)
    flags.write_text(flags.read_text().replace("16, 8", "16, 9"))
    assert "takes 24 numbers a video" in refusal(place)
    flags.write_text("{}")
    assert "not what the starter code writes there" in refusal(place)
    flags.unlink()
    assert "rgb and audio have 1024 and 128" in refusal(place)
    index = place / "model.ckpt-17.index"
    index.write_bytes(index.read_bytes()[:40])
    assert "is damaged" in refusal(place)
    shutil.rmtree(model.export / "variables")
    assert "is damaged" in refusal(model.export)


def test_a_registry_that_cannot_be_written_is_refused_before_the_scoring(
    tmp_path, monkeypatch, capsys
):
    model, _ = write(tmp_path)
    (tmp_path / "push").mkdir()
    scored = []
    monkeypatch.setattr("yt8m.cli.models_import._score", lambda *_: scored.append("a model"))
    monkeypatch.setattr("yt8m.components.storage.unwritable", lambda _: "cannot be written (why)")
    words = ["models", "import", str(model.export), "--push", str(tmp_path / "push")]
    assert run([*words, "--data", str(tmp_path / "data" / "train*")]) == EXIT_USER
    assert f"{tmp_path / 'push'}: cannot be written (why)" in capsys.readouterr().err
    assert not scored
