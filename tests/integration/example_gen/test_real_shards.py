"""The video level on real YouTube-8M shards, where YT8M_REAL_DATA (or ../shared/data) has them."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_transform as tft
from records import read_all
from tfx_runs import create_data_path, output, run, states

from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.example_gen.config import DataConfig
from yt8m.schemas.features import FeatureConfig

_DEFAULT = Path(__file__).parents[4] / "shared" / "data"
SHARDS = Path(os.environ.get("YT8M_REAL_DATA", _DEFAULT)) / "yt8m-real"
SPLITS = {"train": ("validate00[0-4]*",), "eval": ("validate005*",)}

pytestmark = pytest.mark.real


def test_real_shards_pass_every_check_and_reach_transform(tmp_path: Path) -> None:
    if not SHARDS.is_dir():
        pytest.skip(f"no real shards in {SHARDS}; set YT8M_REAL_DATA")
    config = DataConfig(root=str(SHARDS), splits=SPLITS)
    run(create_data_path(config, FeatureConfig()), tmp_path)
    assert states(tmp_path, "Transform") == ["COMPLETE"]

    examples = output(tmp_path, "ExampleGen", "examples")
    manifest = Manifest.from_json((Path(examples["uri"]) / "manifest.json").read_text())
    real = sorted(SHARDS.glob("validate00[0-5]*"))
    assert examples["records"] == sum(len(read_all(shard)) for shard in real)
    assert len(manifest.shards) == len(real)
    graph = tft.TFTransformOutput(output(tmp_path, "Transform", "transform_graph")["uri"])
    records = read_all(real[0])[:64]
    parsed = tf.io.parse_example(tf.constant(records), graph.raw_feature_spec())
    vectors = graph.transform_raw_features(parsed)["features"].numpy()
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, rtol=1e-5)
