"""A registry that an earlier yt8m wrote is read, gated, pushed into, rolled back and verified.

`tests/golden/registry/742dd83` was written by that commit: two pushes and a rollback to the first.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from registry_models import push_fake

from yt8m.components.artifacts.version_record import Origin
from yt8m.components.baseline.config import BaselineConfig
from yt8m.components.baseline.select import copy_to_artifact, replaced_version, select_baseline
from yt8m.components.registry.baseline_artifact import baseline_record, read_in_service
from yt8m.components.registry.push import find_damaged, rollback
from yt8m.components.registry.verify import verify_version
from yt8m.components.registry.versions import (
    check_usable,
    in_service,
    list_versions,
    load_version,
    registry_digest,
)

GOLDEN = Path(__file__).parents[2] / "golden" / "registry" / "742dd83"


@pytest.fixture
def registry(tmp_path: Path) -> str:
    shutil.copytree(GOLDEN, tmp_path / "push")
    return str(tmp_path / "push")


def test_its_versions_are_sound(registry: str) -> None:
    assert list_versions(registry) == (1, 2, 3)
    check_usable(registry)
    assert find_damaged(registry) == {}
    for number in (1, 2, 3):
        found = verify_version(registry, number)
        assert (found.foreign, found.problems) == (False, ())
    newest = load_version(registry, 3, verify=True).record
    assert (newest.origin, newest.origin_version) == (Origin.ROLLBACK, 1)
    assert in_service(registry).digest == load_version(registry, 1).record.model_digest


def test_its_newest_version_is_the_baseline_and_the_one_to_replace(
    tmp_path: Path, registry: str
) -> None:
    config = BaselineConfig()
    found = select_baseline(config, registry, registry_digest(registry))
    assert found is not None
    assert found.number == 3
    artifact = str(tmp_path / "artifact")
    copy_to_artifact(found, artifact, replaces=replaced_version(config, registry, found))
    record = baseline_record(artifact)
    assert record is not None
    assert record.metrics["gap"].value == 0.5
    assert read_in_service(artifact) == in_service(registry)


def test_it_is_pushed_into_retained_and_rolled_back(tmp_path: Path, registry: str) -> None:
    assert push_fake(tmp_path, Path(registry), keep=3).number == 4
    assert list_versions(registry) == (2, 3, 4)
    rolled = rollback(registry, 2)
    assert rolled.number == 5
    assert rolled.record.files == load_version(registry, 2, verify=True).record.files
    assert verify_version(registry, 5).problems == ()
