"""A version is compared with its record: model, decision, configuration, data."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from registry_models import blessed_record, fake_model

from yt8m.components.artifacts.export_info import FILE_NAME, ExportInfo
from yt8m.components.artifacts.manifest import Manifest, Shard
from yt8m.components.artifacts.operating_points import ASSET_FILE, EMPTY_TABLE
from yt8m.components.artifacts.version_record import RECORD_FILE, DataRecord
from yt8m.components.registry.digests import model_digest
from yt8m.components.registry.push import Additions, push
from yt8m.components.registry.verify import verify_version
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.features import FeatureConfig, Level

FEATURES = FeatureConfig(num_classes=7)
TABLE = "-1\t0.5\n-2\t0.25\n"


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    folder = tmp_path / "examples"
    folder.mkdir()
    write_manifest(folder, digest="a")
    return folder


def write_manifest(folder: Path, *, digest: str) -> Manifest:
    shard = Shard(uri="u", split="train", records=3, bytes=1, digest=digest)
    found = Manifest(level=Level.VIDEO, shards=(shard,))
    (folder / "manifest.json").write_text(found.to_json())
    return found


def pushed(tmp_path: Path, examples: Path) -> str:
    """A registry with one version that is on record as Pusher would have it."""
    model = fake_model(tmp_path / "model")
    info = ExportInfo(
        level=Level.VIDEO,
        features=FEATURES,
        head="entities",
        heads={"entities": 7},
        top_k=7,
        has_class_names=False,
        has_transform_graph=False,
        config={"max_steps": 30, "start_new_model": False},
    )
    Path(model, FILE_NAME).write_text(info.to_json())
    manifest = write_manifest(examples, digest="a")
    record = dataclasses.replace(
        blessed_record(),
        decision={"blessed": True, "model_digest": model_digest(model)},
        data=DataRecord(level="video", manifest_digest=manifest.digest),
        configuration={
            "trainer": {"max_steps": 30, "start_new_model": True},
            "features": to_dict(FEATURES),
        },
        lineage={"examples": str(examples)},
    )
    push(model, str(tmp_path / "push"), record)
    return str(tmp_path / "push")


def problems(registry: str) -> str:
    return "; ".join(verify_version(registry, 1).problems)


def test_what_is_as_on_record_has_no_problems(tmp_path: Path, examples: Path) -> None:
    found = verify_version(pushed(tmp_path, examples), 1)
    assert (found.problems, found.unchecked) == ((), ())


def test_a_decision_about_another_model_is_found(tmp_path: Path, examples: Path) -> None:
    registry = pushed(tmp_path, examples)
    version = tmp_path / "push" / "1"
    rewrite(version, lambda record: record["decision"].update(model_digest="0" * 64))
    assert "the gate decided about another model" in problems(registry)


def test_a_model_of_another_configuration_is_found(tmp_path: Path, examples: Path) -> None:
    registry = pushed(tmp_path, examples)
    rewrite(tmp_path / "push" / "1", lambda r: r["configuration"]["trainer"].update(max_steps=31))
    assert "another configuration: trainer.max_steps" in problems(registry)
    rewrite(tmp_path / "push" / "1", lambda r: r["configuration"]["features"].update(num_classes=8))
    assert "exported for other features" in problems(registry)


def test_data_that_changed_are_found_and_data_that_are_gone_are_said(
    tmp_path: Path, examples: Path
) -> None:
    registry = pushed(tmp_path, examples)
    write_manifest(examples, digest="b")
    assert "has other data" in problems(registry)
    (examples / "manifest.json").unlink()
    found = verify_version(registry, 1)
    assert found.problems == ()
    assert "is gone" in found.unchecked[0]


def rewrite(version: Path, change: Callable[[dict], None]) -> None:
    """Change the record, with the checksum that goes with it."""
    content = json.loads((version / RECORD_FILE).read_text())
    head = {name: content.pop(name) for name in ("format", "yt8m", "checksum")}
    change(content)
    checksum = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    head["checksum"] = checksum
    (version / RECORD_FILE).write_text(json.dumps({**head, **content}))


@pytest.mark.parametrize(("table", "form"), [(TABLE, 2), ("", 1)])
def test_operating_points_are_pushed_beside_the_bytes_that_were_judged(
    tmp_path: Path, table: str, form: int
) -> None:
    model, fitted = Path(fake_model(tmp_path / "model")), tmp_path / "operating_points.tsv"
    (model / ASSET_FILE).parent.mkdir(parents=True, exist_ok=True)
    (model / ASSET_FILE).write_text(EMPTY_TABLE)
    fitted.write_text(table)
    decision = {"blessed": True, "model_digest": model_digest(str(model))}
    record = dataclasses.replace(blessed_record(), decision=decision)
    additions = Additions(operating_points=str(fitted) if table else "")
    version = push(str(model), str(tmp_path / "push"), record, additions=additions)
    assert Path(version.path, ASSET_FILE).read_text() == (table or EMPTY_TABLE)
    assert verify_version(str(tmp_path / "push"), 1).problems == ()
    # An older yt8m finds nothing new in a version without, and names the newer one of a version
    # with: its own digest of the model would be another.
    assert json.loads(Path(version.path, RECORD_FILE).read_text())["format"] == form
    Path(version.path, ASSET_FILE).write_text("-1\t0.5\n-2\t0.26\n")
    assert verify_version(str(tmp_path / "push"), 1).problems
