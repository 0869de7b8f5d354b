"""A storage scheme is a backend and a row in the table: a third one, in memory, is taken in so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from docs_blocks import ROOT
from memory_store import MemoryBackend, memory_store
from own_sources import own_sources
from registry_models import blessed_record, fake_model

from yt8m.cli.main import run
from yt8m.components import storage
from yt8m.components.registry.push import push, rollback
from yt8m.components.registry.versions import list_versions, newest
from yt8m.components.storage import objects
from yt8m.components.storage.cache import CacheDirectory, ReadCache
from yt8m.components.storage.schemes import BACKENDS, REMOTE
from yt8m.schemas.errors import UserError

# Lists of other programs' schemes: what KServe fetches, where Kubeflow's launcher writes, where
# Dataflow keeps its files, and where TensorFlow writes checkpoints by itself.
OF_OTHER_PROGRAMS = {
    "components/registry/kserve.py",
    "kubeflow/container/launcher.py",
    "kubeflow/spec/lint.py",
    "kubeflow/server/runs.py",
    "pipeline/beam.py",
    "components/trainer/backends/kubernetes.py",
}


@pytest.fixture
def store() -> Iterator[MemoryBackend]:
    with memory_store() as store:
        yield store


@pytest.mark.usefixtures("store")
def test_files_are_written_listed_found_walked_and_removed() -> None:
    for name in ("a.b", "a/b", "a/c/d", "train0"):
        storage.write_text(f"mem://bucket/{name}", name)
    assert storage.list_dir("mem://bucket") == ["a", "a.b", "train0"]
    assert list(storage.walk_files("mem://bucket")) == ["a/b", "a/c/d", "a.b", "train0"]
    assert storage.glob("mem://bucket/train*") == ["mem://bucket/train0"]
    assert storage.read_range("mem://bucket/train0", 1, 4) == b"rai"
    storage.remove_tree("mem://bucket/a")
    storage.remove_tree("mem://bucket/a")
    assert not storage.exists("mem://bucket/a")
    with pytest.raises(FileNotFoundError):
        list(storage.walk_files("mem://bucket/a"))


@pytest.mark.usefixtures("store")
def test_a_star_passes_over_hidden_names_as_it_does_in_a_directory(tmp_path: Path) -> None:
    places = ("mem://bucket/data", str(tmp_path / "data"))
    for place in places:
        for name in ("a.x", "._a.x", ".b/a.x", "c/a.x", "c/.x", "d.x"):
            storage.write_text(f"{place}/{name}", "")
    for pattern in ("*.x", "*/*.x", ".*", ".?*.x", "[.a]*", "?[!b].x", "c/a.x", "[!a]*/?.x"):
        found = [
            [path.removeprefix(place) for path in storage.glob(f"{place}/{pattern}")]
            for place in places
        ]
        assert found[0] == found[1], pattern


@pytest.mark.usefixtures("store")
def test_a_place_says_what_it_can_do(tmp_path: Path) -> None:
    assert storage.local_path("mem://bucket/a") is None
    assert storage.local_path(f"file://{tmp_path}/a") == tmp_path / "a"
    assert storage.absolute("mem://bucket/a") == "mem://bucket/a"
    assert storage.absolute("a") == str(Path.cwd() / "a")
    with pytest.raises(UserError, match="mem:// names no bucket"):
        storage.absolute("mem://")
    assert storage.free_bytes("mem://bucket") is None
    assert storage.free_bytes(str(tmp_path / "missing")) is None
    assert (storage.free_bytes(str(tmp_path)) or 0) > 0
    assert storage.unwritable("mem://bucket/a") == ""
    (tmp_path / "file").touch()
    assert storage.unwritable(str(tmp_path / "file")) == "is a file, not a directory"
    with pytest.raises(UserError, match="mem://bucket/a: cannot be linked"):
        storage.link("mem://bucket/a", str(tmp_path / "link"))


def test_a_file_that_grows_is_sent_again_now_and_then_and_when_it_is_closed(
    store: MemoryBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage.write_text("mem://bucket/curve", "1\n")
    monkeypatch.setattr(objects, "_APPENDED_S", 3600.0)
    with storage.append("mem://bucket/curve") as file:
        for row in range(2, 5):
            file.write(f"{row}\n".encode())
            file.flush()
        assert storage.read_text("mem://bucket/curve") == "1\n2\n"
    assert storage.read_text("mem://bucket/curve") == "1\n2\n3\n4\n"
    assert [operation for operation, _ in store.requests].count("put") == 3


@pytest.mark.parametrize("place", ["mem://bucket/model", "model"])
@pytest.mark.usefixtures("store")
def test_a_library_writes_a_tree_here_and_it_becomes_what_was_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    storage.write_text(f"{place}/old", "old")
    with storage.atomic_tree(place, last="first") as tree:
        for name in ("first", "below/second"):
            (Path(tree) / name).parent.mkdir(parents=True, exist_ok=True)
            (Path(tree) / name).write_text(name)
        assert storage.exists(f"{place}/old")
    assert list(storage.walk_files(place)) == ["below/second", "first"]
    with pytest.raises(RuntimeError), storage.atomic_tree(place):
        raise RuntimeError
    assert list(storage.walk_files(place)) == ["below/second", "first"]
    assert {path.name for path in tmp_path.iterdir()} <= {"model"}


@pytest.mark.usefixtures("store")
def test_models_are_pushed_listed_and_rolled_back(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("one", "two"):
        push(fake_model(tmp_path / name), "mem://bucket/push", blessed_record())
    first, second = list_versions("mem://bucket/push")
    rollback("mem://bucket/push", first)
    found = newest("mem://bucket/push", verify=True)
    assert found is not None
    assert found.record.origin_version == first
    assert run(["models", "list", "--push", "mem://bucket/push"]) == 0
    assert str(second) in capsys.readouterr().out


@pytest.mark.usefixtures("store")
def test_readers_that_know_paths_alone_have_a_copy(tmp_path: Path) -> None:
    storage.write_text("mem://bucket/train0", "records")
    path = ReadCache(CacheDirectory(tmp_path)).path("mem://bucket/train0")
    assert Path(path).read_text() == "records"


def test_no_other_module_knows_a_scheme() -> None:
    modules = [
        source for source in own_sources() if source.path.parent != ROOT / "components" / "storage"
    ]
    knowing = set()
    for source in modules:
        texts = {text for _, text, is_statement in source.literals if not is_statement}
        if any(scheme in text for text in texts for scheme in (*REMOTE, "file://")):
            knowing.add(source.name)
    assert knowing - OF_OTHER_PROGRAMS == set()
    assert knowing == OF_OTHER_PROGRAMS


def test_the_table_has_this_machine_and_object_stores() -> None:
    assert set(BACKENDS) == {"", "gs", "s3"}
