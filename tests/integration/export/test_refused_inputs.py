"""What an export answers to inputs that are not as they should be, and what it does without."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from batches import MODELS, create_network
from records import drop_feature, edit_record, read_all
from sources import FEATURES, make_source
from transform_graphs import make_transform_graph

from yt8m.components.export.load import load_export, load_model
from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.models.heads import create_heads
from yt8m.components.predictions.plan import Format, PredictionPlan
from yt8m.components.predictions.predictor import Predictor
from yt8m.components.records.find import find_shards
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import Level

CASES = {Level.VIDEO: "moe", Level.FRAME: "netvlad_gated", Level.SEGMENT: "frame_logistic"}


def _export(place, level, **spec):
    heads = create_heads((), features=FEATURES, level=level)
    network = create_network(MODELS[CASES[level]], features=FEATURES, level=level, heads=heads)
    export_model(network, str(place / "model"), ExportSpec(level=level, features=FEATURES, **spec))
    return load_export(str(place / "model"))


def _records(source):
    return [record for shard in source.shards for record in read_all(Path(shard.uri))]


@pytest.mark.parametrize("with_graph", [False, True], ids=["arithmetic", "transform graph"])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused_by_every_signature_with_the_features_name(
    tmp_path, value, with_graph
):
    source = make_source(tmp_path / "data", Level.VIDEO, train=4, shards=1)
    graph = None
    if with_graph:
        pattern = str(tmp_path / "data" / "train*")
        graph = str(make_transform_graph(pattern, tmp_path, level=Level.VIDEO, features=FEATURES))
    model = _export(tmp_path, Level.VIDEO, transform_graph=graph)
    good = tf.train.Example.FromString(_records(source)[0])
    for name in FEATURES.names:
        bad = tf.train.Example.FromString(good.SerializeToString())
        bad.features.feature[f"mean_{name}"].float_list.value[1] = value
        batch = tf.constant([good.SerializeToString(), bad.SerializeToString()])
        said = rf"mean_{name} \({name}\) must hold finite numbers alone"
        video = bad.features.feature["id"].bytes_list.value[0].decode()
        where = f"video {video}: feature mean_{name} holds NaN or infinity"
        for answer in (model.serve, model.score):
            with pytest.raises(tf.errors.InvalidArgumentError, match=said):
                answer(examples=batch)
        arrays = {n: np.zeros([2, s], np.float32) for n, s in FEATURES.size_by_name.items()}
        arrays[name][1, 0] = value
        with pytest.raises(tf.errors.InvalidArgumentError, match=said):
            model.loaded.signatures["features"](**{k: tf.constant(v) for k, v in arrays.items()})
        loaded = load_model(model.directory)
        for answer in (loaded.score_records, loaded.serve_records):
            with pytest.raises(DataError, match=rf"these records .*{where} .*{said}.*inspect"):
                answer(batch)


@pytest.mark.parametrize("level", list(CASES), ids=lambda level: level.value)
def test_a_record_may_have_no_id_and_scores_the_same(tmp_path, level):
    source = make_source(tmp_path / "data", level, train=3, shards=1)
    model = _export(tmp_path, level)
    with_id = _records(source)
    shard = tmp_path / "data" / "train0000.tfrecord"
    for index in range(len(with_id)):
        edit_record(shard, index, drop_feature("id"))
    anonymous = _records(source)
    expected = model.score(examples=tf.constant(with_id))
    found = model.score(examples=tf.constant(anonymous))
    np.testing.assert_allclose(found["scores"], expected["scores"], rtol=1e-6)
    assert set(expected["video_id"].numpy()) != {b""}
    assert set(found["video_id"].numpy()) == {b""}
    assert set(model.serve(examples=tf.constant(anonymous))["video_id"].numpy()) == {b""}


def test_a_record_without_segments_has_no_rows_and_one_with_frames_of_another_size_is_refused(
    tmp_path,
):
    source = make_source(tmp_path / "data", Level.SEGMENT, train=3, shards=1)
    model = _export(tmp_path, Level.SEGMENT)
    shard = tmp_path / "data" / "train0000.tfrecord"
    for index in range(3):
        edit_record(shard, index, drop_feature("segment_start_times"))
    for answer in (model.score, model.serve):
        found = answer(examples=tf.constant(_records(source)))
        assert found["scores"].shape[0] == found["video_id"].shape[0] == 0

    other = make_source(tmp_path / "other", Level.SEGMENT, train=3, sizes={"rgb": 8, "audio": 8})
    with pytest.raises(tf.errors.InvalidArgumentError):
        model.score(examples=tf.constant(_records(other)))


def test_predictions_need_ids_since_they_are_told_apart_by_them(tmp_path):
    make_source(tmp_path / "data", Level.VIDEO, train=3, shards=1)
    model = _export(tmp_path, Level.VIDEO)
    edit_record(tmp_path / "data" / "train0000.tfrecord", 1, drop_feature("id"))
    plan = PredictionPlan(model=model.directory, level=Level.VIDEO, format=Format.JSONL)
    shards = find_shards(str(tmp_path / "data" / "train*"))
    with pytest.raises(DataError, match=r"a record without `id` \(the one after video "):
        list(Predictor(plan).batches(shards))


def test_records_of_another_level_are_called_so(tmp_path):
    model = _export(tmp_path, Level.VIDEO)
    records = _records(make_source(tmp_path / "frames", Level.FRAME, train=2, shards=1))
    said = r"made for video-level records with .*\): video .* is of level frame"
    with pytest.raises(DataError, match=said):
        model.score_records(tf.constant(records))


@pytest.mark.parametrize("level", [Level.FRAME, Level.SEGMENT], ids=lambda level: level.value)
def test_records_of_videos_are_refused_by_every_signature_of_a_model_of_frames(tmp_path, level):
    model = _export(tmp_path, level)
    frames = _records(make_source(tmp_path / "frames", level, train=2, shards=1))
    videos = _records(make_source(tmp_path / "videos", Level.VIDEO, train=2, shards=1))
    for records in (videos, [*frames, *videos]):
        for answer in (model.serve, model.score):
            with pytest.raises(tf.errors.InvalidArgumentError, match="a record is of level video"):
                answer(examples=tf.constant(records))
        with pytest.raises(DataError, match=r"video .* is of level video"):
            model.score_records(tf.constant(records))
