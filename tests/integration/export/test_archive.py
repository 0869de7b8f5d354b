"""A model in one .tgz file: the same bytes each time, and whatever takes a model takes it."""

import io
import json
import shutil
import tarfile

import numpy as np
import pytest
from batches import MODELS, create_network
from records import make_dataset
from sources import FEATURES, SIZES

from yt8m.cli.main import run as yt8m
from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.models.heads import create_heads
from yt8m.components.registry.archive import pack_model, unpack_model
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import Level


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    heads = create_heads((), features=FEATURES, level=Level.VIDEO)
    network = create_network(
        MODELS["logistic"], features=FEATURES, level=Level.VIDEO, heads=heads, seed=1
    )
    place = tmp_path_factory.mktemp("model") / "export"
    export_model(network, str(place), ExportSpec(level=Level.VIDEO, features=FEATURES))
    return place


def test_a_packed_model_says_the_same_and_has_the_same_bytes(model, tmp_path, capsys):
    data = make_dataset(tmp_path / "data", sizes=SIZES)
    for name in ("one.tgz", "two.tar.gz"):
        words = ["--model", str(model), "--format", "tgz", "--out", str(tmp_path / name)]
        assert yt8m(["export", "--json", *words]) == 0
        assert json.loads(capsys.readouterr().out)["bytes"] == (tmp_path / name).stat().st_size
    assert (tmp_path / "one.tgz").read_bytes() == (tmp_path / "two.tar.gz").read_bytes()
    found = {}
    for source in (model, tmp_path / "one.tgz"):
        out = tmp_path / f"{source.name}.csv"
        words = ["--data", str(data / "validate*"), "--out", str(out), "--format", "video"]
        assert yt8m(["predict", "--quiet", "--model", str(source), *words]) == 0
        found[source.name] = out.read_bytes()
    assert found["export"] == found["one.tgz"]


def test_a_folder_around_the_model_is_passed_over_and_a_registry_takes_archives(
    model, tmp_path, capsys
):
    shutil.copytree(model, tmp_path / "outer" / "model_of_2019")
    pack_model(str(tmp_path / "outer"), str(tmp_path / "outer.tgz"))
    words = ["--push", str(tmp_path / "models"), "--level", "video"]
    assert yt8m(["models", "import", str(tmp_path / "outer.tgz"), *words]) == 0
    assert "version 1" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["../outside", "/tmp/outside", "link"])
def test_what_would_be_written_elsewhere_is_refused(model, tmp_path, capsys, name):
    with tarfile.open(tmp_path / "bad.tgz", "w:gz") as archive:
        entry = tarfile.TarInfo(name)
        if name == "link":
            entry.type, entry.linkname = tarfile.SYMTYPE, "/etc"
        archive.addfile(entry, io.BytesIO())
    assert yt8m(["evaluate", "--model", str(tmp_path / "bad.tgz"), "--data", "*"]) == 2
    assert f"{name} is not a file of the model" in capsys.readouterr().err


def test_an_archive_is_not_written_into_its_model_nor_over_what_is_read(model, tmp_path, capsys):
    before = sorted(model.rglob("*"))
    pack_model(str(model), str(tmp_path / "one.tgz"))
    (tmp_path / "folder.tgz").mkdir()
    for source, out, why in (
        (model, model / "model.tgz", "belongs to the model"),
        (model, model / "assets" / "model.tgz", "belongs to the model"),
        (model, tmp_path / "folder.tgz", "is a directory, not a file"),
        (tmp_path / "one.tgz", tmp_path / "one.tgz", "the command reads this file"),
    ):
        words = ["--model", str(source), "--format", "tgz", "--out", str(out)]
        assert yt8m(["export", *words]) == 2
        assert why in capsys.readouterr().err
    assert sorted(model.rglob("*")) == before


@pytest.mark.parametrize("at", [-8, 0.5])
def test_a_damaged_archive_is_refused_by_its_checksum(tmp_path, at):
    """Of the checksum itself, and of a byte that is stored as it is."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "weights").write_bytes(np.random.default_rng(0).bytes(50_000))
    packed = tmp_path / "model.tgz"
    pack_model(str(tmp_path / "model"), str(packed))
    data = bytearray(packed.read_bytes())
    data[at if at < 0 else int(at * len(data))] ^= 1
    packed.write_bytes(data)
    with pytest.raises(DataError, match=r"model\.tgz: not a readable \.tgz archive"):
        unpack_model(str(packed))


def test_what_is_no_archive_is_named(tmp_path, capsys):
    (tmp_path / "torn.tgz").write_bytes(b"no archive")
    for name, why in (("torn.tgz", "not a readable .tgz archive"), ("none.tgz", "no such file")):
        assert yt8m(["evaluate", "--model", str(tmp_path / name), "--data", "*"]) == 2
        assert why in capsys.readouterr().err


@pytest.mark.parametrize("command", ["evaluate", "models import", "ensemble"])
@pytest.mark.parametrize(("name", "content"), [("readme.txt", b"?"), ("saved_model.pb", b"junk")])
def test_what_is_wrong_with_the_content_names_the_archive(tmp_path, capsys, command, name, content):
    """Not the directory that it was unpacked to, which nobody knows and which is gone."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / name).write_bytes(content)
    packed = str(tmp_path / "packed.tgz")
    pack_model(str(tmp_path / "model"), packed)
    words = {
        "evaluate": ["--model", packed, "--data", str(make_dataset(tmp_path / "data"))],
        "models import": [packed, "--push", str(tmp_path / "models"), "--level", "video"],
        "ensemble": ["--models", packed, packed, "--out", str(tmp_path / "out")],
    }
    assert yt8m([*command.split(), *words[command]]) == 2
    said = capsys.readouterr().err.replace("\n", " ")
    assert f"the model {packed}" in said
    assert "yt8m-model-" not in said
