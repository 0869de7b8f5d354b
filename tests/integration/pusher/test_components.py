"""Baseline, Pusher and Report in a real TFX run, on stand-ins for what lies between them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from key_pairs import KeyPair
from registry_models import fake_model, push_fake
from tfx.dsl.components.common.importer import Importer
from tfx.orchestration import metadata
from tfx.orchestration.local.local_dag_runner import LocalDagRunner
from tfx.orchestration.pipeline import Pipeline
from tfx.types import standard_artifacts

from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.components.baseline.component import Baseline
from yt8m.components.baseline.config import BaselineChoice, BaselineConfig
from yt8m.components.pusher.component import Pusher
from yt8m.components.pusher.config import PusherConfig
from yt8m.components.pusher.record import create_record
from yt8m.components.registry.config import RegistryConfig
from yt8m.components.registry.digests import model_digest
from yt8m.components.registry.registry_digest import registry_digest
from yt8m.components.registry.signature import UnsignedVersionError, signature_problems
from yt8m.components.registry.versions import (
    DamagedVersionError,
    list_versions,
    load_record,
    load_version,
)
from yt8m.components.report.component import Report, ReportArtifact
from yt8m.components.report.config import ReportConfig
from yt8m.schemas.errors import UserError

REASON = "gap 0.5 is below 0.7"


class World:
    """A model, a decision about it, and a push directory."""

    def __init__(self, tmp_path: Path) -> None:
        self.root = tmp_path
        self.push_dir = tmp_path / "push"
        fake_model(tmp_path / "model" / "Format-Serving")
        self.scored = ""  # the digest that the Evaluator wrote
        self.registry = RegistryConfig()
        self.store = metadata.sqlite_metadata_connection_config(str(tmp_path / "metadata.db"))

    def run(self, *, blessed: bool, baseline: BaselineConfig | None = None) -> None:
        """One pipeline run, nothing cached."""
        decision = {
            "blessed": blessed,
            "model_digest": self.scored,
            "reason": REASON,
            "metrics": {"gap": {"value": 0.5, "lower": 0.4, "upper": None}},
        }
        blessing_dir = self.root / f"blessing-{blessed}"
        blessing_dir.mkdir(exist_ok=True)
        (blessing_dir / "decision.json").write_text(json.dumps(decision))
        found = Baseline(
            config=baseline or BaselineConfig(),
            registry=self.registry,
            push_dir=str(self.push_dir),
            registry_digest=registry_digest(str(self.push_dir)),
        )
        model = self._imported("ModelSource", self.root / "model", standard_artifacts.Model)
        blessing = self._imported(
            "BlessingSource",
            blessing_dir,
            standard_artifacts.ModelBlessing,
            blessed=int(blessed),
        )
        pusher = Pusher(
            config=PusherConfig(),
            registry=self.registry,
            model=model.outputs["result"],
            model_blessing=blessing.outputs["result"],
            push_dir=str(self.push_dir),
            run_key="this-run",
            configuration={"trainer": {"max_steps": 5}},
            baseline=found.outputs["model"],
        )
        report = Report(
            config=ReportConfig(),
            configuration={"trainer": {"max_steps": 6}},
            model_blessing=blessing.outputs["result"],
            pushed_model=pusher.outputs["pushed_model"],
            baseline=found.outputs["model"],
        )
        LocalDagRunner().run(
            Pipeline(
                pipeline_name="test",
                pipeline_root=str(self.root / "artifacts"),
                components=[found, model, blessing, pusher, report],
                metadata_connection_config=self.store,
                enable_cache=False,
            )
        )

    def newest(self, type_name: str) -> Any:
        """The last artifact of a type, from MLMD."""
        with metadata.Metadata(self.store) as store:
            return store.store.get_artifacts_by_type(type_name)[-1]

    def baseline(self) -> Any:
        with metadata.Metadata(self.store) as store:
            models = store.store.get_artifacts_by_type("Model")
        return [m for m in models if "/Baseline/model/" in m.uri][-1]

    @staticmethod
    def _imported(name: str, path: Path, kind: type, **properties: int) -> Importer:
        return Importer(
            source_uri=str(path), artifact_type=kind, custom_properties=properties, reimport=True
        ).with_id(name)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_the_first_blessed_model_is_version_1_and_the_next_runs_baseline(world: World) -> None:
    world.run(blessed=True)

    none = world.baseline()
    assert none.custom_properties["version"].int_value == 0
    assert [path.name for path in Path(none.uri).iterdir()] == ["in_service.json"]
    pushed = world.newest("PushedModel")
    assert pushed.custom_properties["pushed"].int_value == 1
    assert pushed.custom_properties["pushed_version"].string_value == "1"
    destination = pushed.custom_properties["pushed_destination"].string_value
    assert destination == str(world.push_dir / "1")
    record = load_record(str(world.push_dir), 1)
    assert record.blessed
    assert record.run_key == "this-run"
    assert record.reason == REASON
    assert record.metrics["gap"].value == 0.5
    assert record.configuration == {"trainer": {"max_steps": 5}}
    assert record.lineage["model"] == str(world.root / "model")

    world.run(blessed=True)

    handed = world.baseline()
    assert handed.custom_properties["version"].int_value == 1
    serving = Path(handed.uri, "Format-Serving")
    assert (serving / "saved_model.pb").read_bytes() == b"model"
    report = json.loads(Path(world.newest(ReportArtifact.TYPE_NAME).uri, "report.json").read_text())
    assert report["verdict"]["outcome"] == "pushed"
    assert report["compared_with_version"] == 1
    assert report["differences"] == [{"key": "trainer.max_steps", "before": "5", "now": "6"}]
    assert list_versions(str(world.push_dir)) == (1,)  # the same files are not pushed twice


def test_a_model_that_is_not_blessed_is_not_pushed_and_the_run_succeeds(world: World) -> None:
    world.run(blessed=False)

    pushed = world.newest("PushedModel")
    assert pushed.custom_properties["pushed"].int_value == 0
    assert not world.push_dir.exists()
    page = Path(world.newest(ReportArtifact.TYPE_NAME).uri, "report.html").read_text()
    assert "Rejected by the gate" in page
    assert REASON in page


def test_a_damaged_newest_version_gives_way_to_the_one_before(world: World) -> None:
    for _ in range(2):
        push_fake(world.root, world.push_dir)
    (world.push_dir / "2" / "saved_model.pb").write_bytes(b"")

    world.run(blessed=False)

    handed = world.baseline()
    assert handed.custom_properties["version"].int_value == 1
    expected = load_version(str(world.push_dir), 1).record.files
    serving = Path(handed.uri, "Format-Serving")
    assert {name: (serving / name).stat().st_size for name in expected} == {
        name: file.bytes for name, file in expected.items()
    }


def test_a_named_version_is_handed_on_and_never_replaced(world: World) -> None:
    for _ in range(2):
        push_fake(world.root, world.push_dir)
    world.run(blessed=False, baseline=BaselineConfig(version=1))
    assert world.baseline().custom_properties["version"].int_value == 1

    with pytest.raises(UserError, match=r"baseline\.version = 7"):
        world.run(blessed=False, baseline=BaselineConfig(version=7))
    (world.push_dir / "2" / "saved_model.pb").unlink()
    with pytest.raises(DamagedVersionError, match=r"saved_model\.pb is missing"):
        world.run(blessed=False, baseline=BaselineConfig(version=2))


def test_a_model_that_was_exchanged_after_its_blessing_is_refused(world: World) -> None:
    world.scored = model_digest(str(world.root / "model" / "Format-Serving"))
    world.run(blessed=True)
    assert list_versions(str(world.push_dir)) == (1,)

    (world.root / "model" / "Format-Serving" / "saved_model.pb").write_bytes(b"another")
    with pytest.raises(UserError, match="is not the model that was blessed"):
        world.run(blessed=True)
    assert list_versions(str(world.push_dir)) == (1,)


@pytest.mark.needs("model_signing")
def test_a_push_signs_a_baseline_must_be_signed_and_the_keys_secrets_are_nowhere(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    monkeypatch.setenv("YT8M_SIGNING_PASSWORD", "correct horse")
    pair = KeyPair(world.root, "models", password="correct horse")
    world.registry = RegistryConfig(
        signing_key=str(pair.secret), trusted_key=str(pair.public), require_signature=True
    )
    world.run(blessed=True)
    assert signature_problems(str(world.push_dir / "1"), pair.trust) == []
    (world.root / "model" / "Format-Serving" / "saved_model.pb").write_bytes(b"another")
    world.run(blessed=True)
    assert signature_problems(str(world.push_dir / "2"), pair.trust) == []

    push_fake(world.root, world.push_dir)
    with pytest.raises(UnsignedVersionError, match=r"version 3 .* no signature"):
        world.run(blessed=True)
    written = [caplog.text.encode()]
    written += [file.read_bytes() for file in world.root.rglob("*") if file.is_file()]
    secrets = (b"correct horse", pair.secret.read_bytes().splitlines()[1])
    (leaked,) = [text for text in written if any(secret in text for secret in secrets)]
    assert leaked == pair.secret.read_bytes()


def test_a_registry_whose_versions_are_all_damaged_stops_the_run(world: World) -> None:
    push_fake(world.root, world.push_dir)
    (world.push_dir / "1" / "saved_model.pb").unlink()
    with pytest.raises(UserError, match=r"every version in .* is damaged.*baseline\.version=none"):
        world.run(blessed=True)
    world.run(blessed=True, baseline=BaselineConfig(version=BaselineChoice.NONE))
    assert list_versions(str(world.push_dir)) == (1, 2)


def test_what_came_into_service_meanwhile_is_not_replaced(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_fake(world.root, world.push_dir)

    def create_record_late(**how: Any) -> VersionRecord:
        push_fake(world.root, world.push_dir, run_key="another-run")  # while this run was judging
        return create_record(**how)

    monkeypatch.setattr("yt8m.components.pusher.executor.create_record", create_record_late)
    world.run(blessed=True)

    assert list_versions(str(world.push_dir)) == (1, 2)
    pushed = world.newest("PushedModel")
    assert pushed.custom_properties["pushed"].int_value == 0
    outcome = json.loads(Path(pushed.uri, "pushed.json").read_text())
    assert (outcome["pushed"], outcome["stale"]) == (False, True)
    held = r"version 2 is in service in .* now, and the model was compared while version 1 was"
    assert re.match(held, outcome["record"]["reason"])
    page = Path(world.newest(ReportArtifact.TYPE_NAME).uri, "report.html").read_text()
    assert "version 2 is in service" in page
