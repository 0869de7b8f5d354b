"""Trainings with the frame cache end with the bits of trainings without it."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from checkpoint_values import assert_bitwise_equal
from records import make_dataset
from training import CLASSES, train

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
