"""No failure touches a source: TFX removes the outputs of a failed executor, links and all."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest
from records import flip_byte_in_record, make_dataset
from tfx.dsl.io import fileio
from tfx_runs import output, run, states

from yt8m.components.example_gen.component import ExampleGen
from yt8m.components.example_gen.config import DataConfig
from yt8m.components.example_gen.executor import Executor
from yt8m.components.example_gen.sources import source_digest
from yt8m.schemas.features import FeatureConfig

FEATURES = FeatureConfig(num_classes=1000)


def _fingerprint(root: Path) -> dict[str, tuple[str, int, int]]:
    return {
        path.name: (hashlib.sha256(path.read_bytes()).hexdigest(), *_status(path))
        for path in sorted(root.iterdir())
    }


def _status(path: Path) -> tuple[int, int]:
    status = os.lstat(path)
    return status.st_mode, status.st_mtime_ns


def test_an_executor_that_fails_after_linking_leaves_the_sources_as_they_were(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When all links are made: the worst moment for a source."""
    ingest = Executor.Do

    def fail(*arguments: object) -> None:
        ingest(*arguments)
        raise RuntimeError("failed after linking")

    monkeypatch.setattr(Executor, "Do", fail)
    data = make_dataset(tmp_path / "data", test=4)
    before = _fingerprint(data)
    with pytest.raises(Exception, match="failed after linking"):
        run([ExampleGen(config=DataConfig(root=str(data)), features=FEATURES)], tmp_path)
    assert states(tmp_path, "ExampleGen") == ["FAILED"]
    left = list((tmp_path / "pipeline").rglob("*.tfrecord"))
    assert left == []  # TFX did clean up, so the links were really at stake
    assert _fingerprint(data) == before


def test_bad_data_ends_the_run_with_the_list_and_leaves_the_sources(tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", test=4)
    flip_byte_in_record(data / "train0001.tfrecord", 5)
    before = _fingerprint(data)
    with pytest.raises(Exception, match=r"train0001\.tfrecord: record 5 at byte \d+"):
        run([ExampleGen(config=DataConfig(root=str(data)), features=FEATURES)], tmp_path)
    assert _fingerprint(data) == before


def test_removing_a_finished_artifact_by_tfx_itself_leaves_the_sources(tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data", test=4)
    before = _fingerprint(data)
    run([ExampleGen(config=DataConfig(root=str(data)), features=FEATURES)], tmp_path)
    for name in ("examples", "sample"):
        uri = output(tmp_path, "ExampleGen", name)["uri"]
        assert list(Path(uri).rglob("*.tfrecord"))
        fileio.rmtree(uri)
        assert not Path(uri).exists()
    assert _fingerprint(data) == before


def test_the_cache_serves_the_same_files_and_not_changed_ones(tmp_path: Path) -> None:
    data = make_dataset(tmp_path / "data")
    config = DataConfig(root=str(data))

    def once() -> None:
        component = ExampleGen(
            config=config, features=FEATURES, source_digest=source_digest(config)
        )
        run([component], tmp_path, enable_cache=True)

    once()
    once()
    assert states(tmp_path, "ExampleGen") == ["COMPLETE", "CACHED"]
    os.utime(data / "train0000.tfrecord", (1, 1))
    once()
    assert states(tmp_path, "ExampleGen")[-1] == "COMPLETE"
