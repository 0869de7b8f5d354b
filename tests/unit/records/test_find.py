"""Shards are found by a pattern, and say themselves what their records are."""

import pytest
from records import compress, drop_feature, edit_record, make_dataset, write_all

from yt8m.components.records.find import find_files, find_level, find_shards
from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import Level


@pytest.mark.parametrize("level", list(Level), ids=lambda level: level.value)
def test_the_level_is_that_of_the_records(tmp_path, level):
    data = make_dataset(tmp_path, level=level.value)
    compress(data / "train0000.tfrecord")
    shards = find_shards(str(data / "train*"))
    assert [shard.compression for shard in shards] == ["GZIP", ""]
    assert find_level(shards) is level


def test_a_rated_shard_may_begin_with_an_empty_file_and_a_video_without_ratings(tmp_path):
    data = make_dataset(tmp_path, level="segment")
    for key in ("segment_labels", "segment_start_times"):
        edit_record(data / "train0000.tfrecord", 0, drop_feature(key))
    write_all(data / "train.tfrecord", [])
    assert find_level(find_shards(str(data / "train*"))) is Level.SEGMENT


def test_hidden_files_and_other_files_beside_the_records_are_passed_over(tmp_path):
    """The directory's own path may have what its files may not."""
    place = tmp_path / ".cache" / "old.tfrecords"
    kept = ("train0.tfrecord", "below/train1.tfrecord.gz")
    others = ("._train0.tfrecord", ".Trash/train2.tfrecord", ".a/b/c.tfrecord", "d.tfrecords/notes")
    for name in (*kept, *others, "train3.tfrecord.part", "readme.txt"):
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).touch()
    assert sorted(find_files(str(place))) == sorted(str(place / name) for name in kept)


def test_a_file_that_is_linked_counts_once_by_its_first_name(tmp_path):
    for name in ("a/train1.tfrecord", "a/train0.tfrecord", "root/run/train2.tfrecord"):
        write_all(tmp_path / name, [])
    (tmp_path / "root" / "run" / "train1.tfrecord").symlink_to(tmp_path / "a" / "train1.tfrecord")
    (tmp_path / "b").symlink_to("a")
    (tmp_path / "loop").symlink_to("loop")
    every = ["a/train0.tfrecord", "a/train1.tfrecord", "root/run/train2.tfrecord"]
    assert find_files(str(tmp_path)) == [str(tmp_path / name) for name in every]
    linked = [str(tmp_path / "b" / f"train{n}.tfrecord") for n in (0, 1)]
    assert find_files(f"{tmp_path}/b/*", f"{tmp_path}/a", str(tmp_path)) == [
        *linked,
        str(tmp_path / every[2]),
    ]


def test_a_file_is_found_by_its_own_name_even_where_that_reads_as_a_pattern(tmp_path):
    for name in ("train[1].tfrecord", "train1.tfrecord"):
        write_all(tmp_path / name, [])
    for pattern, name in (
        ("train[1].tfrecord", "train[1].tfrecord"),
        ("*n[1].*", "train1.tfrecord"),
    ):
        assert find_files(str(tmp_path / pattern)) == [str(tmp_path / name)]


def test_a_directory_has_its_own_name_even_where_that_reads_as_a_pattern(tmp_path):
    for directory in ("my [1] data", "my 1 data"):
        (tmp_path / directory).mkdir()
        write_all(tmp_path / directory / "train0.tfrecord", [])
    for pattern, directory in (("my [1] data", "my [1] data"), ("m? [1] data", "my 1 data")):
        found = find_files(str(tmp_path / pattern / "train*"))
        assert found == [str(tmp_path / directory / "train0.tfrecord")]


def test_what_holds_no_records_is_named(tmp_path):
    (tmp_path / "a.txt").write_text("no records at all")
    write_all(tmp_path / "b.tfrecord", [])
    write_all(tmp_path / "c.tfrecord", [b"\xff\xff"])
    for name, why in (
        ("a.txt", "not a TFRecord file"),
        ("b.tfrecord", "holds no records"),
        ("c.tfrecord", "no YouTube-8M records"),
    ):
        with pytest.raises(DataError, match=rf"{name}: {why}"):
            find_level(find_shards(str(tmp_path / name)))
    with pytest.raises(UserError, match="no such file"):
        find_shards(str(tmp_path / "d*"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="empty: holds no file of records"):
        find_shards(str(tmp_path / "empty"))
