"""A model is trained on records packed from arrays, with feature names and sizes of their own."""

import json

import numpy as np

from yt8m.cli.main import run as yt8m
from yt8m.components.export.load import load_export

LOOK, SOUND, CLASSES = 24, 6, 5


def write_split(path, rows, seed):
    """Videos whose features show their label."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, rows)
    looks = np.random.default_rng(0).normal(size=(CLASSES, LOOK))
    sounds = np.random.default_rng(1).normal(size=(CLASSES, SOUND))
    np.savez(
        path,
        id=np.array([f"own{seed}-{number}" for number in range(rows)]),
        labels=labels[:, None],
        look=(looks[labels] + rng.normal(size=(rows, LOOK))).astype(np.float32),
        sound=(sounds[labels] + rng.normal(size=(rows, SOUND))).astype(np.float32),
    )
    return path


def test_a_model_trains_on_packed_records_with_their_own_features(tmp_path, capsys):
    data = tmp_path / "data"
    for split, rows, seed in (("train", 600, 1), ("validate", 200, 2)):
        source = write_split(tmp_path / f"{split}.npz", rows, seed)
        where = ["--input", str(source), "--out", str(data), "--split", split, "--shards", "2"]
        assert yt8m(["data", "pack", "--quiet", "--json", "--level", "video", *where]) == 0
    features = json.loads(capsys.readouterr().out.split("}\n{")[0] + "}")["features"]
    assert features == {"names": ["look", "sound"], "sizes": [LOOK, SOUND], "num_classes": CLASSES}
    settings = [f"features.{name}={json.dumps(value)}" for name, value in features.items()]
    words = [word for setting in settings for word in ("--set", setting)]
    out = tmp_path / "trained"
    where = ["--data", str(data), "--out", str(out), "--set", "trainer.max_steps=60"]
    assert yt8m(["train", "smoke", "--quiet", *where, *words]) == 0
    model = load_export(str(out / "export"))
    assert model.info.features.size_by_name == {"look": LOOK, "sound": SOUND}
    capsys.readouterr()
    scored = ["--model", str(out / "export"), "--data", str(data / "validate*"), "--json"]
    assert yt8m(["evaluate", "--quiet", *scored]) == 0
    assert json.loads(capsys.readouterr().out)["hit_at_1"] > 0.8
