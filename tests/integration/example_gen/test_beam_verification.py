"""An engine's workers find in every shard what this process finds, and remember it as well."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import apache_beam as beam
import numpy as np
import pytest
from ingesting import FEATURES
from records import compress, flip_byte_in_record, make_dataset, truncate

from yt8m.components.example_gen.beam_verification import verify_on_beam
from yt8m.components.example_gen.config import DataConfig
from yt8m.components.example_gen.sources import Sources, resolve_sources
from yt8m.components.example_gen.verification_cache import VerifiedCache
from yt8m.components.example_gen.verify import ShardReport, verify_shards
from yt8m.pipeline.beam import IN_PROCESS_RUNNER
from yt8m.schemas.config_tree import from_dict


def pipeline() -> beam.Pipeline:
    return beam.Pipeline(runner=IN_PROCESS_RUNNER)


def no_pipeline() -> beam.Pipeline:
    raise AssertionError("nothing is to be read")


@pytest.fixture(scope="module", params=["video", "segment"])
def data(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sound shards, and every way in which one is not."""
    folder = tmp_path_factory.mktemp("data") / request.param
    made = make_dataset(folder, level=request.param, train=60, shards=5)
    compress(made / "train0000.tfrecord")
    flip_byte_in_record(made / "train0001.tfrecord", 4)
    truncate(made / "train0002.tfrecord", (made / "train0002.tfrecord").stat().st_size * 2 // 3)
    (made / "train0003.tfrecord").write_bytes(b"")
    return made


def resolved(data: Path, verify: str) -> tuple[DataConfig, Sources]:
    values = {"root": str(data), "level": data.name, "verify": verify}
    config = from_dict(DataConfig, values)
    return config, resolve_sources(config)


def plain(report: ShardReport) -> dict[str, Any]:
    values = {field.name: getattr(report, field.name) for field in dataclasses.fields(report)}
    return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()}


@pytest.mark.parametrize("verify", ["full", "checksum"])
def test_reports_are_those_of_this_process(data: Path, tmp_path: Path, verify: str) -> None:
    config, sources = resolved(data, verify)
    here = verify_shards(sources.shards, config, FEATURES)
    there = verify_on_beam(
        sources.shards, config, FEATURES, scratch=str(tmp_path / "s"), make_pipeline=pipeline
    )
    assert [*map(plain, there)] == [*map(plain, here)]
    assert sum(bool(report.problems) for report in here) == 3
    assert not (tmp_path / "s").exists()


def test_sound_shards_are_remembered_and_damaged_ones_read_again(
    data: Path, tmp_path: Path
) -> None:
    config, sources = resolved(data, "full")
    cache = VerifiedCache(str(tmp_path / "cache"), policy="1", code_version="1")
    given: dict[str, Any] = {"cache": cache, "scratch": str(tmp_path / "s")}
    first, again = (
        verify_on_beam(sources.shards, config, FEATURES, make_pipeline=pipeline, **given)
        for _ in range(2)
    )
    assert [report.remembered for report in again] == [not report.problems for report in first]
    assert [*map(plain, again)] == [
        {**plain(report), "remembered": not report.problems} for report in first
    ]
    sound = [report.source for report in first if not report.problems]
    here = verify_shards(sound, config, FEATURES, cache=cache)
    there = verify_on_beam(sound, config, FEATURES, make_pipeline=no_pipeline, **given)
    assert [*map(plain, there)] == [*map(plain, here)]


def test_a_shard_that_is_gone_is_a_problem_of_its_own(data: Path, tmp_path: Path) -> None:
    config, sources = resolved(data, "full")
    gone = dataclasses.replace(sources.shards[0], uri=f"{data}/gone.tfrecord")
    (report,) = verify_on_beam(
        [gone], config, FEATURES, scratch=str(tmp_path / "s"), make_pipeline=pipeline
    )
    assert "cannot be read" in report.problems[0].reason
