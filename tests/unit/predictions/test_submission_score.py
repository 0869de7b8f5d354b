"""GAP and MAP of submissions, against slow definitions and the shared golden values."""

import csv
import json
import os
from pathlib import Path

import metric_oracle as oracle
import numpy as np
import pytest
from records import edit_record, make_dataset, read_all, replace_record, set_feature, write_all

from yt8m.components.extras.scores.submission_score import score_segments, score_videos
from yt8m.components.predictions.submission import read_submission
from yt8m.components.records.decode import decode_record
from yt8m.components.records.find import find_level, find_shards
from yt8m.components.records.wire import bytes_feature, encode_example, int64_feature
from yt8m.schemas.errors import DataError, UserError
from yt8m.schemas.features import Level

ROOT = Path(__file__).parents[3]
GOLDEN = Path(os.environ.get("YT8M_REAL_DATA", ROOT.parent / "shared" / "data")) / "metrics"
# Those with labels, in which the 20 best classes are unique.
GOLDEN_CASES = ("basic_64x100", "multi_batch_ragged", "some_videos_no_labels", "one_label_each")


def ignore(count):
    """No progress is shown."""


def videos_of(data):
    """Id and labels of each video, in order."""
    for shard in find_shards(str(data)):
        for record in read_all(Path(shard.uri)):
            features = decode_record(record).features
            yield features["id"][0].decode(), set(np.asarray(features["labels"]).tolist())


def write_videos(path, ids, scores, k=20):
    """Each video's best classes, as a person would write them."""
    lines = []
    for name, row in zip(ids, scores, strict=True):
        best = np.argsort(-row, kind="stable")[:k]
        lines.append(f"{name}," + " ".join(f"{c} {float(row[c])!r}" for c in best))
    path.write_text("\n".join(lines))
    return read_submission(str(path))


def score(submission, data):
    shards = find_shards(str(data))
    return score_videos(submission, shards, level=find_level(shards), advance=ignore)


@pytest.mark.parametrize("level", ["video", "frame", "segment"])
def test_gap_is_that_of_the_slow_definition_at_every_level(tmp_path, level):
    data = make_dataset(tmp_path / "data", level=level, classes=30) / "train*"
    ids, labels = zip(*videos_of(data), strict=True)
    scores = np.random.default_rng(0).random((len(ids), 30)).astype(np.float64)
    found = score(write_videos(tmp_path / "s.csv", ids, scores), data)
    assert found.gap == pytest.approx(oracle.gap(scores.tolist(), labels, 20), abs=1e-12)
    assert (found.videos, found.missing_videos, found.unknown_videos) == (len(ids), 0, 0)


def test_missing_videos_count_as_not_found_and_unknown_ones_are_left_out(tmp_path):
    data = make_dataset(tmp_path / "data", classes=30) / "train*"
    ids, labels = zip(*videos_of(data), strict=True)
    scores = np.random.default_rng(1).random((len(ids), 30))
    some = write_videos(tmp_path / "s.csv", (*ids[:10], "nobody"), scores[:11])
    found = score(some, data)
    positives = sum(map(len, labels))
    of_ten = oracle.gap(scores[:10].tolist(), labels[:10], 20) * sum(map(len, labels[:10]))
    assert found.gap == pytest.approx(of_ten / positives, abs=1e-12)
    assert (found.missing_videos, found.unknown_videos) == (len(ids) - 10, 1)


def test_of_more_than_twenty_pairs_the_best_count(tmp_path):
    data = make_dataset(tmp_path / "data", classes=40) / "train*"
    ids, labels = zip(*videos_of(data), strict=True)
    scores = np.random.default_rng(2).random((len(ids), 40))
    found = score(write_videos(tmp_path / "s.csv", ids, scores, k=40), data)
    assert found.gap == pytest.approx(oracle.gap(scores.tolist(), labels, 20), abs=1e-12)
    assert found.pairs_beyond_top_k == 20 * len(ids)


def slow_map(path, ratings, top_n):
    """The definition of 2019, one segment at a time; `ratings` by (segment, class)."""
    positives = {}
    for (_, class_id), present in ratings.items():
        positives[class_id] = positives.get(class_id, 0) + present
    total = 0.0
    for row in csv.reader(path.open()):
        class_id, hits, seen = int(row[0]), 0, 0
        for segment in row[1].split()[:top_n]:
            if (segment, class_id) in ratings:
                seen += 1
                if ratings[segment, class_id]:
                    hits += 1
                    total += hits / seen / positives[class_id]
    return total / sum(count > 0 for count in positives.values())


def ratings_of(data):
    ratings = {}
    for shard in find_shards(str(data)):
        for record in read_all(Path(shard.uri)):
            f = decode_record(record).features
            columns = zip(
                f["segment_start_times"], f["segment_labels"], f["segment_scores"], strict=True
            )
            for start, class_id, found in columns:
                ratings[f"{f['id'][0].decode(errors='replace')}:{start}", int(class_id)] = bool(
                    found >= 0.5
                )
    return ratings


@pytest.mark.parametrize("depth", range(1, 8))
def test_of_a_class_as_many_segments_count_as_are_asked_for(tmp_path, depth):
    data = make_dataset(tmp_path / "data", level="segment", classes=6) / "train*"
    ratings = ratings_of(data)
    rated = {}
    for segment, class_id in ratings:
        rated.setdefault(class_id, []).append(segment)
    path = tmp_path / "s.csv"
    path.write_text("\n".join(f"{c},{' '.join(names)}" for c, names in rated.items()))
    submission, shards = read_submission(str(path)), find_shards(str(data))
    found, deeper = (
        score_segments(submission, shards, top_n=n, advance=ignore) for n in (depth, depth + 1)
    )
    assert found.map == pytest.approx(slow_map(path, ratings, depth), abs=1e-12)
    assert found.map < deeper.map


@pytest.mark.parametrize("top_n", [3, 100_000])
def test_map_is_that_of_the_slow_definition(tmp_path, top_n):
    data = make_dataset(tmp_path / "data", level="segment", classes=12) / "train*"
    ratings = ratings_of(data)
    segments = sorted({name for name, _ in ratings})
    rng = np.random.default_rng(0)
    known = sorted({class_id for (_, class_id), present in ratings.items() if present})
    # One class is missing, one has no positives, some segments are unknown.
    lines = [
        f"{c}," + " ".join([*rng.permutation(segments), "nobody:0"]) for c in (*known[1:], 500)
    ]
    path = tmp_path / "s.csv"
    path.write_text("\n".join(lines))
    found = score_segments(
        read_submission(str(path)), find_shards(str(data)), top_n=top_n, advance=ignore
    )
    assert found.map == pytest.approx(slow_map(path, ratings, top_n), abs=1e-12)
    assert 0 < found.map < 1
    assert (found.classes, found.missing_classes, found.other_classes) == (len(known), 1, 1)
    assert found.unknown_segments == (len(lines) if top_n > len(segments) else 0)


def test_records_without_what_is_scored_are_refused(tmp_path):
    empty = encode_example({"id": bytes_feature(b"ABCD"), "labels": int64_feature([])})
    write_all(tmp_path / "no-labels.tfrecord", [empty])
    (tmp_path / "s.csv").write_text("ABCD,1 0.5\n")
    with pytest.raises(UserError, match="no record has a label"):
        score_videos(
            read_submission(str(tmp_path / "s.csv")),
            find_shards(str(tmp_path / "no-labels.tfrecord")),
            level=Level.VIDEO,
            advance=ignore,
        )


def test_a_record_that_is_none_is_named_with_its_shard(tmp_path):
    shard = make_dataset(tmp_path / "data", train=60, shards=1) / "train0000.tfrecord"
    (tmp_path / "s.csv").write_text("ABCD,1 0.5\n")
    replace_record(shard, 55, b"\xff\xfe bytes")
    submission = read_submission(str(tmp_path / "s.csv"))
    with pytest.raises(DataError, match=f"^{shard}: .*record 55 of the batch: not a tf.Example"):
        score(submission, shard)


@pytest.mark.parametrize("level", ["video", "segment"])
def test_a_video_whose_id_is_no_text_is_one_that_no_submission_names(tmp_path, level):
    shard = make_dataset(tmp_path / "data", level=level, train=8, shards=1) / "train0000.tfrecord"
    edit_record(shard, 5, set_feature("id", (b"\xff\xfe",)))
    path = tmp_path / "s.csv"
    if level == "video":
        path.write_text("ABCD,1 0.5\n")
        found = score(read_submission(str(path)), shard)
        assert (found.videos, found.missing_videos) == (8, 8)
    else:
        path.write_text("1,ABCD:0\n")
        submission, shards = read_submission(str(path)), find_shards(str(shard))
        found = score_segments(submission, shards, top_n=5, advance=ignore)
        assert found.segments == len({name for name, _ in ratings_of(shard)})


@pytest.mark.real
@pytest.mark.parametrize("name", GOLDEN_CASES)
def test_gap_is_what_the_original_computes(tmp_path, name):
    if not (GOLDEN / "golden.json").exists():
        pytest.skip(f"no golden values in {GOLDEN}; set YT8M_REAL_DATA to where they are")
    case = json.loads((GOLDEN / "golden.json").read_text())["cases"][name]
    with np.load(GOLDEN / f"{name}.npz") as arrays:
        predictions, labels = arrays["predictions"], arrays["labels"]
    ids = [f"video{number}" for number in range(len(predictions))]
    records = [
        encode_example(
            {"id": bytes_feature(i.encode()), "labels": int64_feature(np.flatnonzero(row > 0))}
        )
        for i, row in zip(ids, labels, strict=True)
    ]
    data = write_all(tmp_path / "data.tfrecord", records)
    submission = write_videos(tmp_path / "s.csv", ids, predictions.astype(np.float64))
    assert score(submission, data).gap == pytest.approx(case["gap"], abs=1e-9)
