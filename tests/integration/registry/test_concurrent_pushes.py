"""Of several pushers that compared with one version, one takes its place; the others hold back."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from chaos.rivals import push_judged
from gcs_server import gcs_server
from key_pairs import KeyPair
from registry_models import blessed_record, fake_model
from s3_server import s3_server

from yt8m.components import storage
from yt8m.components.registry.object_store import HEAD_FILE, ObjectStore
from yt8m.components.registry.outcomes import StaleBaselineError
from yt8m.components.registry.push import push
from yt8m.components.registry.verify import verify_version
from yt8m.components.registry.versions import (
    UPLOADS_DIR,
    Version,
    in_service,
    list_versions,
    load_version,
    newest,
)

PUSHERS = 4


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with s3_server() as uri:
        yield uri


@pytest.fixture(scope="module")
def gcs_bucket() -> Iterator[str]:
    with gcs_server() as uri:
        yield uri


ON_GCS = pytest.param("gs", marks=pytest.mark.needs("fake-gcs-server"))


@pytest.fixture(params=["local", "s3", ON_GCS])
def registry(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "local":
        return str(tmp_path / "push")
    bucket = "gcs_bucket" if request.param == "gs" else "bucket"
    return f"{request.getfixturevalue(bucket)}/{uuid.uuid4().hex}/push"


@pytest.mark.parametrize("first", [True, False], ids=["over a version", "into an empty registry"])
def test_of_pushers_that_saw_the_same_version_one_replaces_it(
    tmp_path: Path, registry: str, first: bool
) -> None:
    if first:
        push(fake_model(tmp_path / "first"), registry, blessed_record())
    before = list_versions(registry)
    models = [fake_model(tmp_path / f"model-{i}") for i in range(PUSHERS)]

    said = push_judged(models, registry)

    assert said[1:] == ["held"] * (PUSHERS - 1)
    assert list_versions(registry) == (*before, int(said[0]))
    load_version(registry, int(said[0]), verify=True)


@pytest.mark.needs("model_signing")
def test_versions_that_several_pushers_sign_at_once_are_all_valid(
    tmp_path: Path, registry: str
) -> None:
    pair = KeyPair(tmp_path, "ours")
    models = [fake_model(tmp_path / f"model-{i}") for i in range(PUSHERS)]

    def push_signed(model: str) -> int:
        return push(model, registry, blessed_record(), signer=pair.signer).number

    with ThreadPoolExecutor(PUSHERS) as pool:
        numbers = [*pool.map(push_signed, models)]

    assert list_versions(registry) == tuple(sorted(numbers))
    for number in numbers:
        assert verify_version(registry, number, pair.trust).signed


def test_a_model_is_not_pushed_over_one_that_it_was_never_compared_with(
    tmp_path: Path, registry: str
) -> None:
    for name in ("v1", "v2"):
        push(fake_model(tmp_path / name), registry, blessed_record(gap=0.5))
    judged = in_service(registry)
    push(fake_model(tmp_path / "better"), registry, blessed_record(gap=0.81))
    with pytest.raises(StaleBaselineError, match=r"in service .* now, and the model was compared"):
        push(fake_model(tmp_path / "worse"), registry, blessed_record(gap=0.53), replaces=judged)
    found = newest(registry, verify=True)
    assert found is not None
    assert found.record.metrics["gap"].value == 0.81
    assert len(list_versions(registry)) == 3


def test_what_a_run_pushed_itself_does_not_hold_it_back(tmp_path: Path, registry: str) -> None:
    push(fake_model(tmp_path / "v1"), registry, blessed_record())
    judged = in_service(registry)
    for name in ("a", "b"):  # the second time its training gave other bytes
        record = blessed_record(run_key="mine")
        push(fake_model(tmp_path / name), registry, record, replaces=judged)
    assert len(list_versions(registry)) == 3


def test_a_version_whose_pusher_was_killed_while_publishing_is_finished_by_the_next(
    tmp_path: Path, bucket: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = f"{bucket}/{uuid.uuid4().hex}/push"
    push(fake_model(tmp_path / "v1"), registry, blessed_record())
    judged = in_service(registry)
    with monkeypatch.context() as patched:
        # Published, and killed before the last file is in its place.
        def killed(store: ObjectStore, version: Version) -> None:
            raise KeyboardInterrupt

        patched.setattr(ObjectStore, "_put_in_place", killed)
        with pytest.raises(KeyboardInterrupt):
            push(fake_model(tmp_path / "v2"), registry, blessed_record(), replaces=judged)
    assert in_service(registry) == judged  # servers have not seen it yet

    with pytest.raises(StaleBaselineError):
        push(fake_model(tmp_path / "v3"), registry, blessed_record(), replaces=judged)

    second = list_versions(registry)[-1]
    load_version(registry, second, verify=True)
    assert in_service(registry).version == second
    assert len(list_versions(registry)) == 2
    assert not storage.exists(f"{registry}/{UPLOADS_DIR}")
    assert storage.exists(f"{registry}/{HEAD_FILE}")
