"""`yt8m models ...`, on a registry of real directories and with real SavedModels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from exported_models import LinearModel, write_model
from registry_models import push_fake

from yt8m.components.console.main import run as yt8m
from yt8m.components.registry.versions import load_record
from yt8m.schemas.errors import EXIT_DONE, EXIT_USER

CLASSES = 7


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    return tmp_path / "push"


@pytest.fixture
def saved_model(tmp_path: Path) -> Path:
    return write_model(tmp_path / "model", np.ones((25, CLASSES), np.float32))


def said(capsys: pytest.CaptureFixture[str], *words: object) -> Any:
    """What `yt8m models WORDS --json` prints."""
    assert yt8m(["models", *map(str, words), "--json"]) == EXIT_DONE
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    """The message of `yt8m models WORDS`, a user's mistake."""
    assert yt8m(["models", *map(str, words)]) == EXIT_USER
    return capsys.readouterr().err


def test_list_names_the_baseline_and_what_is_damaged(
    tmp_path: Path, registry: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said(capsys, "list", "--push", registry)["versions"] == []
    for _ in range(3):
        push_fake(tmp_path, registry)
    (registry / "3" / "saved_model.pb").unlink()

    found = said(capsys, "list", "--push", registry)

    assert [(v["version"], v["state"]) for v in found["versions"]] == [
        (3, "damaged"),
        (2, "blessed"),
        (1, "blessed"),
    ]
    assert found["baseline"] == 2
    assert found["versions"][1]["gap"] == 0.5
    assert yt8m(["models", "list", "--push", str(registry)]) == EXIT_DONE
    text = capsys.readouterr().out
    assert "damaged, served" in text
    assert "0.4900 to 0.5100" in text


def test_show_verifies_contents(
    tmp_path: Path, registry: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    push_fake(tmp_path, registry, run_key="abc")
    shown = said(capsys, "show", 1, "--push", registry)
    assert shown["run_key"] == "abc"
    assert shown["data"]["spans"] == [1]
    assert yt8m(["models", "show", "1", "--push", str(registry)]) == EXIT_DONE
    assert "gap        0.5000 [0.4900, 0.5100]" in capsys.readouterr().out

    assert "there are: 1" in refused(capsys, "show", 4, "--push", registry)
    (registry / "1" / "saved_model.pb").write_bytes(b"MODEL")  # as many bytes
    assert "saved_model.pb is not what was pushed" in refused(capsys, "show", 1, "--push", registry)


def test_rollback_makes_a_new_version(
    tmp_path: Path, registry: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        push_fake(tmp_path, registry)
    assert said(capsys, "rollback", 1, "--push", registry)["version"] == 3
    assert said(capsys, "list", "--push", registry)["versions"][0]["origin_version"] == 1
    assert "there are: 1, 2, 3" in refused(capsys, "rollback", 9, "--push", registry)


def test_an_imported_model_loads_and_scores_as_before(
    saved_model: Path, registry: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imported = said(capsys, "import", saved_model, "--push", registry, "--level", "video")
    assert imported["version"] == 1
    record = load_record(str(registry), 1)
    assert record.blessed
    assert record.origin_path == str(saved_model)
    example = tf.train.Example()
    example.features.feature["id"].bytes_list.value.append(b"abcd")
    example.features.feature["mean_rgb"].float_list.value.extend([0.1] * 16)
    example.features.feature["mean_audio"].float_list.value.extend([0.2] * 8)
    record_ = tf.constant([example.SerializeToString()])
    before, after = (
        tf.saved_model.load(str(path)).signatures["scores"](examples=record_)["scores"].numpy()
        for path in (saved_model, registry / "1")
    )
    np.testing.assert_array_equal(before, after)
    assert said(capsys, "list", "--push", registry)["baseline"] == 1
    info = json.loads((registry / "1" / "assets.extra" / "yt8m_export.json").read_text())
    assert (info["level"], info["heads"]) == ("video", {"entities": CLASSES})
    assert not (saved_model / "assets.extra").exists()  # the source stays as it was


def test_an_import_says_what_is_missing(
    tmp_path: Path, saved_model: Path, registry: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "--level" in refused(capsys, "import", saved_model, "--push", registry)
    assert "holds no saved_model.pb" in refused(capsys, "import", tmp_path, "--push", registry)

    module = LinearModel(np.ones((25, CLASSES), np.float32), frames=False)
    tf.saved_model.save(module, str(tmp_path / "b"), signatures={"serving_default": module.scores})
    message = refused(capsys, "import", tmp_path / "b", "--push", registry, "--level", "video")
    assert "lacks the signature `scores`" in message
    assert "it offers: serving_default" in message

    (saved_model / "variables" / "variables.index").write_bytes(b"broken")
    message = refused(capsys, "import", saved_model, "--push", registry, "--level", "video")
    assert "cannot be loaded" in message
    assert not registry.exists()


def test_scores_of_another_form_are_refused(
    tmp_path: Path, registry: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class TopK(tf.Module):
        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
        def scores(self, examples: tf.Tensor) -> dict[str, tf.Tensor]:
            return {"predictions": tf.strings.length(examples)}

    model = TopK()
    tf.saved_model.save(model, str(tmp_path / "k"), signatures={"scores": model.scores})
    message = refused(capsys, "import", tmp_path / "k", "--push", registry, "--level", "video")
    assert "does not give `scores` [records, classes] numbers, `video_id`" in message
