"""Files say their format, and one of a newer yt8m is told from a damaged one."""

from __future__ import annotations

import json

import pytest

from yt8m.components.artifacts.manifest import Manifest
from yt8m.schemas.features import Level
from yt8m.schemas.json_file import FORMAT, NewerFormatError, fields_of, to_text


def test_what_is_written_is_read() -> None:
    assert fields_of(to_text({"a": [1, 2.5, None]})) == {"a": [1, 2.5, None]}
    assert json.loads(to_text({}))["format"] == FORMAT


@pytest.mark.parametrize("form", [FORMAT + 1, 10**9, "two", None])
def test_a_file_of_a_newer_yt8m_is_told(form: object) -> None:
    text = json.dumps({"format": form, "whatever": 1})
    with pytest.raises(NewerFormatError, match=r"a newer yt8m wrote it.*update yt8m"):
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
    del by_hand["format"]
    assert Manifest.from_json(json.dumps(by_hand)) == manifest
