"""A training that reads what Transform has materialised learns what it would of the records."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
from records import make_dataset
from training import CLASSES, make_job

from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.inputs.video import parse_videos
from yt8m.components.preprocessing.arithmetic import normalize
from yt8m.components.trainer.backends.in_process import run_job
from yt8m.components.trainer.state.warm_start import read_weights
from yt8m.components.trainer.transformed import are_transformed, write_manifest
from yt8m.schemas.errors import DataError
from yt8m.schemas.features import FeatureConfig, Level

FEATURES = FeatureConfig(num_classes=CLASSES)


def transform(source, target):
    """The records of a shard as Transform writes them, by the arithmetic of its graph."""
    records = list(tf.data.TFRecordDataset(str(source)).as_numpy_iterator())
    batch = parse_videos(tf.constant(records), FEATURES, with_id=True)
    vectors = normalize(batch, names=FEATURES.names, level=Level.VIDEO).numpy()
    target.parent.mkdir(parents=True, exist_ok=True)
    options = tf.io.TFRecordOptions(compression_type="GZIP")
    with tf.io.TFRecordWriter(str(target), options) as writer:
        for row, vector in enumerate(vectors):
            labels = [int(one) for one in batch["labels"][row].numpy() if one >= 0]
            feature = {
                "features": tf.train.Feature(float_list=tf.train.FloatList(value=vector)),
                "labels": tf.train.Feature(int64_list=tf.train.Int64List(value=labels)),
                "id": tf.train.Feature(
                    bytes_list=tf.train.BytesList(value=[batch["id"][row].numpy()])
                ),
            }
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())
    return len(records)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    root = tmp_path_factory.mktemp("transformed")
    data = make_dataset(root / "data", classes=CLASSES)
    counts = {}
    for prefix, split in (("train", "train"), ("validate", "eval")):
        for number, source in enumerate(sorted(data.glob(f"{prefix}*.tfrecord"))):
            target = root / "out" / f"Split-{split}" / f"transformed_examples-{number:05d}.gz"
            counts[str(target)] = transform(source, target)
    return data, root / "out", counts


def patterns(out):
    return [f"{out}/Split-{split}/*" for split in ("train", "eval")]  # as TFX gives them


def test_the_manifest_has_every_shard_with_its_split_and_its_records(places, tmp_path):
    data, out, counts = places
    manifest = Manifest.from_json(Path(write_manifest(patterns(out), str(tmp_path))).read_text())
    assert manifest.transformed
    assert are_transformed(patterns(out))
    assert not are_transformed([f"{data}/train*"])
    assert {shard.uri: shard.records for shard in manifest.shards} == counts
    assert {shard.compression for shard in manifest.shards} == {"GZIP"}
    assert all(f"/Split-{shard.split}/" in shard.uri for shard in manifest.shards)


def test_without_examples_the_message_names_the_place(tmp_path):
    (tmp_path / "Split-train").mkdir()
    with pytest.raises(DataError, match=r"no examples in .*Split-train"):
        write_manifest([f"{tmp_path}/Split-train/*"], str(tmp_path))


def test_the_weights_are_those_of_a_training_on_the_records(places, tmp_path):
    data, out, _ = places
    settings = {"max_steps": 12, "validation": {"every_steps": 12}}
    plain = make_job(tmp_path / "plain", data=data, **settings)
    run_job(plain, {})
    job = make_job(tmp_path / "transformed", data=data, **settings)
    path = write_manifest(patterns(out), str(tmp_path / "transformed"))
    job = dataclasses.replace(job, manifest=path)
    run_job(job, {})
    expected, weights = (
        {k: v for k, v in read_weights(one.checkpoint_dir).items() if k.startswith("network/")}
        for one in (plain, job)
    )
    assert expected.keys() == weights.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(weights[name], value, rtol=1e-3, atol=1e-4, err_msg=name)
