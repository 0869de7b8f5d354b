"""The best version so far: which it is, how long it stays, and what happens where it is lost."""

from __future__ import annotations

import dataclasses
import shutil
from pathlib import Path
from typing import BinaryIO

import pytest
from registry_models import best_record, blessed_record, fake_model, push_fake

from yt8m.components.baseline.config import BaselineConfig
from yt8m.components.baseline.select import replaced_version
from yt8m.components.registry import digests
from yt8m.components.registry.champion import (
    CHOICE_FILE,
    find_champion,
)
from yt8m.components.registry.digests import model_digest
from yt8m.components.registry.outcomes import StaleBaselineError
from yt8m.components.registry.push import push, remove_damaged, rollback, set_champion
from yt8m.components.registry.registry_digest import digest_version, registry_digest
from yt8m.components.registry.versions import Version, in_service, list_versions
from yt8m.schemas.errors import UserError
from yt8m.schemas.json_file import NewerFormatError


@pytest.fixture
def registry(tmp_path: Path) -> str:
    return str(tmp_path / "push")


def number(registry: str) -> int | None:
    champion = find_champion(registry, verify=True)
    return champion.number if champion is not None else None


def push_worse(tmp_path: Path, registry: str, *, run_key: str = "", keep: int = 5) -> Version:
    """A version that the gate found no better than the champion."""
    model = fake_model(tmp_path / f"worse-{len(list(tmp_path.iterdir()))}")
    return push(model, registry, blessed_record(run_key=run_key), keep=keep)


def damage(registry: str, version: int) -> None:
    (Path(registry) / str(version) / "saved_model.pb").write_bytes(b"other")


def test_a_better_version_becomes_the_champion_and_a_worse_one_does_not(
    tmp_path: Path, registry: str
) -> None:
    assert number(registry) is None
    push_fake(tmp_path, Path(registry))
    push_worse(tmp_path, registry)
    assert number(registry) == 1
    push_fake(tmp_path, Path(registry))
    push_worse(tmp_path, registry)
    assert number(registry) == 3


def test_a_version_that_was_compared_with_nothing_leaves_the_champion_as_it_is(
    tmp_path: Path, registry: str
) -> None:
    push(fake_model(tmp_path / "a"), registry, blessed_record())
    assert number(registry) == 1  # there was none before it
    push(fake_model(tmp_path / "b"), registry, blessed_record())
    assert number(registry) == 1


def test_retention_spares_the_champion(tmp_path: Path, registry: str) -> None:
    push_fake(tmp_path, Path(registry))
    for _ in range(6):
        push_worse(tmp_path, registry, keep=2)
    assert list_versions(registry) == (1, 6, 7)
    push_fake(tmp_path, Path(registry), keep=2)
    assert list_versions(registry) == (7, 8)


def test_the_champion_survives_a_rollback_to_another_and_to_itself(
    tmp_path: Path, registry: str
) -> None:
    push_worse(tmp_path, registry)
    push_fake(tmp_path, Path(registry))
    assert rollback(registry, 1).number == 3
    assert number(registry) == 2
    assert rollback(registry, 2).number == 4
    assert number(registry) == 4  # the same model, under the number that is newer
    damage(registry, 4)
    assert number(registry) == 2


def test_a_choice_holds_until_a_version_that_was_compared_with_it(
    tmp_path: Path, registry: str
) -> None:
    push_worse(tmp_path, registry)
    push_fake(tmp_path, Path(registry))
    set_champion(registry, 1)
    assert number(registry) == 1
    push_worse(tmp_path, registry)
    assert number(registry) == 1
    push_fake(tmp_path, Path(registry))
    assert number(registry) == 4


@pytest.mark.parametrize("version", [2, 9])
def test_a_version_that_is_not_sound_or_not_there_is_no_choice(
    tmp_path: Path, registry: str, version: int
) -> None:
    for _ in range(2):
        push_fake(tmp_path, Path(registry))
    damage(registry, 2)
    with pytest.raises(UserError, match=f"version {version}"):
        set_champion(registry, version)
    assert not (Path(registry) / CHOICE_FILE).exists()


def test_a_choice_of_a_newer_yt8m_is_not_passed_over(tmp_path: Path, registry: str) -> None:
    push_fake(tmp_path, Path(registry))
    set_champion(registry, 1)
    file = Path(registry) / CHOICE_FILE
    file.write_text(file.read_text().replace('"format": 1', '"format": 99'))
    with pytest.raises(NewerFormatError):
        find_champion(registry)


def test_a_damaged_champion_is_skipped_by_name_and_stays_where_it_is(
    tmp_path: Path, registry: str, caplog: pytest.LogCaptureFixture
) -> None:
    push_fake(tmp_path, Path(registry))
    push_fake(tmp_path, Path(registry))
    file = Path(registry) / "2" / "saved_model.pb"
    content = file.read_bytes()
    damage(registry, 2)
    assert number(registry) == 1
    assert "version 2" in caplog.text
    assert "it was the champion" in caplog.text
    assert "models champion --set" in remove_damaged(registry).failed[2]
    assert list_versions(registry) == (1, 2)
    file.write_bytes(content)
    assert number(registry) == 2
    damage(registry, 2)
    set_champion(registry, 1)
    assert remove_damaged(registry).failed == {}
    assert list_versions(registry) == (1,)


def test_a_copy_under_another_number_changes_no_champion_and_can_be_removed(
    tmp_path: Path, registry: str
) -> None:
    for _ in range(2):
        push_fake(tmp_path, Path(registry))
    shutil.copytree(Path(registry) / "1", Path(registry) / "9")
    assert number(registry) == 2
    assert list(remove_damaged(registry).removed) == [9]


def test_a_run_sees_the_champion_of_its_start_and_not_what_it_pushed_itself(
    tmp_path: Path, registry: str
) -> None:
    push_fake(tmp_path, Path(registry))
    before = registry_digest(registry, "mine")
    push_fake(tmp_path, Path(registry), run_key="mine")
    assert registry_digest(registry, "mine") == before
    found = find_champion(registry, not_after=digest_version(before))
    assert found is not None
    assert found.number == 1
    push_worse(tmp_path, registry)
    later = registry_digest(registry)
    set_champion(registry, 1)
    assert registry_digest(registry) != later


def judged_against(model: str, champion: Version, *, is_better: bool) -> dict[str, object]:
    return {
        "decision": {
            "champion": {
                "name": f"version {champion.number}",
                "digest": champion.record.model_digest,
            }
        },
        "champion_digest": model_digest(model) if is_better else champion.record.model_digest,
    }


def test_a_push_that_was_compared_with_another_champion_is_stale(
    tmp_path: Path, registry: str
) -> None:
    first = push_fake(tmp_path, Path(registry))
    second = push_fake(tmp_path, Path(registry))
    model = fake_model(tmp_path / "candidate")
    record = dataclasses.replace(
        best_record(model, run_key="mine"), **judged_against(model, second, is_better=True)
    )
    served = in_service(registry)
    set_champion(registry, first.number)
    with pytest.raises(StaleBaselineError, match="version 2 is not the champion"):
        push(model, registry, record, replaces=served)
    set_champion(registry, second.number)
    assert push(model, registry, record, replaces=served).number == 3
    assert number(registry) == 3


def test_a_rollback_is_not_held_against_the_champion_of_its_own_decision(
    tmp_path: Path, registry: str
) -> None:
    first = push_fake(tmp_path, Path(registry))
    model = fake_model(tmp_path / "candidate")
    record = dataclasses.replace(best_record(model), **judged_against(model, first, is_better=True))
    second = push(model, registry, record)
    push_fake(tmp_path, Path(registry))
    again = rollback(registry, second.number, replaces=in_service(registry))
    assert (again.number, again.record.origin_version) == (4, 2)


def test_a_bit_that_fell_over_in_the_champion_blocks_no_push(tmp_path: Path, registry: str) -> None:
    first = push_fake(tmp_path, Path(registry))
    push_fake(tmp_path, Path(registry))
    before = registry_digest(registry)
    content = flip_bit(registry, 2)
    during = registry_digest(registry)
    champion = find_champion(registry, not_after=digest_version(during), verify=True)
    assert champion is not None
    assert champion.number == first.number
    model = fake_model(tmp_path / "candidate")
    record = dataclasses.replace(
        best_record(model), **judged_against(model, champion, is_better=True)
    )
    replaces = replaced_version(BaselineConfig(), registry, first)
    assert push(model, registry, record, replaces=replaces).number == 3
    shutil.rmtree(Path(registry) / "3")
    (Path(registry) / "2" / "saved_model.pb").write_bytes(content)
    assert (before == during, registry_digest(registry)) == (False, before)


def test_the_digest_changes_where_a_bit_of_the_newest_version_falls_over(
    tmp_path: Path, registry: str
) -> None:
    push_fake(tmp_path, Path(registry))
    push_worse(tmp_path, registry)  # no champion, which is read for itself
    before = registry_digest(registry)
    flip_bit(registry, 2)
    assert digest_version(before) == 2
    assert digest_version(registry_digest(registry)) == 1


def flip_bit(registry: str, version: int) -> bytes:
    """What the file held; its size stays."""
    file = Path(registry) / str(version) / "saved_model.pb"
    content = file.read_bytes()
    file.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    return content


def test_a_choice_that_cannot_be_read_is_named_with_what_to_do(
    tmp_path: Path, registry: str
) -> None:
    push_fake(tmp_path, Path(registry))
    for text in ("", "{", "[]", "{}"):
        (Path(registry) / CHOICE_FILE).write_text(text)
        with pytest.raises(UserError, match=r"champion\.json is damaged .* --set"):
            find_champion(registry)


@pytest.mark.parametrize("worse", [0, 1])
def test_the_files_of_a_version_are_read_once_for_the_digest_of_the_registry(
    tmp_path: Path, registry: str, monkeypatch: pytest.MonkeyPatch, worse: int
) -> None:
    push_fake(tmp_path, Path(registry))
    for _ in range(worse):
        push_worse(tmp_path, registry)
    opened = []

    def open_and_count(uri: str) -> BinaryIO:
        opened.append(uri)
        return Path(uri).open("rb")

    monkeypatch.setattr(digests.storage, "open_file", open_and_count)
    registry_digest(registry)
    models = [uri for uri in opened if uri.endswith("saved_model.pb")]
    assert sorted(models) == [f"{registry}/{n}/saved_model.pb" for n in range(1, 2 + worse)]
