"""The registry in an object store: no renames there, so the model file comes last."""

from __future__ import annotations

import logging
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from gcs_server import gcs_server
from key_pairs import KeyPair
from registry_models import best_record, blessed_record, fake_model
from s3_server import s3_server

from yt8m.components import storage
from yt8m.components.artifacts.run_outputs import RunOutputs
from yt8m.components.artifacts.version_record import CARD_FILE, SIGNATURE_FILE
from yt8m.components.baseline.select import copy_to_artifact
from yt8m.components.registry import object_store
from yt8m.components.registry.baseline_artifact import (
    baseline_model,
    baseline_statistics,
)
from yt8m.components.registry.push import Additions, push, rollback
from yt8m.components.registry.signature import UnsignedVersionError, signature_problems
from yt8m.components.registry.verify import verify_version
from yt8m.components.registry.versions import Version, list_versions, load_version, newest

ON_GCS = pytest.param(gcs_server, marks=pytest.mark.needs("fake-gcs-server"), id="gs")


@pytest.fixture(scope="module", params=[pytest.param(s3_server, id="s3"), ON_GCS])
def bucket(request: pytest.FixtureRequest) -> Iterator[str]:
    with request.param() as uri:
        yield uri


@pytest.fixture
def registry(bucket: str) -> str:
    return f"{bucket}/{uuid.uuid4().hex}/push"


def push_fake(tmp_path: Path, registry: str, *, keep: int = 5) -> Version:
    model = fake_model(tmp_path / uuid.uuid4().hex)
    return push(model, registry, best_record(model), keep=keep)


def break_off(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Copies fail as of the number `after`, as if the pusher were gone."""
    copied = 0
    real = storage.copy

    def copy(source: str, target: str) -> None:
        nonlocal copied
        copied += 1
        if copied > after:
            raise KeyboardInterrupt
        real(source, target)

    monkeypatch.setattr("yt8m.components.storage.copy", copy)


def test_versions_are_pushed_found_and_retained(tmp_path: Path, registry: str) -> None:
    assert list_versions(registry) == ()
    numbers = [push_fake(tmp_path, registry, keep=2).number for _ in range(3)]
    assert numbers == sorted(set(numbers))
    assert list_versions(registry) == tuple(numbers[1:])
    found = newest(registry, verify=True)
    assert found is not None
    assert found.number == numbers[-1]
    assert rollback(registry, numbers[1]).record.origin_version == numbers[1]


@pytest.mark.parametrize("after", [0, 1, 3])
def test_an_upload_that_is_broken_off_is_no_version_and_goes_in_time(
    tmp_path: Path,
    registry: str,
    after: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    first = push_fake(tmp_path, registry)
    with monkeypatch.context() as patched:
        break_off(patched, after)
        with pytest.raises(KeyboardInterrupt):
            push_fake(tmp_path, registry)

    with caplog.at_level(logging.WARNING):
        found = newest(registry)
    assert found is not None
    assert found.number == first.number
    broken = set(list_versions(registry)) - {first.number}
    assert len(broken) == (0 if after == 0 else 1)
    for number in broken:
        assert f"version {number}" in caplog.text
        assert not storage.exists(f"{registry}/{number}/saved_model.pb")

    second = push_fake(tmp_path, registry)
    assert broken <= set(list_versions(registry))  # it might be an upload that is under way
    monkeypatch.setattr(object_store, "_STALE_AFTER_S", -1.0)
    third = push_fake(tmp_path, registry)
    assert list_versions(registry) == (first.number, second.number, third.number)


def test_a_removed_version_loses_its_model_file_first(
    tmp_path: Path, registry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = [push_fake(tmp_path, registry).number for _ in range(2)]
    with monkeypatch.context() as patched:
        patched.setattr("yt8m.components.storage.remove_tree", _interrupted)
        with pytest.raises(KeyboardInterrupt):
            push_fake(tmp_path, registry, keep=2)
    assert not storage.exists(f"{registry}/{numbers[0]}/saved_model.pb")
    for number in list_versions(registry)[1:]:
        load_version(registry, number, verify=True)


def _interrupted(uri: str) -> None:
    raise KeyboardInterrupt


def test_a_baseline_comes_from_the_store_with_all_its_files(tmp_path: Path, registry: str) -> None:
    (tmp_path / "statistics" / "Split-train").mkdir(parents=True)
    (tmp_path / "statistics" / "Split-train" / "FeatureStats.pb").write_bytes(b"stats")
    version = push(
        fake_model(tmp_path / "model"),
        registry,
        blessed_record(),
        additions=Additions(statistics_dir=str(tmp_path / "statistics")),
    )
    copy_to_artifact(version, str(tmp_path / "artifact"))
    model = baseline_model(str(tmp_path / "artifact"))
    statistics = baseline_statistics(str(tmp_path / "artifact"))
    assert model is not None
    assert (Path(model) / "saved_model.pb").read_bytes() == b"model"
    assert statistics is not None
    assert (Path(statistics) / "Split-train" / "FeatureStats.pb").read_bytes() == b"stats"
    assert RunOutputs({"baseline": str(tmp_path / "artifact")}).baseline == version.record


def test_no_baseline_is_an_empty_artifact(tmp_path: Path) -> None:
    copy_to_artifact(None, str(tmp_path / "artifact"))
    assert list((tmp_path / "artifact").iterdir()) == []
    assert baseline_model(str(tmp_path / "artifact")) is None
    assert baseline_statistics(str(tmp_path / "artifact")) is None
    assert RunOutputs({"baseline": str(tmp_path / "artifact")}).baseline is None


@pytest.mark.needs("model_signing")
def test_a_signed_version_is_verified_in_the_store_and_where_it_is_copied(
    tmp_path: Path, registry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair, model = KeyPair(tmp_path, "ours"), fake_model(tmp_path / "model")
    first = push(model, registry, blessed_record(), signer=pair.signer)
    second = rollback(registry, push_fake(tmp_path, registry).number, signer=pair.signer)
    third = rollback(registry, first.number, signer=pair.signer, trust=pair.trust)

    for version in (first, second, third):
        assert verify_version(registry, version.number, pair.trust).signed
        assert f"version {version.number}" in storage.read_text(f"{version.path}/{CARD_FILE}")
    copy = tmp_path / str(third.number)
    storage.copy_tree(third.path, str(copy))
    foreign = [sys.executable, "-m", "model_signing", "verify", "key", "--public_key", pair.public]
    subprocess.run([*foreign, "--signature", copy / SIGNATURE_FILE, copy], check=True)

    with monkeypatch.context() as patched:
        answers = iter(["<html>try again</html>"])
        real = storage.read_text
        patched.setattr(storage, "read_text", lambda uri: next(answers, None) or real(uri))
        assert signature_problems(third.path, pair.trust) == []
    storage.copy(f"{first.path}/{SIGNATURE_FILE}", f"{third.path}/{SIGNATURE_FILE}")
    assert (
        "signature is not valid" in verify_version(registry, third.number, pair.trust).problems[0]
    )
    storage.remove(f"{third.path}/{SIGNATURE_FILE}")
    with pytest.raises(UnsignedVersionError, match="no signature"):
        rollback(registry, third.number, trust=pair.trust)


@pytest.mark.needs("model_signing")
def test_a_pusher_that_another_one_overtakes_signs_its_next_number(
    tmp_path: Path, registry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair, model = KeyPair(tmp_path, "ours"), fake_model(tmp_path / "model")
    overtaken: list[int] = []
    real = object_store.ObjectStore._publish

    def publish(store: object_store.ObjectStore, number: int, check: Callable[[], None]) -> bool:
        if not overtaken:
            overtaken.append(number)
            push_fake(tmp_path, registry)
        return real(store, number, check)

    monkeypatch.setattr(object_store.ObjectStore, "_publish", publish)
    version = push(model, registry, blessed_record(), signer=pair.signer)

    assert version.number > list_versions(registry)[0] > overtaken[0]
    assert verify_version(registry, version.number, pair.trust).signed
    assert not storage.exists(f"{registry}/{overtaken[0]}/{SIGNATURE_FILE}")
