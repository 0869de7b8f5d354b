"""The directory of files that can be made again: one budget, and a disk that others use too."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from yt8m.components.storage.cache import CacheDirectory

OLD = time.time() - 10_000


def put(directory: Path, **sizes: int) -> None:
    """Files of these sizes, the first used longest ago, and all of them long ago."""
    for number, (name, size) in enumerate(sizes.items()):
        (directory / name).write_bytes(b"x" * size)
        os.utime(directory / name, (OLD + number, OLD + number))


def names(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize(
    ("sizes", "keep", "fitting", "left"),
    [
        ([400], set(), 1, ["a", "b", "c"]),
        ([600], set(), 1, ["b", "c"]),
        ([600], {"a"}, 1, ["a", "c"]),
        ([1600, 100], set(), 2, ["c"]),
        ([2100], set(), 0, []),
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
