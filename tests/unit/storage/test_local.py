"""Storage on local paths; the same properties hold on S3 in tests/integration/storage."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import IO

import pytest

from yt8m.components import storage
from yt8m.components.storage import lock
from yt8m.components.storage.local import other_than_file
from yt8m.components.storage.lock import LockedError, file_lock
from yt8m.schemas.errors import UserError


def test_a_written_file_is_read_back_and_leaves_no_temporary(tmp_path: Path) -> None:
    target = tmp_path / "new" / "folder" / "a.json"
    storage.write_text(str(target), "grün")
    assert storage.read_text(str(target)) == "grün"
    assert [path.name for path in target.parent.iterdir()] == ["a.json"]


def test_a_second_name_is_the_same_file_and_outlives_the_first(tmp_path: Path) -> None:
    source, target = tmp_path / "version" / "weights", tmp_path / "artifact" / "a" / "weights"
    storage.write_text(str(source), "1")
    for text in ("1", "2"):  # also in place of one that is there
        storage.write_text(str(source), text)
        storage.hard_link(str(source), str(target))
        assert target.samefile(source)
        assert target.read_text() == text
    storage.write_text(str(source), "3")
    storage.remove(str(source))
    assert target.read_text() == "2"


@pytest.mark.parametrize("refusal", [errno.EXDEV, errno.EPERM, errno.EMLINK, errno.EOPNOTSUPP])
def test_where_a_file_can_have_no_second_name_it_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, refusal: int
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(refusal, os.strerror(refusal))

    monkeypatch.setattr(os, "link", refuse)
    source, target = tmp_path / "weights", tmp_path / "artifact" / "weights"
    source.write_text("1")
    storage.hard_link(str(source), str(target))
    assert target.read_text() == "1"
    assert not target.samefile(source)


def test_a_failing_writer_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "a"
    storage.write_text(str(target), "old")

    def fail_half_way() -> None:
        with storage.atomic_write(str(target)) as file:
            file.write(b"half of the new")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_half_way()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_writer_without_room_names_the_file(tmp_path: Path) -> None:
    target = tmp_path / "a"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match=str(target)) as error:
            storage.write_bytes(str(target), b"?" * 2000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (error.value.errno, error.value.filename) == (errno.EFBIG, str(target))
    assert list(tmp_path.iterdir()) == []


def test_readers_see_only_whole_contents_while_a_writer_replaces(tmp_path: Path) -> None:
    target = str(tmp_path / "a")
    contents = {b"a" * 50_000, b"b" * 70_000}
    storage.write_bytes(target, b"a" * 50_000)
    done = threading.Event()

    def write() -> None:
        for _ in range(50):
            for content in sorted(contents):
                storage.write_bytes(target, content)
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    while not done.is_set():
        seen.add(storage.read_bytes(target))
    writer.join()
    assert seen <= contents


def test_removing_a_tree_spares_what_its_links_point_to(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "shard").write_text("precious")
    tree = tmp_path / "tree"
    (tree / "inner").mkdir(parents=True)
    (tree / "inner" / "directory-link").symlink_to(source)
    (tree / "file-link").symlink_to(source / "shard")
    storage.remove_tree(str(tree))
    assert not tree.exists()
    assert (source / "shard").read_text() == "precious"


def test_removing_a_link_as_a_tree_removes_the_link_only(tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "shard").write_text("precious")
    link = tmp_path / "link"
    link.symlink_to(source)
    storage.remove_tree(str(link))
    assert not link.is_symlink()
    assert (source / "shard").read_text() == "precious"


def test_removing_nothing_is_no_error(tmp_path: Path) -> None:
    storage.remove_tree(str(tmp_path / "nothing"))


def test_a_tree_that_cannot_be_put_in_its_place_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "export"
    storage.write_text(str(place / "file"), "old")
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if self.name == "tree":
            raise OSError(errno.EIO, "Input/output error")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="Input/output"), storage.atomic_tree(str(place)) as tree:
        storage.write_text(f"{tree}/file", "new")
    monkeypatch.undo()
    assert (place / "file").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["export"]


def test_a_tree_is_on_the_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A library writes it, which leaves that to the system: a loss of power would cut it off."""
    place, flushed, flush = tmp_path / "export", set(), os.fsync

    def fsync(descriptor: int) -> None:
        assert not place.exists()
        flushed.add(os.fstat(descriptor).st_ino)
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with storage.atomic_tree(str(place)) as tree:
        for name in ("saved_model.pb", "variables/variables.index"):
            file = Path(tree, name)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("bytes")
    files = [path for path in place.rglob("*") if path.is_file()]
    assert len(files) == 2
    assert {path.stat().st_ino for path in files} <= flushed


def test_a_tree_takes_the_place_that_a_link_means_and_the_link_stays(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("disk/export")
    for text in ("old", "new"):
        with storage.atomic_tree(str(link)) as tree:
            storage.write_text(f"{tree}/{text}", text)
    assert link.readlink() == Path("disk/export")
    assert [path.name for path in (tmp_path / "disk" / "export").iterdir()] == ["new"]
    assert [path.name for path in (tmp_path / "disk").iterdir()] == ["export"]


def test_a_rename_moves_a_tree_and_refuses_a_taken_name(tmp_path: Path) -> None:
    storage.write_text(str(tmp_path / "staging" / "a" / "b"), "1")
    storage.rename(str(tmp_path / "staging"), str(tmp_path / "versions" / "7"))
    assert (tmp_path / "versions" / "7" / "a" / "b").read_text() == "1"
    storage.write_text(str(tmp_path / "staging" / "a"), "2")
    with pytest.raises(FileExistsError, match="versions/7"):
        storage.rename(str(tmp_path / "staging"), str(tmp_path / "versions" / "7"))


def test_a_copied_tree_has_the_same_files(tmp_path: Path) -> None:
    for name in ("a", "b/c", "b/d/e"):
        storage.write_text(str(tmp_path / "from" / name), name)
    storage.copy_tree(str(tmp_path / "from"), str(tmp_path / "to"), last="a")
    assert list(storage.walk_files(str(tmp_path / "to"))) == ["a", "b/c", "b/d/e"]
    assert storage.read_text(str(tmp_path / "to" / "b" / "d" / "e")) == "b/d/e"


def test_a_glob_is_sorted_and_its_star_stays_in_one_directory(tmp_path: Path) -> None:
    for name in ("train2", "train1", "train/3", "eval1", ".train"):
        storage.write_text(str(tmp_path / name), "")
    found = storage.glob(str(tmp_path / "train*"))
    assert [Path(path).name for path in found] == ["train", "train1", "train2"]


def test_what_is_missing_raises_file_not_found(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    assert not storage.exists(missing)
    assert not storage.is_dir(missing)
    for call in (storage.stat, storage.open_file, storage.list_dir, storage.remove):
        with pytest.raises(FileNotFoundError):
            call(missing)


def test_a_file_uri_is_a_local_path(tmp_path: Path) -> None:
    storage.write_text(f"file://{tmp_path}/a", "1")
    assert storage.local_path(f"file://{tmp_path}/a") == tmp_path / "a"
    assert (tmp_path / "a").read_text() == "1"


def test_an_unknown_scheme_is_the_users_mistake_and_names_those_that_work() -> None:
    with pytest.raises(UserError, match=r"hdfs:// is not a storage.*gs:// or s3://"):
        storage.exists("hdfs://cluster/records")


@pytest.mark.parametrize(
    ("base", "parts", "expected"),
    [
        ("s3://b/x", ("y", "z"), "s3://b/x/y/z"),
        ("s3://b/x/", ("y",), "s3://b/x/y"),
        ("/data", ("/other",), "/other"),
        ("/data", ("s3://b/x",), "s3://b/x"),
        ("", ("train*",), "train*"),
    ],
)
def test_paths_are_joined(base: str, parts: tuple[str, ...], expected: str) -> None:
    assert storage.join(base, *parts) == expected


@pytest.mark.timeout(20)
def test_a_link_to_a_directory_above_is_named_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("one", "two"):  # each loop of two would double what the other gives
        (tmp_path / "a" / name).symlink_to(tmp_path)
    with pytest.raises(UserError, match="a/one: a link to a directory above it"):
        list(storage.walk_files(str(tmp_path)))


def test_a_name_that_cannot_be_followed_is_no_failure_of_the_storage(tmp_path: Path) -> None:
    loop, long = tmp_path / "loop", tmp_path / ("a" * 300)
    loop.symlink_to(loop)
    for uri, problem in (
        (loop, "a loop of links"),
        (loop / "x", "a loop of links"),
        (long, "its name is too long"),
    ):
        for use in (storage.open_file, storage.stat, storage.exists, storage.is_dir):
            with pytest.raises(UserError, match=f"{uri}: {problem}; repair it"):
                use(str(uri))
    with pytest.raises(UserError, match="loop: a loop of links; repair it"):
        storage.find(str(tmp_path / "l*"))


def test_nothing_is_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    assert not storage.exists(str(tmp_path / "file/below"))
    assert not storage.is_dir(str(tmp_path / "file/below"))


@pytest.mark.timeout(20)
def test_a_named_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UserError, match="a named pipe, not a file"):
        storage.open_file(str(tmp_path / "pipe"))


@pytest.mark.parametrize("through_a_link", [False, True])
@pytest.mark.parametrize(
    ("make", "kind"),
    [(os.mkfifo, "a named pipe"), (lambda path: path.symlink_to("/dev/null"), "a device")],
)
def test_what_is_no_file_is_not_replaced(
    tmp_path: Path, make: Callable[[Path], None], kind: str, through_a_link: bool
) -> None:
    target, source = tmp_path / "out", tmp_path / "source"
    make(tmp_path / "there" if through_a_link else target)
    if through_a_link:
        target.symlink_to("there")
    source.write_text("new")
    before = target.lstat()
    for write in (storage.write_text, lambda out, _: storage.copy(str(source), out)):
        with pytest.raises(UserError, match=f"out: {kind}, not a file"):
            write(str(target), "new")
    assert target.lstat() == before


def test_a_link_to_a_file_or_to_nothing_is_replaced_and_its_target_stays(tmp_path: Path) -> None:
    (tmp_path / "source").write_text("precious")
    for number, target in enumerate(("source", "nothing")):
        link = tmp_path / str(number)
        link.symlink_to(target)
        storage.write_text(str(link), "new")
        assert not link.is_symlink()
    assert (tmp_path / "source").read_text() == "precious"


def test_links_among_the_devices_count_as_devices(tmp_path: Path) -> None:
    (tmp_path / "devices").symlink_to("/dev")
    for name in ("/dev/stdout", "/dev/none", f"{tmp_path}/devices/stdout"):
        assert other_than_file(Path(name)) == "a device"
    assert other_than_file(tmp_path / "stdout") == ""


def test_an_escaped_path_matches_itself_alone(tmp_path: Path) -> None:
    for name in ("a[1]*", "a1x", "a[1]y"):
        (tmp_path / name).touch()
    wild = str(tmp_path / "a[1]*")
    assert storage.glob(storage.escape(wild)) == [wild]


def test_a_file_system_without_locks_is_named_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def flock(file: object, kind: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("fcntl.flock", flock)
    assert "this file system has no locks (No locks available)" in storage.unwritable(str(tmp_path))
    with (
        pytest.raises(UserError, match=rf"{tmp_path}/lock: this file system has no locks.*choose"),
        file_lock(tmp_path / "lock", holder="me"),
    ):
        pass


def test_what_was_done_under_a_lock_stands_if_its_file_cannot_be_closed(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with file_lock(lock, holder="me"):
        for descriptor in Path("/proc/self/fd").iterdir():
            if descriptor.resolve() == lock:
                os.close(int(descriptor.name))
    with file_lock(lock, holder="another"):
        assert lock.read_text() == "another"


def test_a_lock_that_its_holder_removes_while_another_waits_is_taken_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a third process would lock the new file, and two would hold one lock."""
    path, flock = tmp_path / "lock", fcntl.flock
    removals = [lambda: path.rename(tmp_path / "old"), path.unlink]

    def after_removal(file: IO[str], kind: int) -> None:
        if removals:
            removals.pop()()
        flock(file, kind)

    monkeypatch.setattr("fcntl.flock", after_removal)
    with file_lock(path, holder="me"):
        assert path.read_text() == "me"
        with pytest.raises(LockedError), file_lock(path, holder="another"):
            pass
    assert not removals


def test_who_waits_for_a_lock_looks_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    with file_lock(tmp_path / "lock", holder="one"):
        # Of this module alone: threads of other tests keep the real clock.
        clock = SimpleNamespace(sleep=waits.append, monotonic=lambda: 0.4 * len(waits))
        monkeypatch.setattr(lock, "time", clock)
        with pytest.raises(LockedError), file_lock(tmp_path / "lock", holder="two", wait_s=60):
            pass
    assert len(waits) > 60
    assert max(waits) <= 1
