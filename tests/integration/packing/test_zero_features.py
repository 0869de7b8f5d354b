"""Features of zeros beside one's own, so that a model of more features can be used."""

import numpy as np
import pytest
from batches import MODELS, create_network
from records import read_all

from yt8m.cli.main import run as yt8m
from yt8m.components.export.load import load_export
from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.models.heads import create_heads
from yt8m.components.records.decode import decode_record
from yt8m.schemas.features import DEQUANTISE_BIAS, DEQUANTISE_SCALE, FeatureConfig, Level

FEATURES = FeatureConfig(sizes=(16, 8), num_classes=12)  # rgb and audio


def packed(place, level, values, *words):
    np.savez(place / "rgb.npz", rgb=values)
    out = ["--out", str(place / "records"), "--split", "test", *words]
    source = ["--level", level, "--input", str(place / "rgb.npz")]
    code = yt8m(["data", "pack", "--quiet", *source, *out])
    return code, place / "records" / "test0000.tfrecord"


def test_vectors_are_zeros_and_a_model_of_rgb_and_audio_scores_them(tmp_path):
    rgb = np.random.default_rng(0).normal(size=(5, 16)).astype(np.float32)
    code, path = packed(tmp_path, "video", rgb, "--zero", "audio=8")
    assert code == 0
    records = read_all(path)
    assert (np.array([decode_record(r).features["mean_audio"] for r in records]) == 0).all()
    heads = create_heads((), features=FEATURES, level=Level.VIDEO)
    network = create_network(
        MODELS["logistic"], features=FEATURES, level=Level.VIDEO, heads=heads, seed=1
    )
    spec = ExportSpec(level=Level.VIDEO, features=FEATURES)
    export_model(network, str(tmp_path / "export"), spec)
    scores = load_export(str(tmp_path / "export")).score(examples=records)["scores"].numpy()
    # What the network's rgb part alone says of rgb at length 1.
    kernel, bias = (weight.numpy() for weight in network.weights)
    unit = rgb / np.linalg.norm(rgb, axis=1, keepdims=True)
    expected = 1 / (1 + np.exp(-(unit @ kernel[:16] + bias)))
    np.testing.assert_allclose(scores, expected, rtol=1e-4)


def test_frames_are_the_byte_that_stands_for_about_zero(tmp_path):
    frames = np.full((3, 7, 16), 9, np.uint8)
    code, path = packed(tmp_path, "frame", frames, "--zero", "audio=8", "--zero", "flow=2")
    assert code == 0
    for record in map(decode_record, read_all(path)):
        lists = record.feature_lists
        assert (lists["rgb"] == 9).all()
        for name, size in (("audio", 8), ("flow", 2)):
            assert lists[name].shape == (7, size)
            assert np.abs(lists[name] * DEQUANTISE_SCALE + DEQUANTISE_BIAS).max() < 0.01


@pytest.mark.parametrize(
    ("value", "why"),
    [("audio", "write it as NAME=SIZE"), ("audio=0", "NAME=SIZE"), ("rgb=3", "of this name")],
)
def test_what_cannot_be_added_is_refused(tmp_path, capsys, value, why):
    assert packed(tmp_path, "video", np.ones((2, 16), np.float32), "--zero", value)[0] == 2
    assert why in capsys.readouterr().err
