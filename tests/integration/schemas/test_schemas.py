"""Records of every level, read by TFX through the curated schemas and validated against them."""

import os
from pathlib import Path

import apache_beam as beam
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_data_validation as tfdv
from records import drop_feature, edit_record, make_dataset, read_all, set_feature
from tfx_bsl.coders.example_coder import ExamplesToRecordBatchDecoder
from tfx_bsl.coders.sequence_example_coder import SequenceExamplesToRecordBatchDecoder
from tfx_bsl.tfxio.tensor_adapter import TensorAdapter
from tfx_bsl.tfxio.tf_example_record import TFExampleRecord
from tfx_bsl.tfxio.tf_sequence_example_record import TFSequenceExampleRecord

from yt8m.components.records.decode import decode_record
from yt8m.components.records.vocabulary import load_vocabulary
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.load import SEQUENCE, load_schema

CLASSES = 20
FEATURES = FeatureConfig(num_classes=CLASSES)
LEVELS = pytest.mark.parametrize("level", list(Level), ids=lambda level: level.value)
REAL = Path(os.environ.get("YT8M_REAL_DATA", Path(__file__).parents[4] / "shared" / "data"))


def tfxio(pattern, level, features=FEATURES):
    cls = TFSequenceExampleRecord if level.is_sequence else TFExampleRecord
    schema = load_schema(level, features)
    return cls(str(pattern), schema=schema, telemetry_descriptors=["test"])


def read_tensors(path, level, features=FEATURES):
    """All records of a file as TFX's dictionary of tensors, in one batch."""
    schema = load_schema(level, features).SerializeToString()
    decoder = (
        SequenceExamplesToRecordBatchDecoder(SEQUENCE, schema)
        if level.is_sequence
        else ExamplesToRecordBatchDecoder(schema)
    )
    batch = decoder.DecodeBatch(read_all(path))
    config = tfxio(path, level, features).TensorAdapterConfig()
    return TensorAdapter(config).ToBatchTensors(batch)


def find_anomalies(pattern, level, tmp_path, features=FEATURES):
    """What ExampleValidator would say: feature path -> short description."""
    io = tfxio(pattern, level, features)
    schema = load_schema(level, features)
    out = str(tmp_path / "statistics")
    with beam.Pipeline() as pipeline:
        _ = (
            pipeline
            | io.BeamSource()
            | tfdv.GenerateStatistics(tfdv.StatsOptions(schema=schema))
            | tfdv.WriteStatisticsToTFRecord(out)
        )
    found = tfdv.validate_statistics(tfdv.load_statistics(out), schema)
    return {path: info.short_description for path, info in found.anomaly_info.items()}


@LEVELS
def test_transform_sees_the_tensors_that_the_records_hold(tmp_path, level):
    path = make_dataset(tmp_path / "data", level=level.value, shards=1) / "train0000.tfrecord"
    tensors = read_tensors(path, level)
    ids = np.ravel(tensors["id"]).tolist()
    labels = tf.RaggedTensor.from_sparse(tensors["labels"]).to_list()
    for row, record in enumerate(map(decode_record, read_all(path))):
        assert [ids[row]] == list(record.features["id"])
        assert labels[row] == record.features["labels"].tolist()
        for name, size in FEATURES.size_by_name.items():
            if level is Level.VIDEO:
                assert np.array_equal(tensors[f"mean_{name}"][row], record.features[f"mean_{name}"])
            else:
                texts = np.ravel(tensors[name][row].to_list()).tolist()
                frames = np.frombuffer(b"".join(texts), np.uint8).reshape(-1, size)
                assert np.array_equal(frames, record.feature_lists[name])


@LEVELS
def test_generated_records_have_no_anomaly(tmp_path, level):
    data = make_dataset(tmp_path / "data", level=level.value)
    assert find_anomalies(data / "train*", level, tmp_path) == {}


@LEVELS
def test_classes_beyond_the_configured_ones_are_an_anomaly(tmp_path, level):
    data = make_dataset(tmp_path / "data", level=level.value, train=60)
    fewer = FeatureConfig(num_classes=5)
    assert "labels" in find_anomalies(data / "train*", level, tmp_path, fewer)


@pytest.mark.parametrize(
    ("edit", "path"),
    [
        (drop_feature("mean_audio"), "mean_audio"),
        (drop_feature("labels"), "labels"),
        (set_feature("mean_rgb", np.full(1024, np.nan, np.float32)), "mean_rgb"),
        (set_feature("mean_rgb", np.full(1024, 70.0, np.float32)), "mean_rgb"),
        (set_feature("labels", [-4]), "labels"),
    ],
)
def test_one_bad_record_is_an_anomaly(tmp_path, edit, path):
    data = make_dataset(tmp_path / "data", shards=1)
    edit_record(data / "train0000.tfrecord", 4, edit)
    assert path in find_anomalies(data / "train*", Level.VIDEO, tmp_path)


@LEVELS
def test_one_feature_alone_may_be_configured(tmp_path, level):
    data = make_dataset(tmp_path / "data", level=level.value, sizes={"audio": 16})
    alone = FeatureConfig(names=("audio",), sizes=(16,), num_classes=CLASSES)
    assert find_anomalies(data / "train*", level, tmp_path, alone) == {}
    names = load_schema(level, alone)
    assert "rgb" not in str(names)


@pytest.mark.real
def test_published_records_have_no_anomaly(tmp_path):
    shards = REAL / "yt8m-real"
    if not shards.is_dir():
        pytest.skip(f"no real shards at {shards}; set YT8M_REAL_DATA to the directory above them")
    published = FeatureConfig()
    assert find_anomalies(shards / "validate000*", Level.VIDEO, tmp_path, published) == {}
    tensors = read_tensors(shards / "validate0000.tfrecord", Level.VIDEO, published)
    assert tensors["mean_rgb"].shape[1:] == (1024,)


@pytest.mark.real
def test_published_vocabulary_is_read():
    path = REAL / "vocabulary_short.csv"
    if not path.is_file():
        pytest.skip(f"no {path}; set YT8M_REAL_DATA to its directory")
    vocabulary = load_vocabulary(str(path), num_classes=3862)
    assert vocabulary.names[:2] == ("Game", "Video game")
    assert {v for group in vocabulary.verticals_of_class for v in group} == set(range(25))
