"""What is pushed is found again; what is damaged is not; numbers only grow."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import tempfile
from pathlib import Path

import pytest
from registry_models import best_record, blessed_record, fake_model, push_fake

from yt8m.components import storage
from yt8m.components.artifacts.version_record import (
    RECORD_FILE,
    BrokenRecordError,
    DataRecord,
    Origin,
    VersionRecord,
    parse_record,
)
from yt8m.components.registry.outcomes import NotPushedError
from yt8m.components.registry.push import Additions, push, rollback
from yt8m.components.registry.registry_digest import digest_version, registry_digest
from yt8m.components.registry.versions import (
    NO_VERSION,
    DamagedVersionError,
    list_baselines,
    list_versions,
    load_record,
    load_version,
    newest,
)
from yt8m.schemas.errors import UserError, Yt8mError


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    return tmp_path / "push"


def visible(registry: Path) -> set[str]:
    """What a model server would list, and whatever else is not hidden."""
    return {path.name for path in registry.iterdir() if path.name != ".lock"}


def test_an_absent_directory_is_an_empty_registry(registry: Path) -> None:
    assert list_versions(str(registry)) == ()
    assert newest(str(registry)) is None
    assert registry_digest(str(registry)) == NO_VERSION


def test_a_push_holds_the_models_files_the_statistics_and_a_record(
    tmp_path: Path, registry: Path
) -> None:
    model = Path(fake_model(tmp_path / "model"))
    (tmp_path / "statistics").mkdir()
    (tmp_path / "statistics" / "FeatureStats.pb").write_bytes(b"stats")

    pushed = push(
        str(model),
        str(registry),
        blessed_record(),
        additions=Additions(statistics_dir=str(tmp_path / "statistics")),
    )

    assert pushed.number == 1
    for file in (path for path in model.rglob("*") if path.is_file()):
        assert (registry / "1" / file.relative_to(model)).read_bytes() == file.read_bytes()
    assert pushed.statistics_dir is not None
    assert Path(pushed.statistics_dir, "FeatureStats.pb").read_bytes() == b"stats"
    record = load_record(str(registry), 1)
    assert record.metrics["gap"].value == 0.5
    assert record.files["saved_model.pb"].bytes == len(b"model")
    assert visible(registry) == {"1"}


def test_numbers_grow_beyond_whatever_is_there(tmp_path: Path, registry: Path) -> None:
    push_fake(tmp_path, registry)
    (registry / "41").mkdir()  # somebody else's, without a record
    assert push_fake(tmp_path, registry).number == 42


def test_a_directory_that_is_no_saved_model_is_refused(tmp_path: Path, registry: Path) -> None:
    (tmp_path / "nothing").mkdir()
    with pytest.raises(UserError, match=r"saved_model\.pb"):
        push(str(tmp_path / "nothing"), str(registry), blessed_record())
    assert not registry.exists()


def test_a_push_into_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="versions cannot be written to"):
        push(fake_model(tmp_path / "model"), str(tmp_path / "file"), blessed_record())
    with pytest.raises(UserError, match="not a directory"):
        list_versions(str(tmp_path / "file"))


def test_a_place_on_another_file_system_is_named_and_nothing_is_done(
    tmp_path: Path, registry: Path
) -> None:
    push_fake(tmp_path, registry)
    own = registry.stat().st_dev
    elsewhere = [place for place in ("/dev/shm", "/var/tmp") if Path(place).stat().st_dev != own]
    if not elsewhere:
        pytest.skip("there is no other file system")
    with tempfile.TemporaryDirectory(dir=elsewhere[0]) as other:
        (registry / ".baselines").symlink_to(other)
        with pytest.raises(UserError, match=r"baselines is on another file system than .*push"):
            push(fake_model(tmp_path / "m"), str(registry), blessed_record(), served=False)
        assert list(Path(other).iterdir()) == []
    assert visible(registry) == {".baselines", "1"}


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def flip(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])


DAMAGES = {
    "variables cut": lambda v: cut(v / "variables" / "variables.data-00000-of-00001"),
    "variables gone": lambda v: (v / "variables" / "variables.index").unlink(),
    "one bit flipped": lambda v: flip(v / "variables" / "variables.data-00000-of-00001"),
    "graph gone": lambda v: (v / "saved_model.pb").unlink(),
    "record cut": lambda v: cut(v / RECORD_FILE),
    "record empty": lambda v: (v / RECORD_FILE).write_text(""),
    "record binary": lambda v: (v / RECORD_FILE).write_bytes(b"\xff\xfe\x00"),
    "record of another": lambda v: (v / RECORD_FILE).write_text(
        (v.parent / "1" / RECORD_FILE).read_text()
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_newest_version_is_passed_over_by_name(
    damage: str, tmp_path: Path, registry: Path, caplog: pytest.LogCaptureFixture
) -> None:
    push_fake(tmp_path, registry)
    push_fake(tmp_path, registry)
    DAMAGES[damage](registry / "2")

    with caplog.at_level(logging.WARNING):
        found = newest(str(registry), verify=True)

    assert found is not None
    assert found.number == 1
    assert f"version 2 in {registry}" in caplog.text
    with pytest.raises(DamagedVersionError, match=f"version 2 in {registry}"):
        load_version(str(registry), 2, verify=True)


def test_a_version_pushed_meanwhile_is_left_out_and_a_damaged_one_still_named(
    tmp_path: Path, registry: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        push_fake(tmp_path, registry)
    cut(registry / "2" / "saved_model.pb")
    with caplog.at_level(logging.WARNING):
        found = newest(str(registry), not_after=1)
    assert found is not None
    assert found.number == 1
    assert "version 2" in caplog.text
    assert "version 3" not in caplog.text


def test_a_version_that_is_not_blessed_is_no_baseline(tmp_path: Path, registry: Path) -> None:
    push_fake(tmp_path, registry)
    push(fake_model(tmp_path / "m"), str(registry), VersionRecord(reason="gate.mode is none"))
    found = newest(str(registry))
    assert found is not None
    assert found.number == 1


def test_retention_keeps_the_last_few(tmp_path: Path, registry: Path) -> None:
    for _ in range(5):
        push_fake(tmp_path, registry, keep=3)
    assert visible(registry) == {"3", "4", "5"}


def test_damaged_versions_do_not_count_among_those_kept(tmp_path: Path, registry: Path) -> None:
    for _ in range(3):
        push_fake(tmp_path, registry)
    cut(registry / "3" / "saved_model.pb")
    push_fake(tmp_path, registry, keep=2)
    assert visible(registry) == {"2", "3", "4"}
    push_fake(tmp_path, registry, keep=2)
    assert visible(registry) == {"3", "4", "5"}  # only `prune` takes a damaged one away


def test_retention_spares_the_newest_ones_baseline_and_a_rollbacks_source(
    tmp_path: Path, registry: Path
) -> None:
    for _ in range(3):
        push_fake(tmp_path, registry)
    model = fake_model(tmp_path / "m")
    push(model, str(registry), best_record(model, baseline=1), keep=1)
    assert list_versions(str(registry)) == (1, 4)
    rollback(str(registry), 1, keep=1)
    assert list_versions(str(registry)) == (1, 4, 5)  # 4 is the champion


def test_a_rollback_is_a_new_version_with_the_old_files(tmp_path: Path, registry: Path) -> None:
    for key in ("a", "b"):
        push_fake(tmp_path, registry, run_key=key)
    before = load_record(str(registry), 1)

    rolled = rollback(str(registry), 1)

    assert rolled.number == 3
    assert rolled.record.origin is Origin.ROLLBACK
    assert rolled.record.origin_version == 1
    assert rolled.record.given_files == before.given_files
    assert rolled.record.metrics == before.metrics
    found = newest(str(registry), verify=True)
    assert found is not None
    assert found.number == 3


def test_a_rollback_to_nothing_or_to_a_damaged_version_is_refused(
    tmp_path: Path, registry: Path
) -> None:
    for _ in range(2):
        push_fake(tmp_path, registry)
    with pytest.raises(UserError, match="there are: 1, 2"):
        rollback(str(registry), 9)
    flip(registry / "1" / "variables" / "variables.index")
    with pytest.raises(DamagedVersionError, match="SHA-256"):
        rollback(str(registry), 1)
    assert visible(registry) == {"1", "2"}


def test_the_files_of_the_newest_version_are_not_pushed_again(
    tmp_path: Path, registry: Path
) -> None:
    model = fake_model(tmp_path / "model")
    first = push(model, str(registry), blessed_record(run_key="k"))
    again = push(model, str(registry), blessed_record(run_key="k"))
    assert (first.number, again.number) == (1, 1)
    flip(registry / "1" / "saved_model.pb")
    assert push(model, str(registry), blessed_record(run_key="k")).number == 2
    push_fake(tmp_path, registry)
    assert push(model, str(registry), blessed_record(run_key="k")).number == 4


def test_files_pushed_without_a_gate_are_pushed_again_when_blessed(
    tmp_path: Path, registry: Path
) -> None:
    model = fake_model(tmp_path / "model")
    assert push(model, str(registry), VersionRecord()).number == 1
    assert push(model, str(registry), blessed_record()).number == 2


def test_the_digest_ignores_this_runs_own_versions_and_what_retention_removed(
    tmp_path: Path, registry: Path
) -> None:
    for key in ("a", "b"):
        push_fake(tmp_path, registry, run_key=key)
    before = registry_digest(str(registry), exclude_run_key="mine")
    push(
        fake_model(tmp_path / "m"),
        str(registry),
        blessed_record(run_key="mine", baseline=2),
        keep=1,
    )
    assert list_versions(str(registry)) == (2, 3)
    assert registry_digest(str(registry), exclude_run_key="mine") == before
    assert digest_version(before) == 2
    assert digest_version(registry_digest(str(registry))) == 3


def test_the_digest_changes_with_another_push_a_rollback_and_damage(
    tmp_path: Path, registry: Path
) -> None:
    push_fake(tmp_path, registry)
    seen = {registry_digest(str(registry))}
    push_fake(tmp_path, registry)
    seen.add(registry_digest(str(registry)))
    rollback(str(registry), 1)
    seen.add(registry_digest(str(registry)))
    assert len(seen) == 3
    cut(registry / "3" / "saved_model.pb")
    assert digest_version(registry_digest(str(registry))) == 2


def test_a_push_that_fails_leaves_the_registry_as_it_was(
    tmp_path: Path, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_fake(tmp_path, registry)
    model = Path(fake_model(tmp_path / "model"))
    monkeypatch.setattr("yt8m.components.storage.write_text", _full_disk)
    with pytest.raises(NotPushedError, match=r"nothing of it is in service: .*No space left"):
        push(str(model), str(registry), blessed_record())
    assert visible(registry) == {"1"}


def with_checksum(**fields: object) -> str:
    digest = hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
    return json.dumps({"format": 1, "checksum": digest, **fields})


def _full_disk(path: str, text: str) -> None:
    raise OSError(28, "No space left on device")


def test_a_record_survives_the_way_to_json_and_back() -> None:
    record = blessed_record(run_key="k", baseline=3)
    assert parse_record(record.to_json()) == record


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not JSON"),
        ("[]", "not a JSON object"),
        ('{"format": 1, "checksum": "x", "blessed": true}', "wrong checksum"),
        (with_checksum(version="two"), "version"),
    ],
)
def test_a_wrong_record_says_what_is_wrong(text: str, says: str) -> None:
    with pytest.raises(BrokenRecordError, match=says):
        parse_record(text)


def test_keys_that_a_newer_yt8m_has_added_to_a_record_are_passed_over_and_kept() -> None:
    text = with_checksum(version=2, colour="red", data={"level": "video", "new": {"a": [1]}})
    record = parse_record(text)
    known = VersionRecord(version=2, data=DataRecord(level="video"))
    assert dataclasses.replace(record, newer_keys={}) == known
    again = json.loads(record.to_json())
    assert (again["colour"], again["data"]["new"]) == ("red", {"a": [1]})
    assert "newer_keys" not in again
    assert parse_record(record.to_json()) == record


def test_a_rollback_hands_on_what_a_newer_yt8m_has_added(tmp_path: Path, registry: Path) -> None:
    push_fake(tmp_path, registry)
    file = registry / "1" / RECORD_FILE
    fields = {
        key: value for key, value in json.loads(file.read_text()).items() if key != "checksum"
    }
    del fields["format"], fields["yt8m"]
    fields["files"]["saved_model.pb"]["crc"] = 7
    fields["colour"] = "red"
    file.write_text(with_checksum(**fields))
    push_fake(tmp_path, registry)
    (registry / "1" / "variables" / "more").write_text("not on record")
    rolled = rollback(str(registry), 1)
    found = json.loads((registry / "3" / RECORD_FILE).read_text())
    assert found["colour"] == "red"
    assert found["files"]["saved_model.pb"]["crc"] == 7
    assert load_record(str(registry), 3) == rolled.record


def test_a_record_refuses_nan() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        json.loads(VersionRecord(decision={"gap": float("nan")}).to_json())


@pytest.mark.parametrize(
    ("served", "killed_in"),
    [(True, "push._remove_old_versions"), (False, "cleaning.Cleaning.finish")],
)
def test_what_a_killed_push_had_not_come_to_is_done_when_it_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, served: bool, killed_in: str
) -> None:
    registry = tmp_path / "push"
    for _ in range(2):
        push_fake(tmp_path, registry, keep=2)
    model = fake_model(tmp_path / "new")
    with monkeypatch.context() as patched:

        def killed(*_: object) -> None:
            raise KeyboardInterrupt

        patched.setattr(f"yt8m.components.registry.{killed_in}", killed)
        with pytest.raises(KeyboardInterrupt):
            push(model, str(registry), blessed_record(), keep=2, served=served)
    again = push(model, str(registry), blessed_record(), keep=2, served=served)
    assert again.number == 3
    assert list_versions(str(registry)) == ((2, 3) if served else (1, 2))
    assert list_baselines(str(registry)) == (() if served else (3,))


def test_bytes_that_change_while_they_are_copied_are_not_pushed(
    tmp_path: Path, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = fake_model(tmp_path / "model")
    copy = storage.copy

    def copy_and_flip(source: str, target: str) -> None:
        copy(source, target)
        content = Path(target).read_bytes()
        Path(target).write_bytes(bytes([content[0] ^ 1]) + content[1:])  # as long as before

    monkeypatch.setattr(storage, "copy", copy_and_flip)
    with pytest.raises(Yt8mError, match="the model changed while it was copied"):
        push(model, str(registry), blessed_record())
    assert visible(registry) == set()
