"""Generated data sets: their files, their bytes, and what may be added to them."""

import csv
import hashlib
import io
import os
import re

import numpy as np
import pytest
from records import TINY, generate_dataset, read_all

from yt8m.components.extras.synthetic.generate import SPEC_FILE, generate
from yt8m.components.extras.synthetic.spec import DatasetSpec
from yt8m.components.records.decode import decode_record
from yt8m.components.records.vocabulary import load_vocabulary
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import NUM_CLASSES, Level
from yt8m.schemas.json_file import NewerFormatError
from yt8m.schemas.vocabulary import COLUMNS

LEVELS = [level.value for level in Level]


def contents(directory):
    """Every record of each split, whatever the shards, and all other files."""
    splits = {}
    for path in sorted(directory.rglob("*.tfrecord")):
        split = re.sub(r"\d+\.tfrecord$", "", path.relative_to(directory).as_posix())
        splits.setdefault(split, []).extend(read_all(path))
    return splits


@pytest.mark.parametrize("level", LEVELS)
def test_same_seed_gives_the_same_bytes_and_another_seed_gives_others(tmp_path, level):
    first = generate_dataset(tmp_path / "first", level=level, seed=3)
    again = generate_dataset(tmp_path / "again", level=level, seed=3)
    other = generate_dataset(tmp_path / "other", level=level, seed=4)
    names = sorted(path.name for path in first.iterdir())
    assert names == sorted(path.name for path in again.iterdir())
    for name in names:
        assert (first / name).read_bytes() == (again / name).read_bytes(), name
    assert contents(first)["train"] != contents(other)["train"]


@pytest.mark.parametrize("level", LEVELS)
def test_records_do_not_depend_on_the_number_of_shards(tmp_path, level):
    # 150 is more than two blocks of the generator, 7 does not divide it.
    one = generate_dataset(tmp_path / "one", level=level, train=150, shards=1)
    seven = generate_dataset(tmp_path / "seven", level=level, train=150, shards=7)
    assert len(list(seven.glob("train*"))) == 7
    assert contents(one) == contents(seven)
    assert (one / "vocabulary.csv").read_text() == (seven / "vocabulary.csv").read_text()


@pytest.mark.parametrize("level", LEVELS)
def test_a_larger_data_set_begins_with_the_smaller_one(tmp_path, level):
    small = generate_dataset(tmp_path / "small", level=level, train=10)
    large = generate_dataset(tmp_path / "large", level=level, train=80)
    assert contents(large)["train"][:10] == contents(small)["train"]


def test_more_shards_than_records_make_no_empty_file(tmp_path):
    data = generate_dataset(tmp_path / "data", train=3, eval=1, shards=5)
    assert [len(read_all(path)) for path in sorted(data.glob("*.tfrecord"))] == [1, 1, 1, 1]


def test_splits_and_spans_share_no_video_and_no_id(tmp_path):
    data = generate_dataset(tmp_path / "data", train=100, eval=50, test=50, spans=3)
    records = [record for split in contents(data).values() for record in split]
    ids = [decode_record(record).features["id"][0] for record in records]
    vectors = {decode_record(record).features["mean_rgb"].tobytes() for record in records}
    assert len(records) == 3 * 200
    assert len(set(ids)) == len(ids)
    assert len(vectors) == len(records)
    assert all(len(video_id) >= 4 for video_id in ids)


def test_spans_may_be_added_and_the_first_ones_stay_as_they_are(tmp_path):
    data = generate_dataset(tmp_path / "data", spans=2)
    before = {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in data.glob("span-*/*")}
    generate_dataset(data, spans=3)
    assert sorted(p.name for p in data.glob("span-*")) == ["span-1", "span-2", "span-3"]
    assert all((p.stat().st_mtime_ns, p.read_bytes()) == was for p, was in before.items())
    whole = generate_dataset(tmp_path / "whole", spans=3)
    assert contents(whole) == contents(data)
    assert (whole / "vocabulary.csv").read_text() == (data / "vocabulary.csv").read_text()


def test_interrupted_generation_is_completed_to_the_same_bytes(tmp_path):
    class StopError(Exception):
        pass

    def stop_at_second_shard(count):
        done.append(count)
        if len(done) > 2:
            raise StopError

    done = []
    spec = DatasetSpec(**{**TINY, "train": 200, "shards": 4})
    with pytest.raises(StopError):
        generate(spec, tmp_path / "data", advance=stop_at_second_shard)
    assert len(list((tmp_path / "data").glob("*.tfrecord"))) < 8
    generate(spec, tmp_path / "data")
    whole = generate(spec, tmp_path / "whole")
    assert contents(tmp_path / "data") == contents(whole.out)
    assert {p.name for p in whole.out.iterdir()} == {p.name for p in (tmp_path / "data").iterdir()}


def test_what_a_kill_left_at_the_very_beginning_is_no_other_file(tmp_path):
    whole = generate_dataset(tmp_path / "whole")
    (tmp_path / "killed").mkdir()
    (tmp_path / "killed" / ".dataset.json.6c35e9deeaa7").write_text("{")
    again = generate_dataset(tmp_path / "killed")
    assert sorted(p.name for p in again.iterdir()) == sorted(p.name for p in whole.iterdir())


def test_what_a_kill_left_of_a_shard_goes_and_a_lock_of_the_killed_is_nobodys(tmp_path):
    data = generate_dataset(tmp_path / "data")
    names = sorted(path.name for path in data.iterdir())
    shard = next(data.glob("train*.tfrecord"))
    shard.rename(shard.with_name(f".{shard.name}.6c35e9deeaa7"))
    (data / ".generate.lock").write_text("process 1 on another")
    generate_dataset(data)
    assert sorted(path.name for path in data.iterdir()) == names


def test_two_at_once_in_one_directory_do_not_write_over_one_another(tmp_path):
    spec = DatasetSpec(**{**TINY, "shards": 2})

    def another(_):
        with pytest.raises(UserError, match=r"data: process \d+ on .* generates records there"):
            generate(spec, tmp_path / "data")
        refused.append(True)

    refused = []
    generate(spec, tmp_path / "data", advance=another)
    assert refused
    assert contents(tmp_path / "data") == contents(generate(spec, tmp_path / "whole").out)


def test_a_shard_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    """Without its last blocks it would count as complete after a loss of power."""
    flushed, flush = set(), os.fsync

    def fsync(descriptor):
        flush(descriptor)
        flushed.add(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", fsync)
    data = generate_dataset(tmp_path / "data", shards=2)
    assert {path.stat().st_ino for path in data.iterdir()} <= flushed


def test_other_files_and_another_data_set_are_not_mixed_with(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(UserError, match=r"thesis\.txt"):
        generate_dataset(tmp_path / "mine")
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["thesis.txt"]

    data = generate_dataset(tmp_path / "data", train=5)
    with pytest.raises(UserError, match="different train, seed;"):
        generate_dataset(data, train=6, seed=9)
    with pytest.raises(UserError, match="different spans"):
        generate_dataset(data, train=5, spans=1)


def test_a_data_set_of_a_newer_version_is_not_called_damaged(tmp_path):
    data = generate_dataset(tmp_path / "data", train=5)
    text = (data / SPEC_FILE).read_text()
    (data / SPEC_FILE).write_text(text.replace("{", '{"languages": 3,', 1))
    with pytest.raises(
        NewerFormatError, match=r"dataset\.json: .* does not know languages"
    ) as error:
        generate_dataset(data, train=5)
    assert "damaged" not in str(error.value)


def test_unwritable_directory_is_the_users_mistake(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="cannot be written"):
        generate_dataset(tmp_path / "file" / "data")


def test_advance_counts_every_record_once(tmp_path):
    seen = []
    spec = DatasetSpec(**{**TINY, "train": 130, "spans": 2})
    generate(spec, tmp_path / "data", advance=seen.append)
    assert sum(seen) == spec.total_examples == 2 * (130 + TINY["eval"])


def test_vocabulary_has_the_published_columns_and_counts_the_training_labels(tmp_path):
    data = generate_dataset(tmp_path / "data", train=90, shards=2)
    text = (data / "vocabulary.csv").read_text()
    assert text.splitlines()[0] == ",".join(COLUMNS)
    counts = np.zeros(TINY["classes"], int)
    for record in contents(data)["train"]:
        counts[decode_record(record).features["labels"]] += 1
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [int(row["TrainVideoCount"]) for row in rows] == counts.tolist()


def test_every_class_has_a_distinct_name(tmp_path):
    data = generate_dataset(tmp_path / "data", classes=NUM_CLASSES, train=1, eval=0)
    vocabulary = load_vocabulary(str(data / "vocabulary.csv"), num_classes=NUM_CLASSES)
    assert len(set(vocabulary.names)) == NUM_CLASSES
    used = {vertical for group in vocabulary.verticals_of_class for vertical in group}
    assert used == set(range(25))


# Of records and vocabularies, in the order of their names. They hold for the locked numpy; who
# changes the generator changes them, and with them what every seed gives.
DIGESTS = {"video": "23c771d1b86e3657", "frame": "f293088a7c257b4b", "segment": "af1d5706952c977b"}


@pytest.mark.parametrize("level", LEVELS)
def test_bytes_of_a_seed_are_the_same_on_every_machine_and_in_every_process(tmp_path, level):
    data = generate_dataset(tmp_path / "data", level=level, temporal=level == "frame", test=3)
    digest = hashlib.sha256()
    for path in sorted(set(data.glob("*")) - {data / SPEC_FILE}):
        digest.update(path.name.encode() + path.read_bytes())
    assert digest.hexdigest()[:16] == DIGESTS[level]
