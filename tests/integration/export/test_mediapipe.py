"""MediaPipe's YouTube-8M graph finds the ends that it feeds, and the scores that records give."""

import json
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from batches import CLASSES, FEATURES, make_batch, make_network

from yt8m.cli.main import run as yt8m
from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.preprocessing.arithmetic import dequantize
from yt8m.schemas.features import Level

MODELS = ("frame_logistic", pytest.param("lstm", marks=pytest.mark.slow))


def written(place, name, level=Level.SEGMENT):
    network = make_network(name, level, seed=3)
    spec = ExportSpec(level=level, features=FEATURES)
    export_model(network, str(place / "export"), spec)
    words = ["export", "--model", str(place / "export"), "--format", "mediapipe"]
    return network, [*words, "--out", str(place / "sub" / "out"), "--quiet", "--json"]


@pytest.mark.parametrize("name", MODELS)
def test_its_signature_has_mediapipes_names_and_shapes_and_our_scores(name, tmp_path, capsys):
    network, words = written(tmp_path, name)
    assert yt8m(words) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["inputs"] == {"rgb_and_audio": [None, None, 24], "num_frames": [None, 1]}
    assert said["outputs"] == {"predictions": [None, CLASSES]}
    # As MediaPipe opens it: by TensorFlow 1's loader and the names in the signature's definition.
    batch = make_batch(Level.SEGMENT, frames=5)
    frames = tf.concat([dequantize(batch["rgb"]), dequantize(batch["audio"])], axis=-1).numpy()
    counts = batch["num_frames"].numpy()[:, None]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        loaded = tf.compat.v1.saved_model.load(session, ["serve"], str(tmp_path / "sub" / "out"))
        signature = loaded.signature_def["serving_default"]
        assert set(signature.inputs) == {"rgb_and_audio", "num_frames"}
        assert set(signature.outputs) == {"predictions"}
        ends = {key: info.name for key, info in signature.inputs.items()}
        output = signature.outputs["predictions"].name
        found = session.run(output, {ends["rgb_and_audio"]: frames, ends["num_frames"]: counts})
        whole = frames[counts[:, 0] == 5][:1].repeat(3, axis=0)
        one = session.run(output, {ends["rgb_and_audio"]: whole, ends["num_frames"]: [[5]]})
        for wrong in ([[5], [5]], [[5]] * 4, np.zeros([0, 1], np.int32)):
            with pytest.raises(tf.errors.InvalidArgumentError, match="one number for each row"):
                session.run(output, {ends["rgb_and_audio"]: whole, ends["num_frames"]: wrong})
        with pytest.raises(tf.errors.InvalidArgumentError, match="from 0 to the number of frames"):
            session.run(output, {ends["rgb_and_audio"]: whole, ends["num_frames"]: [[6]]})
    expected = network(batch)[network.heads[0].name].numpy()
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=1e-7)
    assert one.shape == (3, CLASSES)
    np.testing.assert_allclose(one[0], one[2], rtol=1e-5)


def test_tensorflow_does_not_warn_of_the_functions_that_freeze_a_model(tmp_path):
    _, words = written(tmp_path, "frame_logistic")
    done = subprocess.run(
        [sys.executable, "-m", "yt8m", *words], capture_output=True, text=True, check=False
    )
    # Where another test has set TensorFlow's level of logging, its libraries say more.
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr


def test_a_model_of_video_vectors_and_what_is_no_export_are_refused(tmp_path, capsys):
    _, words = written(tmp_path, "logistic", Level.VIDEO)
    assert yt8m(words) == 2
    assert "takes a model of level segment or frame" in capsys.readouterr().err
    words[2] = str(tmp_path)
    assert yt8m(words) == 2
    assert "not a SavedModel" in capsys.readouterr().err
    assert not (tmp_path / "sub").exists()


def test_a_directory_of_other_files_and_the_model_itself_are_not_replaced(tmp_path, capsys):
    _, words = written(tmp_path, "frame_logistic")
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a").write_text("precious")
    for out, why in (("notes", "holds other files (a)"), ("export", "belongs to the model")):
        assert yt8m([*words, "--out", str(tmp_path / out)]) == 2
        assert why in capsys.readouterr().err
    assert (tmp_path / "notes" / "a").read_text() == "precious"
