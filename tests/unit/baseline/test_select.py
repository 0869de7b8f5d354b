"""The configuration and the registry's digest decide which version is handed on."""

from __future__ import annotations

import dataclasses
import re
import shutil
from pathlib import Path

import pytest
from registry_models import best_record, blessed_record, fake_model, push_fake

from yt8m.components.artifacts.saved_model import SERVING_DIR
from yt8m.components.artifacts.version_record import RECORD_FILE
from yt8m.components.baseline.config import BaselineChoice, BaselineConfig
from yt8m.components.baseline.select import (
    copy_champion,
    copy_to_artifact,
    passed_over,
    replaced_version,
    select_baseline,
    select_champion,
)
from yt8m.components.registry.baseline_artifact import baseline_model, require_sound
from yt8m.components.registry.push import push
from yt8m.components.registry.registry_digest import registry_digest
from yt8m.components.registry.versions import (
    NO_VERSION,
    DamagedVersionError,
    InService,
    in_service,
)
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import ConfigError, UserError


@pytest.fixture
def push_dir(tmp_path: Path) -> str:
    for _ in range(3):
        push_fake(tmp_path, tmp_path / "push")
    return str(tmp_path / "push")


def number(config: BaselineConfig, push_dir: str, digest: str = "") -> int:
    version = select_baseline(config, push_dir, digest)
    return version.number if version else 0


@pytest.mark.parametrize(
    ("version", "digest", "expected"),
    [
        (BaselineChoice.NEWEST, "", 3),
        (BaselineChoice.NEWEST, "2-abc", 2),  # 3 was pushed after the run had begun
        (BaselineChoice.NEWEST, NO_VERSION, 0),
        (BaselineChoice.NONE, "", 0),
        (BaselineChoice.NONE, "3-abc", 0),
        (1, "", 1),
        (1, "3-abc", 1),
        (1, NO_VERSION, 1),
    ],
)
def test_the_version_that_is_handed_on(
    push_dir: str, version: BaselineChoice | int, digest: str, expected: int
) -> None:
    assert number(BaselineConfig(version=version), push_dir, digest) == expected


def test_what_is_handed_on_takes_no_space_and_outlives_the_version(
    push_dir: str, tmp_path: Path
) -> None:
    version = select_baseline(BaselineConfig(), push_dir, "")
    assert version is not None
    artifact = tmp_path / "artifact"
    copy_to_artifact(version, str(artifact))
    model = baseline_model(str(artifact))
    assert model is not None
    assert all(
        Path(model, name).samefile(Path(version.path, name)) for name in version.record.files
    )
    shutil.rmtree(version.path)
    require_sound(str(artifact))


def test_damage_in_the_registry_is_noticed_in_what_was_handed_on(
    push_dir: str, tmp_path: Path
) -> None:
    version = select_baseline(BaselineConfig(), push_dir, "")
    assert version is not None
    copy_to_artifact(version, str(tmp_path / "artifact"))
    require_sound(str(tmp_path / "artifact"))
    with Path(version.path, "saved_model.pb").open("r+b") as file:
        file.write(b"M")
    with pytest.raises(DamagedVersionError, match=r"version 3.*is damaged: saved_model.pb"):
        require_sound(str(tmp_path / "artifact"))


def test_the_digest_names_what_is_selected(push_dir: str) -> None:
    assert number(BaselineConfig(), push_dir, registry_digest(push_dir)) == 3


def test_without_a_push_directory_there_is_no_baseline(tmp_path: Path) -> None:
    assert number(BaselineConfig(), "") == 0
    assert number(BaselineConfig(), str(tmp_path / "absent")) == 0


def test_contents_are_read_before_a_version_is_handed_on(push_dir: str) -> None:
    Path(push_dir, "3", "saved_model.pb").write_bytes(b"MODEL")  # the size that is on record
    assert number(BaselineConfig(), push_dir) == 2
    with pytest.raises(DamagedVersionError, match="SHA-256"):
        number(BaselineConfig(version=3), push_dir)
    with pytest.raises(UserError, match="no such version"):
        number(BaselineConfig(version=9), push_dir)


@pytest.mark.parametrize("version", ["newest", "none", 7])
def test_a_choice_survives_the_way_to_json_and_back(version: str | int) -> None:
    config = from_dict(BaselineConfig, {"version": version})
    assert to_dict(config) == {"version": version}


@pytest.mark.parametrize("version", ["latest", 0, -1, 1.5])
def test_a_choice_that_is_none_is_refused(version: object) -> None:
    with pytest.raises(ConfigError, match=r"baseline\.version"):
        from_dict(BaselineConfig, {"version": version}, path="baseline")


def test_a_registry_of_damaged_versions_alone_is_refused_and_none_replaces_it(
    push_dir: str,
) -> None:
    for version in (1, 2, 3):
        Path(push_dir, str(version), "saved_model.pb").unlink()
    for digest in ("", NO_VERSION, "3-abc"):
        with pytest.raises(UserError, match=r"every version in .* is damaged"):
            number(BaselineConfig(), push_dir, digest)
    assert number(BaselineConfig(version=BaselineChoice.NONE), push_dir) == 0


def test_a_foreign_model_in_service_stops_what_would_replace_it(
    push_dir: str, tmp_path: Path
) -> None:
    fake_model(Path(push_dir, "1700000000"))
    with pytest.raises(UserError, match="was not pushed by yt8m"):
        number(BaselineConfig(), push_dir)
    with pytest.raises(UserError, match="was not pushed by yt8m"):
        number(BaselineConfig(version=2), push_dir)
    assert number(BaselineConfig(version=BaselineChoice.NONE), push_dir) == 0


def test_a_push_replaces_what_the_baseline_was_chosen_over(push_dir: str, tmp_path: Path) -> None:
    newest = BaselineConfig()
    third = select_baseline(newest, push_dir, "")
    assert replaced_version(newest, push_dir, third) == in_service(push_dir)
    second = select_baseline(newest, push_dir, "2-abc")  # 3 was pushed after the run had begun
    replaced = replaced_version(newest, push_dir, second)
    assert replaced is not None
    assert replaced.version == 2
    named = BaselineConfig(version=1)
    assert replaced_version(named, push_dir, select_baseline(named, push_dir, "")) == in_service(
        push_dir
    )
    assert replaced_version(BaselineConfig(version=BaselineChoice.NONE), push_dir, None) is None
    empty = str(tmp_path / "empty")
    assert replaced_version(newest, empty, None) == InService()


def test_of_damaged_versions_those_are_named_that_stood_for_something(tmp_path: Path) -> None:
    push_dir = str(tmp_path / "push")
    models = [fake_model(tmp_path / f"model-{number}") for number in range(1, 6)]
    best = best_record(models[1])  # the second one stays the champion
    for model in models:
        record = dataclasses.replace(blessed_record(), champion_digest=best.champion_digest)
        push(model, push_dir, record, keep=5)
    for damaged in (1, 3, 5):
        Path(push_dir, str(damaged), "saved_model.pb").write_bytes(b"MODEL")
    baseline = select_baseline(BaselineConfig(), push_dir, "")
    champion = select_champion(BaselineConfig(), push_dir, "", baseline=None)
    assert [version and version.number for version in (baseline, champion)] == [4, 2]
    (problem,) = passed_over(BaselineConfig(), push_dir, baseline, champion)
    assert "version 5" in problem  # those below the baseline stand for nothing any more
    Path(push_dir, "2", "saved_model.pb").write_bytes(b"MODEL")
    problems = passed_over(BaselineConfig(), push_dir, baseline, None)
    assert [re.findall(r"version (\d)", problem) for problem in problems] == [["2"], ["5"]]
    assert passed_over(BaselineConfig(version=4), push_dir, baseline, champion) == []


def test_a_champion_is_handed_on_with_its_files_unless_the_baseline_has_them(
    push_dir: str, tmp_path: Path
) -> None:
    champion = select_baseline(BaselineConfig(version=1), push_dir, "")
    other = select_baseline(BaselineConfig(version=3), push_dir, "")
    assert champion is not None
    assert other is not None
    names = {}
    for case, baseline in (("alone", None), ("the baseline", champion), ("another", other)):
        copy_champion(champion, str(tmp_path / case), baseline=baseline)
        found = (p for p in (tmp_path / case).rglob("*") if p.is_file())
        names[case] = {str(p.relative_to(tmp_path / case / SERVING_DIR)) for p in found}
    assert names["alone"] == {*champion.record.files, RECORD_FILE}
    assert names["the baseline"] == {RECORD_FILE}
    copy_champion(None, str(tmp_path / "none"), baseline=champion)
    assert not list((tmp_path / "none").iterdir())


def test_the_first_run_of_a_registry_has_no_champion_though_it_is_repeated(tmp_path: Path) -> None:
    registry = tmp_path / "first"
    push_fake(tmp_path, registry, run_key="mine")  # and then it was killed
    digest = registry_digest(str(registry), exclude_run_key="mine")
    assert select_champion(BaselineConfig(), str(registry), digest, baseline=None) is None
    assert select_champion(BaselineConfig(), str(registry), "", baseline=None) is not None
