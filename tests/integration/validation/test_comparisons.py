"""Data of one distribution pass at every level, and real shifts are found.

benchmarks/comparisons.py does this with 100 pairs of samples of up to 10,000 records; here each
kind is seen once. Statistics are those that StatisticsGen computes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from records import make_dataset, read_all, write_all
from tensorflow_metadata.proto.v0 import statistics_pb2

from yt8m.components.records.decode import decode_record
from yt8m.components.validation.config import ValidationConfig
from yt8m.components.validation.drift import Comparison, compare
from yt8m.components.validation.moments import moments_of
from yt8m.components.validation.statistics import (
    add_moments,
    compute_statistics,
    statistics_options,
)
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.load import load_schema

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "benchmarks"))

from comparisons import SHIFTS, Pool, moved

FEATURES = FeatureConfig(num_classes=40)


@pytest.fixture(scope="module", params=Level)
def pool(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Pool:
    return Pool(request.param, tmp_path_factory.mktemp("pool") / "data")


def test_samples_of_one_distribution_pass(pool: Pool) -> None:
    rng = np.random.default_rng(0)
    for size in (100, 1000):
        assert not pool.is_stopped(pool.draw(size, rng), pool.draw(size, rng)), size


@pytest.mark.parametrize("name", SHIFTS)
def test_a_shift_of_a_thousand_records_is_found(pool: Pool, name: str) -> None:
    if SHIFTS[name] is moved and pool.level is not Level.SEGMENT:
        return  # no other level has times
    rng = np.random.default_rng(1)
    assert pool.is_stopped(pool.draw(1000, rng), SHIFTS[name](pool, 1000, rng))


def test_a_longest_video_in_one_split_alone_stops_nothing(tmp_path: Path) -> None:
    """Times are multiples of five; cut over each split's own range they fall into other cells."""
    data = make_dataset(
        tmp_path / "d", level="segment", train=300, eval=150, classes=40, seed=2, max_frames=300
    )
    samples = {}
    for split in ("train", "validate"):
        records = [r for path in sorted(data.glob(f"{split}*")) for r in read_all(path)]
        latest = 295 if split == "train" else 280
        kept = [r for r in records if max(_starts(r)) <= latest]
        samples[split] = write_all(tmp_path / f"{split}.tfrecord", kept)
    assert max(max(_starts(r)) for r in read_all(samples["train"])) == 295
    schema, options = load_schema(Level.SEGMENT, FEATURES), statistics_options()
    options.schema = schema
    found = [compute_statistics([str(path)], options, sequences=True) for path in samples.values()]
    compared = compare(Comparison.SKEW, found[0], found[1], schema, ValidationConfig())
    assert {one.feature for one in compared.measured} >= {"segment_start_times", "segment_scores"}
    assert compared.anomalies == ()


def _starts(record: bytes) -> list[int]:
    return list(decode_record(record).features["segment_start_times"])


@pytest.mark.parametrize("level", [Level.VIDEO, Level.FRAME])
def test_moments_are_those_of_numpy_and_the_same_where_an_engine_made_the_statistics(
    level: Level, tmp_path: Path
) -> None:
    data = make_dataset(tmp_path / "d", level=level.value, train=50)
    uris, sequences = [str(p) for p in sorted(data.glob("train*"))], level is not Level.VIDEO
    options = statistics_options()
    options.schema = load_schema(level, FEATURES)
    whole = compute_statistics(uris, options, sequences=sequences)
    bare = statistics_pb2.DatasetFeatureStatisticsList.FromString(whole.SerializeToString())
    for feature in bare.datasets[0].features:
        del feature.custom_stats[:]
    add_moments(bare, uris, sequences=sequences)
    name = "rgb" if sequences else "mean_rgb"
    records = [decode_record(r) for uri in uris for r in read_all(Path(uri))]
    values = [
        _values(one.feature_lists["rgb"][::10] if sequences else one.features[name])
        for one in records
    ]
    means = np.array([one.mean() for one in values])
    squares = np.array([(one**2).mean() for one in values])
    for statistics in (whole, bare):
        (feature,) = [f for f in statistics.datasets[0].features if f.path.step[-1] == name]
        found = moments_of(feature)
        assert found is not None
        assert found.examples == 50
        assert found.mean == pytest.approx(means.mean(), abs=1e-6)
        assert found.mean_variance == pytest.approx(means.var(), rel=1e-3, abs=1e-9)
        assert found.square == pytest.approx(squares.mean(), rel=1e-5)
        assert found.square_variance == pytest.approx(squares.var(), rel=1e-3)


def _values(stored: np.ndarray) -> np.ndarray:
    """Frames as [-2, 2], which is 4/255 a step; floats as they are."""
    stored = np.asarray(stored)
    if stored.dtype == np.uint8:
        return stored * 4.0 / 255.0 + 4.0 / 512.0 - 2.0
    return stored.astype(np.float64)
