"""Trainings with the frame cache end with the bits of trainings without it.

With means those of trainings whose means are read from the records each time.
"""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from checkpoint_values import assert_bitwise_equal
from records import make_dataset
from training import CLASSES, make_job, train

from yt8m.components.inputs import frame_cache
from yt8m.components.storage.cache import CacheDirectory
from yt8m.components.trainer.input import load_data
from yt8m.components.trainer.network import heads_of, network_of
from yt8m.components.trainer.state.warm_start import read_weights
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import Level

DBOF = {"name": "dbof", "clusters": 16, "hidden": 8, "frames": 5}
HEADS = [{"name": "segments"}]
CASES: dict[str, dict[str, Any]] = {
    "frame": {"model": DBOF},
    "segment": {"model": {"name": "frame_logistic"}, "heads": HEADS},
}
RECORDS = 60  # an epoch of the frame level is seven and a half steps of eight


@pytest.mark.parametrize("level", ["frame", pytest.param("segment", marks=pytest.mark.slow)])
def test_weights_are_the_same_while_packing_after_interruptions_and_from_packed_frames(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, level: str
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    values = {"classes": CLASSES, "train": RECORDS, "min_frames": 9, "max_frames": 20}
    data = make_dataset(tmp_path / "data", level=level, **values)

    def trained(name: str, *stops: int, **values: Any) -> str:
        """The checkpoints of a training that ended at each of `stops` and was continued."""
        for stop in stops:
            shape = {"level": level, **CASES[level], "batch_size": 8, "max_steps": stop}
            job = train(tmp_path / name, data, **shape, **values)
        return job.checkpoint_dir

    # Within the first epoch, the second and the third.
    stops = (3, 11, 18) if level == "frame" else (18,)
    without = trained("without", stops[-1])
    assert not list(place.glob("yt8m-read-cache/*"))
    assert_bitwise_equal(trained("packing", *stops, cache="frames"), without)
    assert list(place.glob("yt8m-read-cache/*.frames"))
    assert_bitwise_equal(trained("packed", stops[-1], cache="frames"), without)


def test_means_give_the_same_weights_from_records_and_from_the_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    values = {"classes": CLASSES, "train": RECORDS, "min_frames": 9, "max_frames": 20}
    data = make_dataset(tmp_path / "data", level="frame", **values)
    shape = {"level": "frame", "model": {"name": "frame_logistic"}, "batch_size": 8}

    def trained(name: str, *stops: int, cache: str = "means") -> str:
        for stop in stops:
            job = train(tmp_path / name, data, **shape, cache=cache, max_steps=stop)
        return job.checkpoint_dir

    with monkeypatch.context() as full:
        full.setattr(frame_cache, "CacheDirectory", lambda: CacheDirectory(max_bytes=0))
        none = trained("no room", 18)
    assert not list(place.glob("yt8m-read-cache/*.means"))
    assert_bitwise_equal(trained("packing", 3, 11, 18), none)
    assert list(place.glob("yt8m-read-cache/*.means"))
    assert_bitwise_equal(trained("packed", 18), none)
    frames, means = (read_weights(path) for path in (trained("frames", 18, cache="off"), none))
    assert frames.keys() == means.keys()
    for name, weights in frames.items():
        np.testing.assert_allclose(weights, means[name], rtol=1e-3, atol=1e-5, err_msg=name)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"level": Level.SEGMENT}, "'frames' or 'off' where data.level is segment"),
        ({"level": Level.VIDEO}, "'off' where data.level is video"),
        ({"transform": "my.transform"}, "with transform.function = 'my.transform'"),
    ],
)
def test_means_are_refused_where_there_are_none_or_frames_are_needed(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    level = changed.get("level", Level.FRAME).value
    job = make_job(tmp_path, level=level, cache="means")
    with pytest.raises(ConfigError, match=r"trainer\.cache = 'means': must be") as error:
        load_data(dataclasses.replace(job, **changed))
    assert message in str(error.value)


def test_a_network_that_looks_at_frames_is_refused_with_means(tmp_path: Path) -> None:
    job = make_job(tmp_path, level="frame", cache="means", network="own_networks.OfFrames")
    with pytest.raises(ConfigError, match="which looks at frames"):
        network_of(job, heads_of(job), compute_dtype="float32")
