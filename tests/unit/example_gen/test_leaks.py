"""No video is both learned from and judged by: all pairs of roles, all policies, cached or not."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from ingesting import ingest_directory
from records import make_dataset, read_all, replace_record

from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.example_gen.config import SplitRoles
from yt8m.schemas.errors import DataError

ROLES = SplitRoles(train="train", validation="eval", judged="holdout")
# Below each name the files of the split; the copy in the first of a pair is the bad one.
SPLITS = {"train": ["train*"], "eval": ["validate*"], "holdout": ["holdout*"], "test": []}
FILES = {"train": "train0000", "eval": "validate0000", "holdout": "holdout0000"}
PAIRS = [("train", "eval"), ("train", "holdout"), ("eval", "holdout")]
POLICIES = ["full", "checksum", "sample", "off"]


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("generated"))


@pytest.fixture
def data(generated: Path, tmp_path: Path) -> Path:
    """Three splits that have nothing in common."""
    root = Path(shutil.copytree(generated, tmp_path / "data"))
    shutil.move(root / "train0001.tfrecord", root / "holdout0000.tfrecord")
    return root


def ingested(data: Path, out: Path, **values: Any) -> Manifest:
    given = {"splits": SPLITS, "roles": ROLES, **values}
    return ingest_directory(data, out, **given).manifest


def leak(data: Path, pair: tuple[str, str]) -> None:
    """Put the fourth record of the judged split in the place of the other's last."""
    learned, judged = (data / f"{FILES[split]}.tfrecord" for split in pair)
    replace_record(learned, 5, read_all(judged)[3])


@pytest.mark.parametrize("cached", [False, True], ids=["read", "cached"])
@pytest.mark.parametrize("verify", POLICIES)
@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_a_record_in_two_splits_is_found(
    data: Path, tmp_path: Path, pair: tuple[str, str], verify: str, cached: bool
) -> None:
    cache = tmp_path / "verified" if cached else None
    before = ingested(data, tmp_path / "before", verify=verify, cache=cache)
    leak(data, pair)
    learned, judged = pair
    with pytest.raises(DataError, match=rf"record 5 .*is in {judged} too: \S+ record 3"):
        ingested(data, tmp_path / "fails", verify=verify, cache=cache)
    quarantine = {"bad_input": "quarantine", "max_quarantined": 0.5}
    after = ingested(data, tmp_path / "kept", verify=verify, cache=cache, **quarantine)
    counts = {split: before.examples(split) for split in FILES}
    assert {split: after.examples(split) for split in FILES} == counts | {
        learned: counts[learned] - 1
    }
    labels = [shard.labels for shard in after.split(learned)]
    assert all(labels) if verify == "full" else not any(labels)


@pytest.mark.parametrize("verify", POLICIES)
def test_each_of_several_records_in_two_splits_is_found(
    data: Path, tmp_path: Path, verify: str
) -> None:
    judged = read_all(data / "holdout0000.tfrecord")
    for record, leaked in ((1, 7), (4, 0), (9, 11)):
        replace_record(data / "train0000.tfrecord", record, judged[leaked])
    with pytest.raises(DataError) as caught:
        ingested(data, tmp_path / "fails", verify=verify)
    places = re.findall(
        r"record (\d+) at byte .*is in holdout too: .* record (\d+)", str(caught.value)
    )
    assert places == [("1", "7"), ("4", "0"), ("9", "11")]
    quarantine = {"bad_input": "quarantine", "max_quarantined": 0.5}
    done = ingested(data, tmp_path / "kept", verify=verify, **quarantine)
    assert [done.examples(split) for split in FILES] == [9, 12, 12]


@pytest.mark.parametrize("verify", POLICIES)
def test_a_shard_that_was_copied_into_the_judged_split_is_found(
    data: Path, tmp_path: Path, verify: str
) -> None:
    shutil.copy(data / "train0000.tfrecord", data / "holdout0001.tfrecord")
    with pytest.raises(DataError, match="is in holdout too"):
        ingested(data, tmp_path, verify=verify)


def test_a_record_in_all_three_is_judged_by_and_neither_chosen_nor_learned_from(
    data: Path, tmp_path: Path
) -> None:
    leak(data, ("eval", "holdout"))
    leak(data, ("train", "holdout"))
    done = ingested(data, tmp_path, bad_input="quarantine", max_quarantined=0.5)
    assert [done.examples(split) for split in FILES] == [11, 11, 12]


@pytest.mark.parametrize("verify", POLICIES)
def test_a_split_without_a_role_may_have_what_the_others_have(
    data: Path, tmp_path: Path, verify: str
) -> None:
    shutil.copy(data / "train0000.tfrecord", data / "holdout0001.tfrecord")
    roles = SplitRoles(train="train", validation="eval", judged="eval")
    assert ingested(data, tmp_path, roles=roles, verify=verify).examples("holdout") == 24
