"""`yt8m models ...`, on a registry of real directories and with real SavedModels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from exported_models import SIZES, LinearModel, write_model
from records import make_dataset
from registry_models import push_fake

from yt8m.cli.main import run as yt8m
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


@pytest.mark.parametrize("command", ["list", "verify", "prune", "show"])
def test_a_registry_that_is_not_there_is_no_empty_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    words = [command, *(["1"] if command == "show" else []), "--push", tmp_path / "nowhere"]
    assert "nowhere: no such directory, so no registry" in refused(capsys, *words)


def test_list_names_the_baseline_and_what_is_damaged(
    tmp_path: Path, registry: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    registry.mkdir(exist_ok=True)
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
    assert "blessed, served" in text
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


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("data") / "data"
    make_dataset(out, level="video", train=10, eval=40, classes=CLASSES, sizes=SIZES)
    return f"{out}/validate*.tfrecord"


def test_an_imported_model_is_scored_and_serves_as_before(
    saved_model: Path, registry: Path, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    imported = said(capsys, "import", saved_model, "--push", registry, "--data", data)
    assert (imported["version"], imported["served"]) == (1, True)
    record = load_record(str(registry), 1)
    assert record.blessed
    assert record.metrics["gap"].value == imported["metrics"]["gap"]
    assert "on 40 videos of" in record.reason
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
    card = (registry / "1" / "README.md").read_text()
    assert "classes of video-level YouTube-8M records" in card
    assert f"It knows {CLASSES} classes" in card
    info = json.loads((registry / "1" / "assets.extra" / "yt8m_export.json").read_text())
    assert (info["level"], info["heads"]) == ("video", {"entities": CLASSES})
    assert not (saved_model / "assets.extra").exists()  # the source stays as it was


def test_an_import_without_records_is_a_baseline_that_is_not_served(
    tmp_path: Path, saved_model: Path, registry: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    imported = said(capsys, "import", saved_model, "--push", registry, "--level", "video")
    assert (imported["version"], imported["served"]) == (1, False)
    assert {p.name for p in registry.iterdir()} == {".baselines", ".lock"}
    listed = said(capsys, "list", "--push", registry)
    assert (listed["baseline"], listed["versions"][0]["served"]) == (1, False)
    assert said(capsys, "show", 1, "--push", registry)["origin"] == "import"
    assert "was never scored" in refused(capsys, "rollback", 1, "--push", registry)
    push_fake(tmp_path, registry)
    assert said(capsys, "list", "--push", registry)["baseline"] == 2


def test_a_model_that_gives_nan_is_not_taken_in(
    tmp_path: Path, registry: Path, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = np.ones((25, CLASSES), np.float32)
    model = write_model(tmp_path / "nan", weights, broken_from=0.0)
    assert "cannot be evaluated" in refused(
        capsys, "import", model, "--push", registry, "--data", data
    )
    assert not registry.exists()


@pytest.mark.parametrize("given", [(), ("--data",)])
def test_a_model_that_no_server_could_call_is_not_taken_in(
    tmp_path: Path,
    registry: Path,
    data: str,
    given: tuple[str, ...],
    capsys: pytest.CaptureFixture[str],
) -> None:
    weights = np.ones((25, CLASSES), np.float32)
    model = write_model(tmp_path / "m", weights, signatures=("scores",))
    how = (*given, data) if given else ("--level", "video")
    message = refused(capsys, "import", model, "--push", registry, *how)
    assert "no signature `serving_default`" in message
    assert not registry.exists()


def test_a_foreign_registry_is_taken_over_without_losing_a_byte(
    tmp_path: Path, registry: Path, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    weights = np.ones((25, CLASSES), np.float32)
    for number in (1, 2, 1_700_000_000):
        write_model(registry / str(number), weights * number)
    before = {p: p.read_bytes() for p in registry.rglob("*") if p.is_file()}

    imported = said(capsys, "import", registry / "2", "--push", registry, "--data", data)

    assert imported["version"] == 1_700_000_001
    for _ in range(3):
        push_fake(tmp_path, registry, keep=2)
    assert {p: p.read_bytes() for p in before} == before
    states = {
        v["version"]: v["state"] for v in said(capsys, "list", "--push", registry)["versions"]
    }
    assert [states[n] for n in (1, 2, 1_700_000_000)] == ["foreign"] * 3
    assert said(capsys, "prune", "--push", registry, "--yes")["damaged"] == []
    verified = said(capsys, "verify", "--push", registry)["versions"]
    assert {v["state"] for v in verified} == {"foreign", "verified"}


def test_prune_says_what_would_go_and_removes_it_when_told(
    tmp_path: Path, registry: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        push_fake(tmp_path, registry)
    (registry / "1" / "saved_model.pb").write_bytes(b"MODEL")  # as many bytes
    told = said(capsys, "prune", "--push", registry)
    assert (told["damaged"], told["removed"]) == ([1], False)
    assert (registry / "1").is_dir()
    done = said(capsys, "prune", "--push", registry, "--yes")
    assert (done["damaged"], done["removed"]) == ([1], True)
    assert not (registry / "1").exists()
    assert said(capsys, "prune", "--push", registry)["damaged"] == []


def test_verify_compares_every_part_with_the_record(
    tmp_path: Path, registry: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(4):
        push_fake(tmp_path, registry)
    assert {v["state"] for v in said(capsys, "verify", "--push", registry)["versions"]} == {
        "verified"
    }
    (registry / "1" / "saved_model.pb").write_bytes(b"MODEL")
    (registry / "2" / "assets.extra" / "more").write_text("?")
    record = registry / "3" / "assets.extra" / "yt8m_record.json"
    record.write_text(record.read_text().replace("0.5", "0.9"))
    assert yt8m(["models", "verify", "--push", str(registry), "--json"]) == EXIT_USER
    found = {v["version"]: v["problems"] for v in json.loads(capsys.readouterr().out)["versions"]}
    assert "wrong SHA-256" in found[1][0]
    assert found[2] == ["assets.extra/more was not pushed"]
    assert "wrong checksum" in found[3][0]
    assert found[4] == []
    assert said(capsys, "verify", 4, "--push", registry)["versions"][0]["state"] == "verified"


def test_an_import_says_what_is_missing(
    tmp_path: Path, saved_model: Path, registry: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "--level" in refused(capsys, "import", saved_model, "--push", registry)
    assert "holds no saved_model.pb" in refused(capsys, "import", tmp_path, "--push", registry)
    nowhere = tmp_path / "nowhere"
    assert f"{nowhere}: no such file" in refused(capsys, "import", nowhere, "--push", registry)

    module = LinearModel(np.ones((25, CLASSES), np.float32), frames=False)
    tf.saved_model.save(module, str(tmp_path / "b"), signatures={"serving_default": module.scores})
    message = refused(capsys, "import", tmp_path / "b", "--push", registry, "--level", "video")
    assert "no signature `scores`" in message
    assert "it has: serving_default" in message

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
    assert "takes examples and gives predictions" in message
    assert "returns `scores` [rows, classes] and `video_id` [rows]" in message
