"""Each batch of an evaluation in TensorBoard."""

import json

import exported_models
import numpy as np
import tensorflow as tf
from records import make_dataset, read_all

from yt8m.cli.main import run as yt8m
from yt8m.components.records.decode import decode_record

CLASSES = 20


def events(directory):
    """Steps by tag."""
    found = {}
    for path in directory.glob("events.*"):
        for event in tf.compat.v1.train.summary_iterator(str(path)):
            for value in event.summary.value:
                found.setdefault(value.tag, {})[event.step] = tf.make_ndarray(value.tensor)
    return found


def test_metrics_pace_and_histograms_of_each_batch(tmp_path, capsys):
    data = make_dataset(tmp_path / "data", sizes=exported_models.SIZES, eval=1500, classes=CLASSES)
    paths = list(data.glob("train*"))
    weights = exported_models.fitted_weights(paths, CLASSES)
    model = exported_models.write_model(tmp_path / "model", weights)
    words = ["--model", str(model), "--data", str(data / "validate*"), "--json", "--quiet"]
    assert yt8m(["evaluate", *words, "--no-intervals", "--log-dir", str(tmp_path / "log")]) == 0
    whole = json.loads(capsys.readouterr().out)
    found = events(tmp_path / "log")
    # 1,500 videos in two shards, which are one group: batches of 1,024 and 476.
    for name in ("hit_at_1", "perr", "loss"):
        batches = found[f"batch/{name}"]
        mean = (1024 * batches[0] + 476 * batches[1]) / 1500
        np.testing.assert_allclose(mean, whole[name], rtol=1e-5)
    assert "batch/map" not in found  # which a batch says little of
    assert all(value > 0 for value in found["batch/examples_per_s"].values())
    first = [decode_record(record) for record in read_all(sorted(data.glob("validate*"))[0])[:16]]
    for name in exported_models.SIZES:
        values = np.concatenate([record.features[f"mean_{name}"] for record in first])
        buckets = found[f"input/mean_{name}"][0]
        assert buckets[:, 2].sum() == values.size
        np.testing.assert_allclose(
            (buckets[0, 0], buckets[-1, 1]), (values.min(), values.max()), rtol=1e-5
        )
    assert found["scores"][0][:, 2].sum() == 1024 * CLASSES
    assert set(found["log_odds"]) == {0, 1}
