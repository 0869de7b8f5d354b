"""Segments scored by models of whole videos: against an export of segment level with the same
weights, against numpy, and as a competition's file against its description."""

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from batches import MODELS, create_network
from exported_models import LinearModel
from records import encode_record, make_dataset, read_all, set_feature, set_frames
from sources import FEATURES, SIZES

from yt8m.cli.main import run as yt8m
from yt8m.components.export.load import load_export
from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.export.segments import load_scorer
from yt8m.components.models.heads import create_heads
from yt8m.components.records.decode import decode_record
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import Level, SegmentScoring

CLASSES = FEATURES.num_classes


def export_network(place, name, level, *, weights=None):
    """An export of a network with weights far apart; with those of `weights` where given."""
    heads = create_heads((), features=FEATURES, level=level)
    network = create_network(MODELS[name], features=FEATURES, level=level, heads=heads, seed=1)
    noise = np.random.default_rng(5)
    for own, given in zip(network.weights, weights or network.weights, strict=True):
        other = given.numpy() if weights else noise.normal(size=own.shape).astype(np.float32)
        own.assign(np.abs(other) if "variance" in own.name else other)
    export_model(network, str(place), ExportSpec(level=level, features=FEATURES))
    return network


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """Of each model an export of frame level, and one of segment level with its weights."""
    place = tmp_path_factory.mktemp("models")
    for name in ("frame_logistic", "dbof", "lstm"):
        network = export_network(place / name, name, Level.FRAME)
        export_network(place / f"{name}_segments", name, Level.SEGMENT, weights=network.weights)
    return place


@pytest.fixture(scope="module")
def rated(tmp_path_factory):
    place = tmp_path_factory.mktemp("rated")
    values = {"train": 0, "eval": 20, "test": 7, "shards": 2, "sizes": SIZES, "max_frames": 24}
    return make_dataset(place / "data", level="segment", **values)


def records_of(data, split):
    return [r for path in sorted(data.glob(f"{split}*.tfrecord")) for r in read_all(path)]


@pytest.mark.parametrize("name", ["frame_logistic", "dbof", "lstm"])
def test_windows_are_what_a_model_of_segments_with_these_weights_says(models, rated, name):
    records = tf.constant(records_of(rated, "validate"))
    found = load_scorer(str(models / name), level=Level.SEGMENT).score_records(records)
    expected = load_export(str(models / f"{name}_segments")).score_records(records)
    assert found.ids.tolist() == expected.ids.tolist()
    assert found.starts.tolist() == expected.starts.tolist()
    np.testing.assert_allclose(found.scores, expected.scores, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("score", [SegmentScoring.PRODUCT, SegmentScoring.MEAN])
@pytest.mark.parametrize("context", ["", "lstm"])
def test_the_score_of_the_whole_video_comes_from_the_model_or_its_context(
    models, rated, score, context
):
    records = tf.constant(records_of(rated, "validate"))
    model, around = str(models / "dbof"), str(models / (context or "dbof"))
    found = load_scorer(
        model, level=Level.SEGMENT, segments=score, context=str(models / context) if context else ""
    ).score_records(records)
    window = load_export(f"{model}_segments").score_records(records).scores.numpy()
    whole = load_export(around).score(examples=records)
    by_id = dict(zip(whole["video_id"].numpy().tolist(), whole["scores"].numpy(), strict=True))
    for row, name, own in zip(found.scores.numpy(), found.ids.tolist(), window, strict=True):
        of_both = own * by_id[name] if score is SegmentScoring.PRODUCT else (own + by_id[name]) / 2
        np.testing.assert_allclose(row, of_both, rtol=1e-4, atol=1e-6)


class InDoublePrecision(LinearModel):
    """A model of whole videos from elsewhere."""

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
    def scores(self, examples):
        answer = super().scores(examples)
        return {**answer, "scores": tf.cast(answer["scores"], tf.float64)}


@pytest.mark.parametrize("score", [SegmentScoring.PRODUCT, SegmentScoring.MEAN])
def test_the_context_may_score_in_double_precision(models, rated, tmp_path, score):
    weights = np.ones((sum(SIZES.values()) + 1, CLASSES), np.float32)
    double, single = InDoublePrecision(weights, frames=True), LinearModel(weights, frames=True)
    records = tf.constant(records_of(rated, "validate"))
    found = []
    for number, context in enumerate((double, single)):
        directory = str(tmp_path / str(number))
        tf.saved_model.save(context, directory, signatures={"scores": context.scores})
        scorer = load_scorer(
            str(models / "dbof"), level=Level.SEGMENT, segments=score, context=directory
        )
        found.append(scorer.score_records(records).scores)
    np.testing.assert_allclose(*found, rtol=1e-6)


@pytest.mark.parametrize("name", ["dbof", "dbof_segments"])
def test_records_of_one_id_have_each_its_own_scores(models, rated, name):
    first, second, third, *_ = map(decode_record, records_of(rated, "validate"))
    named = [set_feature("id", first.features["id"])(record) for record in (second, third)]
    scorer = load_scorer(
        str(models / name),
        level=Level.SEGMENT,
        segments=SegmentScoring.MEAN,
        context=str(models / "dbof"),
    )
    texts = [encode_record(record) for record in (first, *named, second)]
    alone = [scorer.score_records(tf.constant([text])).scores.numpy() for text in texts]
    together = scorer.score_records(tf.constant(texts)).scores.numpy()
    np.testing.assert_allclose(together, np.concatenate(alone), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", ["dbof", "dbof_segments"])
def test_segments_beyond_every_video_are_scored_as_no_frames_and_change_no_others(
    models, rated, name
):
    texts = records_of(rated, "validate")[:3]
    edited = set_feature("segment_start_times", [0, 2**63 - 1])(decode_record(texts[1]))
    scorer = load_scorer(str(models / name), level=Level.SEGMENT)
    found = scorer.score_records(tf.constant([texts[0], encode_record(edited), texts[2]]))
    expected = scorer.score_records(tf.constant(texts))
    assert found.starts is not None
    place = found.starts.tolist().index(2**63 - 1)
    of_edited = found.ids == edited.features["id"][0]
    of_others = expected.ids != edited.features["id"][0]
    assert of_edited.tolist().index(True) == place - 1
    assert np.isfinite(found.scores.numpy()[place]).all()
    others = expected.scores.numpy()[of_others]
    np.testing.assert_allclose(found.scores.numpy()[~of_edited], others, rtol=1e-4, atol=1e-6)


def test_a_fine_tuned_model_needs_a_context_to_be_multiplied_with(models):
    tuned, product = str(models / "dbof_segments"), SegmentScoring.PRODUCT
    with pytest.raises(UserError, match="name a frame-level model as the context"):
        load_scorer(tuned, level=Level.SEGMENT, segments=product)
    with pytest.raises(UserError, match="comes from a frame-level model"):
        load_scorer(tuned, level=Level.SEGMENT, segments=product, context=tuned)
    context = str(models / "dbof")
    assert load_scorer(tuned, level=Level.SEGMENT, segments=product, context=context)


def test_a_record_that_cannot_be_read_is_named(models, rated):
    from yt8m.schemas.errors import DataError

    first, second, *_ = records_of(rated, "validate")
    narrow = set_frames("rgb", np.zeros((9, 3), np.uint8))(decode_record(second))
    records = tf.constant([first, encode_record(narrow)])
    with pytest.raises(DataError, match="record 1 of the batch: frames of feature rgb are not"):
        load_scorer(str(models / "dbof"), level=Level.SEGMENT).score_records(records)


def expected_file(scored, allowed, limit):
    """The file of 2019, from its description: a header; a line for each class; its segments as
    ID:START, separated by spaces, the best first, of equal scores as the data have them."""
    lines = ["Class,Segments"]
    for label in allowed:
        rows = [(-row[label], number) for number, (_, _, row) in enumerate(scored)]
        best = [scored[number] for _, number in sorted(rows)[:limit]]
        lines.append(f"{label},{' '.join(f'{name}:{start}' for name, start, _ in best)}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("split", ["validate", "test"])
@pytest.mark.parametrize("score", list(SegmentScoring), ids=lambda score: score.value)
def test_the_file_of_segments_is_byte_for_byte_what_its_format_says(
    models, rated, tmp_path, split, score
):
    """Of records with ratings their segments, of records without all windows."""
    out, limit = tmp_path / "segments.csv", 9
    (tmp_path / "classes.csv").write_text("Index\n7\n2\n5\n")
    words = ["--data", str(rated / f"{split}*"), "--out", str(out), "--format", "segment"]
    words += ["--segment-classes", str(tmp_path / "classes.csv"), "--max-segments", str(limit)]
    words += ["--segments", score.value, "--batch-size", "3"]
    assert yt8m(["predict", "--quiet", "--model", str(models / "dbof"), *words]) == 0
    features = load_export(str(models / "dbof")).loaded.signatures["features"]
    whole_video = load_export(str(models / "dbof"))
    scored = []
    for record in records_of(rated, split):
        decoded = decode_record(record)
        named = np.asarray(decoded.features.get("segment_start_times", ())).tolist()
        starts = list(dict.fromkeys(named)) or list(range(0, decoded.num_frames, 5))
        whole = whole_video.score(examples=tf.constant([record]))["scores"].numpy()[0]
        for start in starts:
            frames = {key: decoded.feature_lists[key][start : start + 5][None] for key in SIZES}
            arrays = {key: tf.constant(value) for key, value in frames.items()}
            count = tf.constant([frames["rgb"].shape[1]], tf.int32)
            window = features(**arrays, num_frames=count)["scores"].numpy()[0]
            row = {"window": window, "product": window * whole, "mean": (window + whole) / 2}
            scored.append((decoded.features["id"][0].decode(), start, row[score.value].tolist()))
    assert out.read_text() == expected_file(scored, [2, 5, 7], limit)


def test_the_readme_of_2019_works_trained_on_frames_evaluated_on_rated_segments(
    models, rated, tmp_path, capsys
):
    """MAP against the ratings, by the slow way, through the command."""
    words = ["--data", str(rated / "validate*"), "--json", "--quiet", "--no-intervals"]
    found = {}
    for score in ("window", "product"):
        model = ["--model", str(models / "dbof"), "--segments", score]
        assert yt8m(["evaluate", *model, *words]) == 0
        found[score] = json.loads(capsys.readouterr().out)
    assert yt8m(["evaluate", "--model", str(models / "dbof_segments"), *words]) == 0
    of_segments = json.loads(capsys.readouterr().out)
    assert found["window"]["level"] == "segment"
    assert found["window"]["examples"] == of_segments["examples"] > found["window"]["videos"]
    for name in ("map", "gap", "loss", "perr", "hit_at_1"):
        assert found["window"][name] == pytest.approx(of_segments[name], abs=1e-4)
    assert found["product"]["map"] != found["window"]["map"]


def test_what_cannot_be_scored_is_said_and_ends_with_2(models, rated, tmp_path, capsys):
    video = make_dataset(tmp_path / "video", sizes=SIZES)
    out = ["--out", str(tmp_path / "p.csv")]
    tuned, frames = (["--model", str(models / name)] for name in ("dbof_segments", "dbof"))
    data, videos = (["--data", str(place / "validate*")] for place in (rated, video))
    around = ["--context", str(models / "dbof"), "--out", str(models / "dbof" / "saved_model.pb")]
    cases = [
        (
            ["predict", *tuned, *data, *around, "--format", "segment", "--segments", "product"],
            "belongs to the model",
        ),
        (["evaluate", *tuned, *data, "--segments", "mean"], "name a frame-level model"),
        (["evaluate", *frames, *videos, "--segments", "mean"], "have no segments"),
        (["evaluate", *frames, *data, "--context", str(models / "dbof")], "needs --segments"),
        (
            ["predict", *tuned, *data, *out, "--format", "segment", "--segments", "product"],
            "name a frame-level model",
        ),
        (
            ["predict", *frames, *data, *out, "--format", "video", "--segments", "window"],
            "this format is for videos",
        ),
        (
            ["predict", *frames, *data, *out, "--format", "segment", "--segment-classes", "x.csv"],
            "no such file",
        ),
    ]
    for words, why in cases:
        assert yt8m(words) == 2
        assert why in capsys.readouterr().err
    assert not Path(out[1]).exists()


def test_other_formats_have_segments_where_they_are_asked_for(models, rated, tmp_path):
    counts = {}
    for name, more in (("videos", []), ("segments", ["--segments", "window"])):
        out = tmp_path / f"{name}.jsonl"
        words = ["--data", str(rated / "test*"), "--out", str(out), "--format", "jsonl", *more]
        assert yt8m(["predict", "--quiet", "--model", str(models / "lstm"), *words]) == 0
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        counts[name] = len(rows)
        assert all(("segment_start" in row) is (name == "segments") for row in rows)
    frames = [decode_record(record).num_frames for record in records_of(rated, "test")]
    assert counts == {"videos": 7, "segments": sum(-(-count // 5) for count in frames)}
