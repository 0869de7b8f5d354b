"""Heads that learn a column of the records beside their labels."""

import numpy as np
import pytest
import tensorflow as tf
from records import encode_record, make_dataset, read_all, set_feature, write_all
from training import CLASSES, make_job, rows, train

from yt8m.components.artifacts.export_info import HEADS
from yt8m.components.inputs.dataset import dataset_for_scoring
from yt8m.components.records.decode import decode_record
from yt8m.components.trainer.input import load_data
from yt8m.schemas.batch import VIDEO_LABELS
from yt8m.schemas.errors import ConfigError, DataError
from yt8m.schemas.features import LABELS

GENRES = 4
OWN = {"name": "own", "task": "genre", "labels": "genre_ids", "num_classes": GENRES}
HEADS_OF_BOTH = [{"name": "entities"}, OWN]
EPSILON = 1e-5  # of the cross entropy


def genres_of(labels):
    """The column's values; a video of whose labels none is below 12 has no column."""
    return sorted({int(label) % GENRES for label in labels if 0 <= label < 12})


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """By level, records with the column."""
    root = tmp_path_factory.mktemp("own_heads")
    places = {}
    for level in ("video", "frame", "segment"):
        places[level] = make_dataset(root / level, level=level, classes=CLASSES)
        for path in places[level].glob("*.tfrecord"):
            records = []
            for record in map(decode_record, read_all(path)):
                genres = genres_of(record.features["labels"])
                edited = set_feature("genre_ids", genres)(record) if genres else record
                records.append(encode_record(edited))
            write_all(path, records)
    return places


def present(row):
    return sorted(int(value) for value in row if value >= 0)


@pytest.mark.parametrize("level", ["video", "frame", "segment"])
def test_each_row_has_what_its_record_has(data, tmp_path, level):
    found = load_data(make_job(tmp_path, level=level, data=data[level], heads=HEADS_OF_BOTH))
    stored = [
        decode_record(record)
        for path in sorted(data[level].glob("validate*"))
        for record in read_all(path)
    ]
    by_id = {r.features["id"][0]: present(r.features.get("genre_ids", ())) for r in stored}
    assert [] in by_id.values()
    scored = 0
    for batch in dataset_for_scoring(found.validation, batch_size=5):
        for name, genres in zip(batch["id"].numpy(), batch["genre_ids"].numpy(), strict=True):
            assert present(genres) == by_id[name]
            scored += 1
    assert scored >= len(by_id)
    batches = iter(found.batches(found.reading(8, examples=0)))
    for _ in range(4):
        batch = next(batches)
        labels = batch.get(VIDEO_LABELS, batch[LABELS]).numpy()
        for of_video, genres in zip(labels, batch["genre_ids"].numpy(), strict=True):
            assert present(genres) == genres_of(of_video)


def test_a_task_is_learned_steers_and_is_exported_by_its_name(data, tmp_path):
    job = train(
        tmp_path,
        data["video"],
        heads=HEADS_OF_BOTH,
        validation_split="train",  # of so few videos others tell little
        max_steps=60,
        validation={"every_steps": 60, "metric": "loss_genre", "keep_best": False},
    )
    first, last = (row["loss_genre"] for row in rows(job, "validation"))
    assert last < 0.8 * first
    records = [r for path in sorted(data["video"].glob("train*")) for r in read_all(path)]
    scored = tf.saved_model.load(job.export_dir).signatures[HEADS](examples=tf.constant(records))
    assert {"entities", "genre", "video_id"} == set(scored)
    assert scored["entities"].shape == (len(records), CLASSES)
    wanted = np.zeros((len(records), GENRES))
    for row, record in enumerate(map(decode_record, records)):
        wanted[row, present(record.features.get("genre_ids", ()))] = 1
    said = scored["genre"].numpy()
    terms = wanted * np.log(said + EPSILON) + (1 - wanted) * np.log(1 - said + EPSILON)
    assert last == pytest.approx(-terms.sum(axis=1).mean(), rel=1e-3)


@pytest.mark.parametrize("level", ["video", "frame"])
def test_a_number_that_is_no_class_ends_the_training_and_is_named(data, tmp_path, level):
    heads = [{"name": "entities"}, {**OWN, "num_classes": 2}]
    job = make_job(tmp_path, level=level, data=data[level], heads=heads)
    from yt8m.components.trainer.backends.in_process import run_job

    with pytest.raises(DataError, match=r"^a record has a number outside 0\.\.1 in .* genre_ids"):
        run_job(job, {})


@pytest.mark.parametrize(
    ("trainer", "message"),
    [
        ({"heads": [OWN]}, "with another head than `own` first"),
        ({"heads": HEADS_OF_BOTH, "sharing": "all"}, "sharing = 'all': must be trunk or nothing"),
        ({"heads": [*HEADS_OF_BOTH, OWN]}, "must be distinct"),
        ({"heads": [{"name": "entities"}, {**OWN, "labels": "rgb"}]}, "has no other meaning"),
        (
            {"heads": [*HEADS_OF_BOTH, {**OWN, "task": "other", "num_classes": 9}]},
            "must be the same in each head that learns 'genre_ids'",
        ),
    ],
)
def test_heads_that_cannot_be_are_refused(data, tmp_path, trainer, message):
    with pytest.raises(ConfigError, match=message):
        train(tmp_path, data["video"], **trainer)
