"""The directory of files that can be made again: one budget, and a disk that others use too."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from memory_store import memory_store

from yt8m.components import storage
from yt8m.components.storage.cache import CacheDirectory, ReadCache
from yt8m.components.storage.lock import is_held

OLD = time.time() - 10_000


def put(directory: Path, **sizes: int) -> None:
    """Files of these sizes, the first used longest ago, and all of them long ago."""
    for number, (name, size) in enumerate(sizes.items()):
        (directory / name).write_bytes(b"x" * size)
        os.utime(directory / name, (OLD + number, OLD + number))


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir() if path.name != ".lock")


@pytest.mark.parametrize(
    ("sizes", "keep", "fitting", "left"),
    [
        ([400], set(), 1, ["a", "b", "c"]),
        ([600], set(), 1, ["b", "c"]),
        ([600], {"a"}, 1, ["a", "c"]),
        ([1600, 100], set(), 2, ["c"]),
        ([2100], set(), 0, ["a", "b", "c"]),  # nothing goes in vain
        ([1600, 500], set(), 1, ["c"]),
        ([600, 2000], {"a", "b", "c"}, 0, ["a", "b", "c"]),
        ([], set(), 0, ["a", "b", "c"]),
    ],
)
def test_what_was_used_longest_ago_goes_for_what_is_new(
    tmp_path: Path, sizes: list[int], keep: set[str], fitting: int, left: list[str]
) -> None:
    put(tmp_path, a=500, b=700, c=300)
    assert CacheDirectory(tmp_path, max_bytes=2000).room_for(sizes, keep=keep) == fitting
    assert names(tmp_path) == left


def test_a_file_that_somebody_uses_now_stays(tmp_path: Path) -> None:
    put(tmp_path, a=500, b=700)
    (tmp_path / "a").touch()
    assert CacheDirectory(tmp_path, max_bytes=1300).room_for([200]) == 1
    assert names(tmp_path) == ["a"]


def test_a_file_that_cannot_be_removed_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, a=500, b=700)
    unlink = Path.unlink

    def of_one_user(path: Path, missing_ok: bool = False) -> None:
        if path.name == "a":
            raise PermissionError
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", of_one_user)
    assert CacheDirectory(tmp_path, max_bytes=1300).room_for([200]) == 1
    assert names(tmp_path) == ["a"]


def test_what_a_killed_download_has_left_counts_and_goes(tmp_path: Path) -> None:
    put(tmp_path, **{".copy.1234": 500})
    assert CacheDirectory(tmp_path, max_bytes=600).room_for([200]) == 1
    assert names(tmp_path) == []


@pytest.mark.parametrize("goes", [True, False], ids=["removed", "another user's"])
def test_a_copy_of_which_the_time_cannot_be_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, goes: bool
) -> None:
    """It is fetched again if it has gone since, not made as an empty file; else it is used."""
    with memory_store():
        storage.write_text("mem://bucket/train0", "records")
        cache = ReadCache(CacheDirectory(tmp_path))
        copy = Path(cache.path("mem://bucket/train0"))

        def at_that_moment(path: Path) -> None:
            if not goes:
                raise PermissionError
            path.unlink(missing_ok=True)
            raise FileNotFoundError

        monkeypatch.setattr(os, "utime", at_that_moment)
        assert cache.path("mem://bucket/train0") == str(copy)
        assert copy.read_bytes() == b"records"


def test_one_process_at_a_time_looks_for_room(tmp_path: Path) -> None:
    with CacheDirectory(tmp_path).alone():
        assert is_held(tmp_path / ".lock")
    assert not is_held(tmp_path / ".lock")


def test_where_nothing_can_be_locked_the_work_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", no_locks)
    with CacheDirectory(tmp_path).alone():
        pass
    with pytest.raises(PermissionError), CacheDirectory(tmp_path).alone():  # the block's own
        raise PermissionError


def test_a_user_for_whom_the_directory_is_closed_has_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    first = CacheDirectory().path
    assert first == tmp_path / "yt8m-read-cache"
    first.mkdir()
    assert CacheDirectory().path == first
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert CacheDirectory().path == tmp_path / f"yt8m-read-cache-{os.getuid()}"


def test_old_files_go_before_the_disk_is_full(tmp_path: Path) -> None:
    put(tmp_path, a=500, b=700)
    directory = CacheDirectory(tmp_path, left_free=1 << 62)
    assert directory.is_short()
    assert directory.room_for([1]) == 0
    assert names(tmp_path) == []


def test_space_that_files_were_promised_is_not_promised_again(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    with (tmp_path / "a").open("wb") as file:
        file.truncate(free // 2)  # takes no space yet
    directory = CacheDirectory(tmp_path, max_bytes=1 << 62, left_free=0)
    keep = {"a"}
    assert directory.room_for([free // 4], keep=keep) == 1
    assert directory.room_for([free // 4 * 3], keep=keep) == 0


def test_a_directory_that_is_not_there_yet_is_made(tmp_path: Path) -> None:
    assert not CacheDirectory(tmp_path / "new" / "cache", left_free=1).is_short()
    assert CacheDirectory(tmp_path / "other" / "cache", left_free=1).room_for([1]) == 1
