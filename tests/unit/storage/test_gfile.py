"""The backend of gs://, on local paths: TensorFlow's file IO is one for both."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from yt8m.components.storage.gcs import GfileBackend


@pytest.fixture
def backend() -> GfileBackend:
    return GfileBackend()


def test_files_are_put_found_and_read_in_parts(backend: GfileBackend, tmp_path: Path) -> None:
    content = os.urandom(3 << 20)
    (tmp_path / "local").write_bytes(content)
    backend.make_dirs(str(tmp_path / "far"))
    target = str(tmp_path / "far" / "train0")
    backend.put(str(tmp_path / "local"), target)
    assert backend.stat(target).size == len(content)
    with backend.open(target) as file:
        assert file.read(5) == content[:5]
        file.seek(-4, os.SEEK_END)
        assert file.read() == content[-4:]
        file.seek(1 << 20)
        assert file.read(100) == content[1 << 20 : (1 << 20) + 100]
    assert list(backend.find(str(tmp_path / "far" / "train*"))) == [target]
    assert backend.list_dir(str(tmp_path / "far")) == ["train0"]
    assert backend.stat(str(tmp_path / "far")).is_dir


def test_trees_are_copied_renamed_and_removed(backend: GfileBackend, tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_text("1")
    backend.copy(str(tmp_path / "a" / "x"), str(tmp_path / "a" / "y"))
    backend.rename(str(tmp_path / "a" / "y"), str(tmp_path / "a" / "z"))
    assert backend.list_dir(str(tmp_path / "a")) == ["x", "z"]
    backend.remove(str(tmp_path / "a" / "z"))
    backend.remove_tree(str(tmp_path / "a"))
    assert not (tmp_path / "a").exists()


def test_what_is_missing_raises_file_not_found(backend: GfileBackend, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    for call in (backend.stat, backend.open, backend.list_dir, backend.remove):
        with pytest.raises(FileNotFoundError):
            call(missing)
