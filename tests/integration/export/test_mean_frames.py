"""A model that averages frames is given the mean frame: the same scores, whoever made it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from batches import MODELS, create_network
from records import Edit, encode_record, read_all, set_frames
from sources import FEATURES, make_source

from yt8m.components.export.load import LoadedModel, load_export
from yt8m.components.export.mean_frames import score_mean_frames
from yt8m.components.export.save import ExportSpec, export_model
from yt8m.components.models.heads import create_heads
from yt8m.components.records.decode import decode_record
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import Level


def _export(place, model: str, level: Level = Level.FRAME) -> LoadedModel:
    heads = create_heads((), features=FEATURES, level=level)
    network = create_network(MODELS[model], features=FEATURES, level=level, heads=heads, seed=1)
    export_model(network, str(place / model), ExportSpec(level=level, features=FEATURES))
    return load_export(str(place / model))


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return _export(tmp_path_factory.mktemp("model"), "frame_logistic")


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    source = make_source(tmp_path_factory.mktemp("data"), Level.FRAME, train=7, shards=1)
    return read_all(Path(source.shards[0].uri))


def _edited(record: bytes, edit: Edit) -> bytes:
    return encode_record(edit(decode_record(record)))


def _joined(model, records, batch_size):
    batches = list(score_mean_frames(model, records, batch_size))
    ids = [name for batch in batches for name in batch.ids.tolist()]
    return ids, np.concatenate([batch.scores.numpy() for batch in batches])


@pytest.mark.parametrize("batch_size", [1, 3, 7, 100])
def test_scores_and_ids_are_those_of_the_records_themselves(model, records, batch_size):
    expected = model.score_records(tf.constant(records))
    ids, scores = _joined(model, records, batch_size)
    assert ids == expected.ids.tolist()
    np.testing.assert_allclose(scores, expected.scores.numpy(), rtol=1e-6)


def test_a_record_without_frames_is_scored_in_its_place_by_the_graph(model, records):
    empty = records[2]
    for name in FEATURES.names:
        empty = _edited(empty, set_frames(name, ()))
    mixed = [*records[:2], empty, *records[3:]]
    expected = model.score_records(tf.constant(mixed))
    ids, scores = _joined(model, mixed, 4)
    assert ids == expected.ids.tolist()
    np.testing.assert_allclose(scores, expected.scores.numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    "spoilt",
    [
        b"no record",
        lambda record: _edited(record, set_frames("rgb", np.zeros((3, 5), np.uint8))),
    ],
    ids=["no record", "frames of another size"],
)
def test_a_record_that_cannot_be_read_is_the_error_that_the_graph_makes_of_it(
    model, records, spoilt
):
    bad = spoilt if isinstance(spoilt, bytes) else spoilt(records[0])
    with pytest.raises(DataError, match="cannot read these records"):
        list(score_mean_frames(model, [records[0], bad], 10))


@pytest.mark.parametrize(
    ("name", "level"), [("netvlad", Level.FRAME), ("mlp", Level.SEGMENT), ("mlp", Level.VIDEO)]
)
def test_a_model_that_looks_at_frames_or_is_of_another_level_takes_no_mean(tmp_path, name, level):
    assert _export(tmp_path, name, level).score_means is None
