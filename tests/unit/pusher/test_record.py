"""A version's record is gathered from the artifacts that its model was made from."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from registry_models import fake_model, push_fake

from yt8m.components.artifacts.decision import Decision
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.manifest import Manifest, Shard
from yt8m.components.artifacts.run_outputs import RunOutputs
from yt8m.components.artifacts.version_record import VersionRecord, parse_record
from yt8m.components.pusher.config import PusherConfig
from yt8m.components.pusher.record import create_record
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import Level


def record_of(model: str, configuration: dict | None = None, **uris: str) -> VersionRecord:
    return create_record(
        model_dir=model,
        outputs=RunOutputs(uris),
        configuration=configuration or {},
        blessed=True,
        run_key="k",
        code="c",
    )


def test_everything_known_goes_on_record(tmp_path: Path) -> None:
    model = fake_model(tmp_path / "model")
    (tmp_path / "blessing").mkdir()
    metrics = {"gap": Estimate(value=0.5), "loss": Estimate()}
    decision = Decision(blessed=True, reason="good", metrics=metrics, model_digest="d")
    (tmp_path / "blessing" / "decision.json").write_text(decision.to_json())
    shards = tuple(
        Shard(uri="u", split=split, records=records, bytes=1, digest=split, span=span)
        for split, records, span in (("train", 7, 4), ("train", 5, 3), ("eval", 2, 4))
    )
    manifest = Manifest(level=Level.FRAME, shards=shards)
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "manifest.json").write_text(manifest.to_json())
    baseline = push_fake(tmp_path, tmp_path / "push")
    shutil.copytree(tmp_path / "push" / "1", tmp_path / "baseline" / "Format-Serving")

    record = record_of(
        model,
        {"trainer": {"max_steps": 3}},
        model_blessing=str(tmp_path / "blessing"),
        examples=str(tmp_path / "examples"),
        baseline=str(tmp_path / "baseline"),
    )

    assert record.reason == "good"
    assert record.metrics == metrics
    assert record.decision["model_digest"] == "d"
    assert record.baseline_version == 1
    assert record.baseline_digest == baseline.record.model_digest
    assert record.data.level == "frame"
    assert record.data.spans == (3, 4)
    assert record.data.examples == {"train": 12, "eval": 2}
    assert record.data.manifest_digest == manifest.digest
    assert record.configuration == {"trainer": {"max_steps": 3}}
    assert record.lineage["examples"] == str(tmp_path / "examples")
    assert parse_record(record.to_json()) == record


def test_without_other_inputs_the_model_speaks_for_itself(tmp_path: Path) -> None:
    model = Path(fake_model(tmp_path / "model"))
    info = {"config": {"max_steps": 9}}
    (model / "assets.extra" / "yt8m_export.json").write_text(json.dumps(info))
    record = record_of(str(model))
    assert record.configuration == {"max_steps": 9}
    assert record.metrics == {}
    assert record.baseline_version == 0
    assert record.data.manifest_digest == ""


def test_an_empty_baseline_is_none(tmp_path: Path) -> None:
    (tmp_path / "baseline").mkdir()
    model = fake_model(tmp_path / "model")
    assert record_of(model, baseline=str(tmp_path / "baseline")).baseline_version == 0


def test_one_version_alone_is_too_few_to_keep() -> None:
    with pytest.raises(ConfigError, match=r"pusher\.keep_versions = 1: must be 2 or more"):
        from_dict(PusherConfig, {"keep_versions": 1}, path="pusher")


def test_after_a_search_the_record_has_the_values_that_were_trained_with(tmp_path: Path) -> None:
    model = fake_model(tmp_path / "model")
    write = tmp_path / "model/assets.extra/yt8m_export.json"
    write.parent.mkdir(exist_ok=True)
    write.write_text('{"config": {"batch_size": 16}}')
    given = {"trainer": {"batch_size": 8}, "data": {}}
    assert record_of(model, given).configuration == given
    searched = {**given, "tuner": {"seed": 1}}
    expected = {**searched, "trainer": {"batch_size": 16}}
    assert record_of(model, searched).configuration == expected
