"""What has no record of ours belongs to somebody else: it is never changed, renamed or removed."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest
from registry_models import blessed_record, fake_model, push_fake

from yt8m.cli.main import run
from yt8m.components import storage
from yt8m.components.artifacts.version_record import RECORD_FILE
from yt8m.components.registry.push import find_damaged, push, remove_damaged, rollback
from yt8m.components.registry.versions import (
    ForeignVersionError,
    UnreadableVersionError,
    check_usable,
    in_service,
    list_versions,
    load_version,
    newest,
    next_number,
    version_path,
)
from yt8m.schemas.errors import EXIT_USER, UserError
from yt8m.schemas.json_file import NewerFormatError

FOREIGN = (1, 2, 1_700_000_000)


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    """Three models of another maker, as TensorFlow Serving loads them."""
    for number in FOREIGN:
        model = Path(fake_model(tmp_path / "push" / str(number), content=b"theirs"))
        (model / "assets.extra" / "yt8m_export.json").unlink()
    return tmp_path / "push"


def contents(registry: Path, *numbers: int) -> dict[str, tuple[bytes, int]]:
    """Every byte and time of the versions."""
    files = [p for n in numbers for p in (registry / str(n)).rglob("*") if p.is_file()]
    return {str(p): (p.read_bytes(), p.stat().st_mtime_ns) for p in files}


def test_pushes_leave_every_foreign_version_as_it_was(tmp_path: Path, registry: Path) -> None:
    before = contents(registry, *FOREIGN)
    for _ in range(4):
        push_fake(tmp_path, registry, keep=2)
    assert contents(registry, *FOREIGN) == before
    ours = (1_700_000_003, 1_700_000_004)
    assert list_versions(str(registry)) == (*FOREIGN, *ours)


def test_a_foreign_version_that_is_a_link_stays_with_what_it_leads_to(
    tmp_path: Path, registry: Path
) -> None:
    theirs = Path(fake_model(tmp_path / "elsewhere"))
    (registry / "7").symlink_to(theirs)
    for _ in range(4):
        push_fake(tmp_path, registry, keep=2)
    assert (registry / "7").is_symlink()
    assert (theirs / "saved_model.pb").read_bytes() == b"model"


def test_hidden_directories_of_others_stay(tmp_path: Path, registry: Path) -> None:
    for name in (".staging-area", ".removed-things", ".git"):
        (registry / name).mkdir()
        (registry / name / "file").write_text("theirs")
    push_fake(tmp_path, registry)
    for name in (".staging-area", ".removed-things", ".git"):
        assert (registry / name / "file").read_text() == "theirs"


def test_a_version_that_lost_its_record_is_foreign_and_stays(tmp_path: Path) -> None:
    registry = tmp_path / "ours"
    for _ in range(2):
        push_fake(tmp_path, registry)
    (registry / "1" / RECORD_FILE).unlink()
    for _ in range(4):
        push_fake(tmp_path, registry, keep=2)
    assert 1 in list_versions(str(registry))
    with pytest.raises(ForeignVersionError, match="yt8m did not push it"):
        load_version(str(registry), 1)
    assert remove_damaged(str(registry)).removed == {}


def test_a_foreign_model_in_service_hides_the_versions_below_it(
    tmp_path: Path, registry: Path
) -> None:
    for number in FOREIGN[1:]:
        (registry / str(number)).rename(tmp_path / str(number))
    push_fake(tmp_path, registry)
    found = newest(str(registry))
    assert found is not None
    assert found.number == 2
    (tmp_path / "1700000000").rename(registry / "1700000000")
    assert newest(str(registry)) is None
    assert in_service(str(registry)).foreign
    with pytest.raises(
        UserError,
        match=r"1700000000 in .* models import \S+/1700000000 --push .*baseline\.version=none",
    ):
        check_usable(str(registry))


def test_numbers_as_large_as_nanoseconds_are_seen(tmp_path: Path, registry: Path) -> None:
    number = 1_700_000_000_000_000_000
    fake_model(registry / str(number))
    assert in_service(str(registry)).version == number
    assert push_fake(tmp_path, registry).number == number + 1


@pytest.mark.parametrize("name", ["0", "00000123", " 7", "+5"])
def test_a_name_is_a_version_where_tensorflow_serving_takes_it_for_one(
    tmp_path: Path, name: str
) -> None:
    push = tmp_path / "push"
    fake_model(push / name, content=b"theirs")
    (push / "yt8m-1").mkdir()
    assert list_versions(str(push)) == (int(name),)
    served = in_service(str(push))
    assert served
    assert (served.version, served.foreign) == (int(name), True)
    assert version_path(str(push), int(name)) == str(push / name)
    with pytest.raises(UserError, match=f"version {int(name)} in .* was not pushed by yt8m"):
        check_usable(str(push))
    assert push_fake(tmp_path, push).number == int(name) + 1


@pytest.mark.parametrize("name", ["-1", "1_0", "٣", str(2**63), "1.5", "0x1"])
def test_no_other_name_is_one(tmp_path: Path, name: str) -> None:
    fake_model(tmp_path / "push" / name)
    assert list_versions(str(tmp_path / "push")) == ()
    assert not in_service(str(tmp_path / "push"))


@pytest.mark.parametrize(
    ("take", "what"),
    [
        (lambda path: path.write_text(""), "a file"),
        (lambda path: path.symlink_to("/not/mounted/2"), "a broken link"),
    ],
)
def test_a_taken_name_is_passed_over_and_named(
    tmp_path: Path,
    take: Callable[[Path], object],
    what: str,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    push = tmp_path / "push"
    push_fake(tmp_path, push)
    take(push / "2")
    take(push / "003")
    caplog.clear()
    assert push_fake(tmp_path, push).number == 4
    for name in ("2", "003"):
        assert f"{push / name} is {what}" in caplog.text
    assert run(["models", "list", "--push", str(push)]) == 0
    assert f"003 is {what}" in capsys.readouterr().err


def test_an_empty_directory_is_no_model(tmp_path: Path) -> None:
    registry = tmp_path / "push"
    push_fake(tmp_path, registry)
    (registry / "9").mkdir()
    check_usable(str(registry))
    assert in_service(str(registry)).version == 1
    found = newest(str(registry))
    assert found is not None
    assert found.number == 1


def test_nothing_is_removed_until_more_than_those_to_keep_are_sound(tmp_path: Path) -> None:
    registry = tmp_path / "push"
    for _ in range(4):
        push_fake(tmp_path, registry)
    for number in (2, 3):  # as many bytes as before
        (registry / str(number) / "saved_model.pb").write_bytes(b"MODEL")
    push_fake(tmp_path, registry, keep=3)
    assert list_versions(str(registry)) == (1, 2, 3, 4, 5)
    push_fake(tmp_path, registry, keep=3)
    assert list_versions(str(registry)) == (2, 3, 4, 5, 6)


def test_damaged_versions_go_only_when_somebody_says_so(tmp_path: Path) -> None:
    registry = tmp_path / "push"
    for _ in range(3):
        push_fake(tmp_path, registry)
    (registry / "1" / "saved_model.pb").unlink()
    (registry / "2" / RECORD_FILE).write_text("{")
    fake_model(registry / "4")
    for _ in range(3):
        push_fake(tmp_path, registry, keep=2)
    assert set(list_versions(str(registry))) >= {1, 2, 4}
    assert set(find_damaged(str(registry))) == {1, 2}
    done = remove_damaged(str(registry))
    assert set(done.removed) == {1, 2}
    assert done.failed == {}
    assert (Path(done.aside[2]) / "saved_model.pb").exists()
    assert next_number(str(registry)) > max(list_versions(str(registry)))
    for number in (1, 2):  # a week later
        os.utime(registry / ".pruned" / str(number), (0, 0))
    push_fake(tmp_path, registry)
    assert not list((registry / ".pruned").iterdir())
    assert 4 in list_versions(str(registry))
    assert not list(registry.glob(".yt8m*"))


def test_a_registry_whose_versions_are_all_damaged_is_not_an_empty_one(tmp_path: Path) -> None:
    registry = tmp_path / "push"
    check_usable(str(registry))
    for _ in range(2):
        push_fake(tmp_path, registry)
    for number in (1, 2):
        (registry / str(number) / "saved_model.pb").unlink()
    with pytest.raises(UserError) as refused:
        check_usable(str(registry))
    text = str(refused.value)
    assert re.search(r"every version in \S+ is damaged", text)
    for word in ("version 1 in", "version 2 in", "saved_model.pb is missing"):
        assert word in text
    for remedy in ("baseline.version=none", "models import", "models verify"):
        assert remedy in text


def test_an_import_that_is_not_served_lies_where_no_model_server_looks(
    tmp_path: Path, registry: Path
) -> None:
    version = push(fake_model(tmp_path / "m"), str(registry), blessed_record(), served=False)
    assert version.number == 1_700_000_001
    assert version.path == str(registry / ".baselines" / "1700000001")
    assert list_versions(str(registry)) == FOREIGN
    check_usable(str(registry))
    assert newest(str(registry), verify=True) == version
    with pytest.raises(UserError, match="a baseline that was never scored"):
        rollback(str(registry), version.number)
    assert push_fake(tmp_path, registry).number == 1_700_000_002
    found = newest(str(registry))
    assert found is not None
    assert found.number == 1_700_000_002


def test_a_version_in_service_is_never_hidden_by_an_import_that_is_not(tmp_path: Path) -> None:
    registry = tmp_path / "push"
    push_fake(tmp_path, registry)
    push(fake_model(tmp_path / "m"), str(registry), blessed_record(), served=False)
    found = newest(str(registry))
    assert found is not None
    assert found.number == 1


def test_a_fault_of_the_storage_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry = tmp_path / "push"
    for _ in range(2):
        push_fake(tmp_path, registry)
    real = storage.open_file

    def open_file(uri: str) -> BinaryIO:
        if "/2/" in uri:
            raise TimeoutError("the server does not answer")
        return real(uri)

    monkeypatch.setattr("yt8m.components.storage.files.open_file", open_file)
    for use in (newest, remove_damaged, in_service, find_damaged):
        with pytest.raises(UnreadableVersionError, match="does not answer"):
            use(str(registry))
    assert list_versions(str(registry)) == (1, 2)


def test_a_version_of_a_newer_yt8m_stops_everything_and_stays_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    push = tmp_path / "push"
    push_fake(tmp_path, push)
    push_fake(tmp_path, push)
    record = push / "2" / RECORD_FILE
    record.write_text(json.dumps({"format": 3, "yt8m": "1.4.0", "of": "that time"}))
    before = {path: path.read_bytes() for path in push.rglob("*") if path.is_file()}
    for use in (
        lambda: newest(str(push)),
        lambda: in_service(str(push)),
        lambda: load_version(str(push), 2),
        lambda: list(find_damaged(str(push))),
        lambda: remove_damaged(str(push)),
        lambda: rollback(str(push), 2),
        lambda: push_fake(tmp_path, push, keep=1),
    ):
        with pytest.raises(NewerFormatError, match=rf"{record}: yt8m 1\.4\.0 wrote it"):
            use()
    assert run(["models", "list", "--push", str(push), "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["state"] for row in rows["versions"]] == ["newer", "blessed"]
    assert [row["served"] for row in rows["versions"]] == [True, False]
    assert rows["baseline"] is None
    assert run(["models", "verify", "--push", str(push)]) == EXIT_USER
    assert "version 2: newer" in capsys.readouterr().out
    assert {path: path.read_bytes() for path in push.rglob("*") if path.is_file()} == before
