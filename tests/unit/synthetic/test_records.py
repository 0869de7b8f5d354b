"""What is in the generated records: labels, ranges, frames, ratings, and what tells the classes."""

import numpy as np
import pytest
from records import generate_dataset, read_all

from yt8m.components.extras.synthetic.spec import DatasetSpec
from yt8m.components.extras.synthetic.world import ClassKind, create_world
from yt8m.components.records.decode import decode_record
from yt8m.schemas.features import FeatureConfig, Level

LOWEST, HIGHEST = 4 / 512 - 2, 4 / 512 + 2


def decoded(directory, split="train"):
    return [
        decode_record(record)
        for path in sorted(directory.glob(f"{split}*.tfrecord"))
        for record in read_all(path)
    ]


def vectors(records):
    return np.array(
        [np.concatenate([r.features["mean_rgb"], r.features["mean_audio"]]) for r in records]
    )


def targets(records, classes):
    dense = np.zeros((len(records), classes))
    for row, record in zip(dense, records, strict=True):
        row[record.features["labels"]] = 1
    return dense


def dequantised(record):
    stored = np.hstack([record.feature_lists["rgb"], record.feature_lists["audio"]])
    return stored * (4 / 255) + LOWEST


def gap(scores, labels, top=20):
    """The definition, written out: pool the best of each row, sort, average the precisions."""
    pairs = []
    for score, label in zip(scores, labels, strict=True):
        best = np.argsort(-score)[:top]
        pairs += zip(score[best], label[best], strict=True)
    hits = np.array([hit for _, hit in sorted(pairs, key=lambda pair: -pair[0])])
    precision = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    return float((hits * precision).sum() / labels.sum())


def ridge(features, labels, held_out):
    """Scores of a linear model in closed form; `features` and `held_out` get a constant."""
    x = np.column_stack([features, np.ones(len(features))])
    weights = np.linalg.solve(x.T @ x + 100.0 * np.eye(x.shape[1]), x.T @ labels)
    return np.column_stack([held_out, np.ones(len(held_out))]) @ weights


@pytest.fixture(scope="module")
def videos(tmp_path_factory):
    out = tmp_path_factory.mktemp("videos") / "data"
    return generate_dataset(out, classes=100, train=3000, eval=500, test=5)


def test_video_vectors_lie_in_the_dequantised_range_and_spread_as_real_ones_do(videos):
    x = vectors(decoded(videos))
    assert x.shape == (3000, FeatureConfig().total_size)
    assert x.min() >= LOWEST - 1e-6
    assert x.max() <= HIGHEST + 1e-6
    assert 0.4 < x[:, :1024].std() < 0.6  # 0.46 in the published records
    assert 0.6 < x[:, 1024:].std() < 0.8  # 0.70


def test_labels_are_about_three_a_video_sorted_distinct_and_zipf_distributed(videos):
    labels = [record.features["labels"] for record in decoded(videos)]
    assert 2.5 < np.mean([len(row) for row in labels]) < 3.5
    assert all(len(row) >= 1 and (np.diff(row) > 0).all() for row in labels)
    counts = np.bincount(np.concatenate(labels), minlength=100)
    assert counts[:10].sum() > 4 * counts[50:60].sum() > 4 * 2
    ranks = np.arange(100) + 3
    slope = np.polyfit(np.log(ranks), np.log(counts + 1), 1)[0]
    assert -1.5 < slope < -0.6


def test_labels_of_one_video_are_related(videos):
    world = create_world(DatasetSpec(train=1, classes=100))
    several = [r.features["labels"] for r in decoded(videos) if r.features["labels"].size > 1]
    first, second = (world.verticals[[labels[i] for labels in several]] for i in (0, 1))
    by_chance = (first == np.roll(second, 1)).mean()
    assert (first == second).mean() > 1.5 * by_chance


def test_test_split_has_no_labels(videos):
    keys = {tuple(sorted(record.features)) for record in decoded(videos, "test")}
    assert keys == {("id", "mean_audio", "mean_rgb")}


def test_a_linear_model_learns_the_classes_far_above_chance_and_not_all_of_them(videos):
    train, held_out = decoded(videos), decoded(videos, "validate")
    y, y_held = targets(train, 100), targets(held_out, 100)
    scores = ridge(vectors(train), y, vectors(held_out))
    chance = gap(np.tile(y.mean(axis=0), (len(y_held), 1)), y_held)
    assert gap(scores, y_held) > 3 * chance
    world = create_world(DatasetSpec(train=1, classes=100))
    two_sided = world.kinds == ClassKind.TWO_SIDED
    plain = (world.kinds == ClassKind.PLAIN) & (np.arange(100) < 40)
    two_sided &= np.arange(100) < 40
    assert (
        gap(scores[:, two_sided], y_held[:, two_sided])
        < gap(scores[:, plain], y_held[:, plain]) - 0.1
    )


def test_the_sign_of_a_two_sided_class_is_what_a_linear_model_misses(videos):
    world = create_world(DatasetSpec(train=1, classes=100))
    index = int(np.flatnonzero(world.kinds == ClassKind.TWO_SIDED)[0])
    train = decoded(videos)
    present = targets(train, 100)[:, index] == 1
    along = vectors(train) @ world.own[index]
    assert abs(along[present].mean()) < 0.5 * np.abs(along[present]).mean()
    assert np.abs(along[present]).mean() > 3 * np.abs(along[~present]).mean()


@pytest.mark.parametrize("level", ["frame", "segment"])
def test_frames_are_bytes_of_the_configured_number(tmp_path, level):
    data = generate_dataset(tmp_path / "data", level=level, min_frames=12, max_frames=15, train=60)
    counts = set()
    for record in decoded(data):
        rgb, audio = record.feature_lists["rgb"], record.feature_lists["audio"]
        assert rgb.dtype == audio.dtype == np.uint8
        assert (rgb.shape[1], audio.shape[1]) == (1024, 128)
        assert len(rgb) == len(audio)
        counts.add(len(rgb))
    assert counts == {12, 13, 14, 15}


def test_published_frame_counts_are_the_default():
    spec = DatasetSpec(level=Level.FRAME, train=1)
    assert (spec.min_frames, spec.max_frames) == (120, 300)


def test_five_distinct_segments_a_video_are_rated_and_their_scores_show_in_the_frames(tmp_path):
    data = generate_dataset(
        tmp_path / "data", level="segment", classes=20, train=150, min_frames=40, max_frames=60
    )
    world = create_world(DatasetSpec(level=Level.SEGMENT, train=1, classes=20))
    along = {0.0: [], 1.0: []}
    for record in decoded(data):
        starts = record.features["segment_start_times"]
        assert len(set(starts.tolist())) == 5
        assert (record.features["segment_end_times"] - starts == 5).all()
        assert starts.max() + 5 <= len(record.feature_lists["rgb"])
        assert set(record.features["segment_labels"]) <= set(world.rated.tolist())
        frames = dequantised(record)
        for start, label, score in zip(
            starts,
            record.features["segment_labels"],
            record.features["segment_scores"],
            strict=True,
        ):
            assert label in record.features["labels"] or score == 0
            if world.kinds[label] == ClassKind.PLAIN:
                along[float(score)].append(frames[start : start + 5].mean(0) @ world.own[label])
    assert len(along[0.0]) > 100
    assert len(along[1.0]) > 100
    assert np.mean(along[1.0]) > np.mean(along[0.0]) + 1.0


def test_a_burst_is_rated_where_it_shows(tmp_path):
    values = {"level": "segment", "classes": 20, "temporal": True}
    data = generate_dataset(tmp_path / "data", train=60, min_frames=100, max_frames=120, **values)
    world = create_world(DatasetSpec(level=Level.SEGMENT, train=1, classes=20, temporal=True))
    assert {ClassKind.PLAIN, ClassKind.BURST} == set(world.kinds[world.rated].tolist())
    along, expected, found = {0.0: [], 1.0: []}, 0, 0
    for record in decoded(data):
        features, frames = record.features, dequantised(record)
        names = ("segment_start_times", "segment_labels", "segment_scores")
        starts, classes, scores = (features[name].tolist() for name in names)
        assert len(set(starts)) == len(starts) == 5
        assert starts == sorted(starts)
        bursts = {
            label
            for label in features["labels"].tolist()
            if world.kinds[label] == ClassKind.BURST and label in world.rated
        }
        present = {c for c, score in zip(classes, scores, strict=True) if score == 1}
        expected, found = expected + len(bursts), found + len(bursts & present)
        for start, label, score in zip(starts, classes, scores, strict=True):
            if world.kinds[label] == ClassKind.BURST:
                along[score].append(frames[start : start + 5].mean(0) @ world.own[label])
    assert expected > 30
    assert found > 0.8 * expected  # two of a video may show in one segment, which is rated once
    assert min(len(along[0.0]), len(along[1.0])) > 15
    assert np.mean(along[1.0]) > np.mean(along[0.0]) + 1.0


def test_rated_classes_are_listed_as_published(tmp_path):
    data = generate_dataset(tmp_path / "data", level="segment", classes=60)
    lines = (data / "segment_label_ids.csv").read_text().split()
    world = create_world(DatasetSpec(level=Level.SEGMENT, train=1, classes=60))
    assert lines == ["Index", *map(str, world.rated.tolist())]


@pytest.fixture(scope="module")
def temporal(tmp_path_factory):
    out = tmp_path_factory.mktemp("temporal") / "data"
    data = generate_dataset(
        out,
        level="frame",
        temporal=True,
        classes=8,
        train=400,
        eval=0,
        min_frames=30,
        max_frames=40,
    )
    return decoded(data), create_world(
        DatasetSpec(level=Level.FRAME, train=1, classes=8, temporal=True)
    )


def test_the_mean_over_frames_does_not_see_temporal_classes(temporal):
    records, world = temporal
    means = np.array([dequantised(record).mean(axis=0) for record in records])
    y = targets(records, 8)
    for index in np.flatnonzero(world.kinds >= ClassKind.BURST):
        along = means @ world.own[index]
        present, absent = along[y[:, index] == 1], along[y[:, index] == 0]
        assert abs(present.mean() - absent.mean()) < 0.25, ClassKind(world.kinds[index])
    plain = int(np.flatnonzero(world.kinds == ClassKind.PLAIN)[0])
    along = means @ world.own[plain]
    assert along[y[:, plain] == 1].mean() - along[y[:, plain] == 0].mean() > 0.8


def test_single_frames_see_a_burst(temporal):
    records, world = temporal
    index = int(np.flatnonzero(world.kinds == ClassKind.BURST)[0])
    highest = np.array([(dequantised(record) @ world.own[index]).max() for record in records])
    present = targets(records, 8)[:, index] == 1
    assert highest[present].mean() > highest[~present].mean() + 1.5


def test_only_the_order_of_frames_tells_the_two_classes_of_a_pair(temporal):
    records, world = temporal
    first = int(np.flatnonzero(world.kinds == ClassKind.ORDER_FIRST)[0])
    second = first + 1
    y = targets(records, 8)
    assert not (y[:, first] * y[:, second]).any()

    def halves(record):
        along = dequantised(record) @ world.own[first]
        half = len(along) // 2
        return along[:half].mean() - along[-half:].mean(), np.abs(along - along.mean()).mean()

    differences, spreads = np.array([halves(record) for record in records]).T
    a, b = y[:, first] == 1, y[:, second] == 1
    assert differences[a].mean() > 1.5
    assert differences[b].mean() < -1.5
    assert abs(spreads[a].mean() - spreads[b].mean()) < 0.2  # the bag of frames is the same
