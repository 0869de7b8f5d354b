"""Own features become records that the strict reader and the rules of ingest accept."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from records import read_all

from yt8m.cli.main import run as yt8m
from yt8m.components.extras.packing import pack as packing
from yt8m.components.extras.packing.pack import quantise
from yt8m.components.records.decode import decode_record
from yt8m.schemas.features import DEQUANTISE_BIAS, DEQUANTISE_SCALE

RNG = np.random.default_rng(0)
IDS = ["a1", "b2", "c3", "d4", "e5"]
LOOK = RNG.normal(0, 0.5, (5, 7)).astype(np.float32)
SOUND = RNG.normal(0, 0.5, (5, 3)).astype(np.float32)
LABELS = np.array([[1, 4, -1], [0, -1, -1], [2, 1, 6], [5, 5, -1], [-1, -1, -1]])
HOT = np.zeros((5, 7), bool)
for row, ids in enumerate(LABELS):
    HOT[row, ids[ids >= 0]] = True
FRAMES = RNG.normal(0, 0.5, (5, 9, 7))
COUNTS = np.array([9, 5, 7, 9, 6])


def pack(level, source, out, *words, split="train"):
    where = ["--input", str(source), "--out", str(out), "--split", split]
    return yt8m(["data", "pack", "--quiet", "--level", level, *where, *words])


def records_in(out, split="train"):
    return [decode_record(r) for path in sorted(out.glob(f"{split}*")) for r in read_all(path)]


def write_npz(path, **arrays):
    np.savez(path, **arrays)
    return path


def write_folder(path, **arrays):
    path.mkdir()
    for name, array in arrays.items():
        np.save(path / f"{name}.npy", array)
    return path


def write_parquet(path, **arrays):
    columns = {}
    for name, array in arrays.items():
        rows = [cell.tolist() if isinstance(cell, np.ndarray) else cell for cell in array]
        columns[name] = pa.array(rows)
    pq.write_table(pa.table(columns), path, row_group_size=2)
    return path


WRITERS = {"npz": write_npz, "folder": write_folder, "parquet": write_parquet}


@pytest.mark.parametrize("kind", WRITERS)
@pytest.mark.parametrize("labels", [LABELS, HOT], ids=["padded ids", "one bool per class"])
def test_vectors_and_labels_come_back_as_they_were(tmp_path, kind, labels, capsys):
    source = WRITERS[kind](
        tmp_path / f"in.{kind}", id=np.array(IDS), labels=labels, look=LOOK, mean_sound=SOUND
    )
    assert pack("video", source, tmp_path / "out", "--shards", "2", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["features"] == {"names": ["look", "sound"], "sizes": [7, 3], "num_classes": 7}
    assert [Path(name).name for name in found["files"]] == [
        "train0000.tfrecord",
        "train0001.tfrecord",
    ]
    for number, record in enumerate(records_in(tmp_path / "out")):
        assert record.features["id"] == (IDS[number].encode(),)
        np.testing.assert_array_equal(record.features["mean_look"], LOOK[number])
        np.testing.assert_array_equal(record.features["mean_sound"], SOUND[number])
        assert list(record.features["labels"]) == np.flatnonzero(HOT[number]).tolist()


@pytest.mark.parametrize("kind", ["npz", "folder", "parquet"])
def test_frames_are_the_nearest_bytes(tmp_path, kind):
    ragged = [frames[:count] for frames, count in zip(FRAMES, COUNTS, strict=True)]
    padded = {"look": FRAMES, "num_frames": COUNTS}
    given = {"look": ragged} if kind == "parquet" else padded
    source = WRITERS[kind](tmp_path / f"in.{kind}", labels=LABELS, **given)
    assert pack("frame", source, tmp_path / "out") == 0
    for number, record in enumerate(records_in(tmp_path / "out")):
        assert record.features["id"] == (f"{number:08d}".encode(),)
        stored = record.feature_lists["look"]
        assert stored.shape == (COUNTS[number], 7)
        values = stored * DEQUANTISE_SCALE + DEQUANTISE_BIAS
        np.testing.assert_allclose(values, ragged[number], atol=DEQUANTISE_SCALE / 2 + 1e-9)


def test_bytes_stay_as_they_are_and_records_without_labels_have_none(tmp_path):
    stored = RNG.integers(0, 256, (2, 4, 3), np.uint8)
    source = write_npz(tmp_path / "in.npz", rgb=stored)
    assert pack("frame", source, tmp_path, split="test") == 0
    for record, frames in zip(records_in(tmp_path, "test"), stored, strict=True):
        np.testing.assert_array_equal(record.feature_lists["rgb"], frames)
        assert "labels" not in record.features


def test_every_byte_is_its_own_nearest():
    every = np.arange(256)
    found, clipped = quantise(every * DEQUANTISE_SCALE + DEQUANTISE_BIAS, (-2.1, 2.1))
    assert clipped == 0
    assert np.abs(found.astype(int) - every).max() <= 7  # stretched by a twentieth
    found, _ = quantise(every * DEQUANTISE_SCALE + DEQUANTISE_BIAS)
    assert found.tolist() == every.tolist()


def test_a_range_of_ones_own_is_stretched_and_what_lies_outside_is_told(tmp_path, capsys):
    values = np.array([[[-0.3, 0.0, 0.3, 0.9]]])
    source = write_npz(tmp_path / "in.npz", look=values)
    assert pack("frame", source, tmp_path, "--range=-0.3,0.3", "--json") == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["clipped"] == 1
    assert "25.0% of the numbers lie outside -0.3 to 0.3" in said.err
    (record,) = records_in(tmp_path)
    assert record.feature_lists["look"].tolist() == [[0, 127, 255, 255]]


def test_ratings_become_segments(tmp_path):
    source = write_npz(
        tmp_path / "in.npz",
        look=FRAMES[:2],
        labels=LABELS[:2],
        segment_start_times=np.array([[0, 0, 4], [2, -1, -1]]),
        segment_labels=np.array([[1, 3, 1], [4, 0, 0]]),
        segment_scores=np.array([[1.0, 0.0, 1.0], [1.0, 9.0, 9.0]]),
    )
    assert pack("segment", source, tmp_path) == 0
    first, second = (record.features for record in records_in(tmp_path))
    assert first["segment_start_times"].tolist() == [0, 0, 4]
    assert first["segment_end_times"].tolist() == [5, 5, 9]
    assert first["segment_labels"].tolist() == [1, 3, 1]
    assert second["segment_scores"].tolist() == [1.0]
    assert yt8m(["data", "inspect", "--quiet", str(tmp_path / "train*")]) == 0


@pytest.mark.parametrize(
    ("arrays", "words", "why"),
    [
        ({"look": LOOK, "labels": LABELS[:3]}, (), "5 of look, 3 of labels"),
        ({"labels": LABELS}, (), "no features"),
        ({"look": FRAMES}, (), r"look has shape (9, 7): expected [size]"),
        ({"look": np.full((5, 2), np.nan)}, (), "row 0: look holds a number that is not finite"),
        ({"look": LOOK, "labels": LOOK}, (), "row 0: labels hold float32"),
        ({"look": np.array(["x"] * 5)}, (), "look"),
        ({"look": LOOK, "id": np.array(["\ud800"] * 5)}, (), "row 0: 'utf-8' codec can't encode"),
        ({"look": LOOK}, ("--shards", "6"), "has 5 rows"),
        ({"look": np.empty((0, 3))}, (), "holds no rows"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_left(tmp_path, arrays, words, why, capsys):
    source = write_npz(tmp_path / "in.npz", **arrays)
    assert pack("video", source, tmp_path / "out", *words) == 2
    assert why in capsys.readouterr().err
    assert not list(tmp_path.glob("out/*"))


SEGMENTS = {
    "look": FRAMES,
    "segment_start_times": np.zeros((5, 1), int),
    "segment_labels": np.zeros((5, 1), int),
    "segment_scores": np.ones((5, 1)),
}


@pytest.mark.parametrize(
    ("level", "arrays", "why"),
    [
        ("video", {"look": np.full((5, 2), 1e300)}, "row 0: feature mean_look holds NaN or inf"),
        ("video", {"look": LOOK, "mean_look": LOOK}, "columns look and mean_look are one feature"),
        ("video", {"look": LOOK, "id": np.array(["a", "", "b", "c", "d"])}, "row 1: feature id"),
        ("video", {"look": LOOK, "labels": LABELS - 4}, "row 0: label -3"),
        ("video", {"look": LOOK, "labels": np.full((5, 1), 2**63, np.uint64)}, "label 92233"),
        ("video", {"look": LOOK, "labels": HOT.astype(np.uint8)}, "give one bool per class"),
        ("frame", {"look": FRAMES, "num_frames": COUNTS - 6}, "num_frames is -1"),
        ("frame", {"look": FRAMES, "num_frames": COUNTS + 1}, "10, and look has 9 frames"),
        ("frame", {"look": LOOK[:, 0], "num_frames": COUNTS}, "look has shape ()"),
        ("segment", SEGMENTS | {"segment_labels": np.zeros((5, 2))}, "ratings differ in shape"),
        ("segment", SEGMENTS | {"segment_scores": np.full((5, 1), np.nan)}, "segment score nan"),
        ("segment", SEGMENTS | {"segment_start_times": np.full((5, 1), 9)}, "starts at 9"),
        ("segment", SEGMENTS | {"segment_labels": np.full((5, 1), -2)}, "segment label -2"),
    ],
)
def test_what_ingest_would_refuse_or_misread_is_refused(tmp_path, level, arrays, why, capsys):
    source = write_npz(tmp_path / "in.npz", **arrays)
    assert pack(level, source, tmp_path / "out") == 2
    assert why in capsys.readouterr().err
    assert not list(tmp_path.glob("out/*"))


def test_an_empty_cell_is_named(tmp_path, capsys):
    table = pa.table({"look": [[1.0], [2.0]], "labels": [[1], None]})
    pq.write_table(table, tmp_path / "in.parquet")
    assert pack("video", tmp_path / "in.parquet", tmp_path / "out") == 2
    assert "in.parquet: column labels, row 1: is empty" in capsys.readouterr().err


def test_shards_of_another_pack_are_not_mixed_in(tmp_path, capsys):
    source = write_npz(tmp_path / "in.npz", look=LOOK)
    assert pack("video", source, tmp_path / "out", "--shards", "3") == 0
    assert pack("video", source, tmp_path / "out", "--shards", "2") == 2
    assert "holds other shards of train (train0002.tfrecord); remove" in capsys.readouterr().err
    assert pack("video", source, tmp_path / "out", "--shards", "3") == 0
    assert pack("video", source, tmp_path / "out", split="test") == 0


@pytest.mark.parametrize(
    ("others", "listed"),
    [
        (["train0002", "train0003", "train0004"], r"train0002.tfrecord to train0004.tfrecord"),
        (["train0003", "train07", "train_a", "train_b"], "train0003.tfrecord, .*, train_b.t"),
    ],
)
def test_all_other_shards_are_named(tmp_path, capsys, others, listed):
    source = write_npz(tmp_path / "in.npz", look=LOOK)
    (tmp_path / "out").mkdir()
    for name in others:
        (tmp_path / "out" / f"{name}.tfrecord").write_bytes(b"")
    assert pack("video", source, tmp_path / "out", "--shards", "2") == 2
    assert re.search(rf"other shards of train \({listed}", capsys.readouterr().err)


def test_two_at_once_do_not_mix_their_shards_of_a_split(tmp_path, capsys, monkeypatch):
    source = write_npz(tmp_path / "in.npz", look=LOOK)
    codes, records_of = {}, packing._records

    def beside_another(*args):
        monkeypatch.undo()
        for split in ("train", "test"):
            codes[split] = pack("video", source, tmp_path / "out", "--shards", "5", split=split)
        yield from records_of(*args)

    monkeypatch.setattr(packing, "_records", beside_another)
    assert pack("video", source, tmp_path / "out", "--shards", "2") == 0
    assert codes == {"train": 2, "test": 0}
    assert re.search(
        r"out: process \d+ on .* packs records of train there", capsys.readouterr().err
    )
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert [name for name in names if "test" not in name] == [
        "train0000.tfrecord",
        "train0001.tfrecord",
    ]


def test_repeated_ids_are_counted_and_two_rows_are_named(tmp_path, capsys):
    ids = np.array(["a", "b", "a", "c", "a"])
    source = write_npz(tmp_path / "in.npz", look=LOOK, id=ids)
    assert pack("video", source, tmp_path / "out", "--shards", "2", "--json") == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["repeated_ids"] == 2
    assert "2 records have the id of another, for one rows 0 and 2" in said.err
    source = write_npz(tmp_path / "in.npz", look=LOOK, id=np.array(IDS))
    assert pack("video", source, tmp_path / "out", "--shards", "2", "--json") == 0
    said = capsys.readouterr()
    assert (json.loads(said.out)["repeated_ids"], said.err) == (0, "")


def test_damaged_numpy_files_are_named(tmp_path, capsys):
    whole = write_npz(tmp_path / "whole.npz", look=LOOK).read_bytes()
    objects = write_npz(tmp_path / "objects.npz", look=np.array([[1], [2, 3]], object))
    contents = [b"", whole[: len(whole) // 2], whole[:200] + b"x" + whole[201:]]
    files = [tmp_path / f"{number}.npz" for number in range(len(contents))]
    for path, content in zip(files, contents, strict=True):
        path.write_bytes(content)
    files.append(objects)
    assert [pack("video", path, tmp_path / "out") for path in files] == [2] * 4
    assert capsys.readouterr().err.count("not a readable NumPy file") == 4


def test_files_that_cannot_be_read_are_named(tmp_path, capsys):
    (tmp_path / "in.npz").write_bytes(b"no")
    (tmp_path / "in.parquet").write_bytes(b"no")
    (tmp_path / "in.csv").write_bytes(b"no")
    codes = [
        pack("video", tmp_path / name, tmp_path / "out")
        for name in ("in.npz", "in.parquet", "in.csv", "none.npz", "none.parquet")
    ]
    errors = capsys.readouterr().err
    assert codes == [2] * 5
    assert "not a readable NumPy file" in errors
    assert "not a readable Parquet file" in errors
    assert "give a .npz or .parquet file" in errors
    assert errors.count("no such file") == 2
