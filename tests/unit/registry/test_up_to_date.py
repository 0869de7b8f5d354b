"""A model that is in service already is found before it would be pushed again."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from registry_models import blessed_record, fake_model

from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.components.registry.push import push, version_of_model


def _pushed(tmp_path: Path, number: int, run_key: str = "") -> VersionRecord:
    """The record of a model that Evaluator has judged, and that is in service now."""
    model = fake_model(tmp_path / f"model-{number}", content=f"model {number}".encode())
    record = dataclasses.replace(blessed_record(), run_key=run_key)
    version = push(model, str(tmp_path / "push"), record)
    return dataclasses.replace(record, decision={"model_digest": version.record.model_digest})


def test_the_very_model_in_service_is_found_and_another_is_not(tmp_path: Path) -> None:
    first = _pushed(tmp_path, 1)
    found = version_of_model(str(tmp_path / "push"), first)
    assert found is not None
    assert found.number == 1
    second = _pushed(tmp_path, 2)
    assert version_of_model(str(tmp_path / "push"), first) is None
    assert version_of_model(str(tmp_path / "push"), second) is not None


def test_what_the_same_run_has_pushed_before_it_was_killed_counts_as_its_push(
    tmp_path: Path,
) -> None:
    record = _pushed(tmp_path, 1, run_key="mine")
    assert version_of_model(str(tmp_path / "push"), record) is None


def test_without_a_registry_or_a_judged_model_nothing_is_found(tmp_path: Path) -> None:
    record = _pushed(tmp_path, 1)
    assert version_of_model("", record) is None
    assert version_of_model(str(tmp_path / "empty"), record) is None
    unjudged = dataclasses.replace(record, decision={})
    assert version_of_model(str(tmp_path / "push"), unjudged) is None
