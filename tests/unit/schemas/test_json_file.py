"""Files say their format and their writer, and one of a newer yt8m is told from a damaged one."""

from __future__ import annotations

import json
from importlib.metadata import version

import pytest

from yt8m.components.artifacts.manifest import Manifest, Shard
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.features import Level
from yt8m.schemas.json_file import FORMAT, NewerFormatError, fields_of, to_text

SHARD = Shard(uri="u", split="train", records=3, bytes=9, digest="d")


def test_what_is_written_is_read_and_says_who_wrote_it() -> None:
    assert fields_of(to_text({"a": [1, 2.5, None]})) == {"a": [1, 2.5, None]}
    assert json.loads(to_text({})) == {"format": FORMAT, "yt8m": version("yt8m-pipeline")}


@pytest.mark.parametrize("form", [FORMAT + 1, 10**9, "two", None])
def test_a_file_of_a_newer_yt8m_is_told(form: object) -> None:
    text = json.dumps({"format": form, "whatever": 1})
    with pytest.raises(NewerFormatError, match=r"of a newer version wrote it, in format"):
        fields_of(text)
    with pytest.raises(NewerFormatError):
        Manifest.from_json(text)


@pytest.mark.parametrize("text", ["", "{", "[]", "1", '"x"'])
def test_what_is_no_object_is_damaged(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|Expecting|delimiter|quotes"):
        fields_of(text)


def test_by_hand_a_file_needs_no_format() -> None:
    manifest = Manifest(level=Level.VIDEO, shards=())
    by_hand = json.loads(manifest.to_json())
    del by_hand["format"], by_hand["yt8m"]
    assert Manifest.from_json(json.dumps(by_hand)) == manifest


def test_keys_that_a_newer_yt8m_has_added_are_passed_over_at_every_depth() -> None:
    manifest = Manifest(level=Level.VIDEO, shards=(SHARD,))
    added = json.loads(manifest.to_json())
    added["colour"] = {"of": "that time"}
    added["shards"][0]["smell"] = 3
    assert Manifest.from_json(json.dumps(added)) == manifest
    added["shards"][0]["records"] = "three"
    with pytest.raises(ConfigError, match=r"shards\[0\].records = 'three'"):
        Manifest.from_json(json.dumps(added))
