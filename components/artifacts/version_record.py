"""Record of one pushed version: typed, and kept as JSON inside the version itself."""

from __future__ import annotations

import enum
import functools
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from yt8m.components.artifacts import operating_points
from yt8m.components.artifacts.estimate import Estimate
from yt8m.schemas.config_tree import from_dict, known_keys, to_dict
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.json_file import FORMAT, JsonFile, fields_of, to_text

RECORD_FILE = "assets.extra/yt8m_record.json"
STATISTICS_DIR = "assets.extra/statistics"
CARD_FILE = "README.md"  # where Hugging Face looks for a model card
STATEMENT_FILE = "assets.extra/yt8m_provenance.json"  # of a signed version
SIGNATURE_FILE = "model.sig"  # OpenSSF model-signing's name
# Nobody pushes these: each push writes its own.
WRITTEN_FILES = (RECORD_FILE, CARD_FILE, STATEMENT_FILE, SIGNATURE_FILE)
_CHECKSUM_KEY = "checksum"
_EMPTY_TABLE = hashlib.sha256(operating_points.EMPTY_TABLE.encode()).hexdigest()


class BrokenRecordError(ValueError):
    """A record that cannot be read; the message says why."""


class Origin(enum.Enum):
    """Origin of a version in the registry."""

    PUSH = "push"  # by a pipeline run, blessed by its gate
    ROLLBACK = "rollback"  # an older version's files again, because somebody said so
    IMPORT = "import"  # a SavedModel from elsewhere, because somebody said so


@dataclass(frozen=True, kw_only=True)
class DataRecord:
    """The data a version was made from."""

    level: str = ""
    manifest_digest: str = ""
    spans: tuple[int, ...] = ()
    examples: dict[str, int] = field(default_factory=dict)  # by split


@dataclass(frozen=True, kw_only=True)
class SliceRecord:
    """The metrics of one slice of the evaluated data."""

    videos: int
    metrics: dict[str, Estimate] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class FileRecord:
    """One file of the version, as it was when it was pushed."""

    bytes: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class VersionRecord(JsonFile):
    """One version. `version` and `files` are filled in by the push.

    Format 2 is of versions with operating points, which a yt8m that reads 1 would call damaged.
    """

    FORMAT: ClassVar[int] = 2

    version: int = 0
    created: str = ""  # UTC, ISO 8601
    origin: Origin = Origin.PUSH
    origin_version: int = 0  # of a rollback: whose files these are
    origin_run_key: str = ""  # and which run made them
    origin_path: str = ""  # of an import: where it came from
    run_key: str = ""
    blessed: bool = False
    reason: str = ""  # the gate's, or who said so
    baseline_version: int = 0  # what it was compared with; 0 is none
    baseline_digest: str = ""  # of that version's model: SHA-256, as `model_digest`
    # Of the best model so far, this one included, when it was pushed: SHA-256, as `model_digest`.
    champion_digest: str = ""
    metrics: dict[str, Estimate] = field(default_factory=dict)
    slices: dict[str, SliceRecord] = field(default_factory=dict)  # by name, `num_labels=5+`
    decision: dict[str, Any] = field(default_factory=dict)  # the gate's, whole
    infra_check: dict[str, Any] = field(default_factory=dict)  # how it is served, whole
    data: DataRecord = field(default_factory=DataRecord)
    configuration: dict[str, Any] = field(default_factory=dict)
    code_version: str = ""
    license: str = ""  # the model's, for its card
    lineage: dict[str, str] = field(default_factory=dict)  # what it was made from: name to URI
    files: dict[str, FileRecord] = field(default_factory=dict)  # by path within the version
    # What a newer yt8m has added, at its place: a rollback hands it on.
    newer_keys: dict[str, Any] = field(default_factory=dict)

    @property
    def given_files(self) -> dict[str, FileRecord]:
        """The files that were pushed: all but those that the push writes itself."""
        return {name: file for name, file in self.files.items() if name not in WRITTEN_FILES}

    @property
    def model_digest(self) -> str:
        """Names the model's bytes, as the Evaluator's decision does."""
        return tree_digest({name: file.sha256 for name, file in self.files.items()})

    @property
    def checksum(self) -> str:
        """Changes when anything of the record does."""
        return _checksum(self.fields)

    @property
    def fields(self) -> dict[str, Any]:
        """The contents of the record's file."""
        fields = to_dict(self)
        newer = fields.pop("newer_keys")
        of_files = newer.get("files", {})
        there = {name: keys for name, keys in of_files.items() if name in self.files}
        return _merged(fields, {**newer, "files": there})

    def to_json(self) -> str:
        table = self.files.get(operating_points.ASSET_FILE)
        plain = table is None or table.sha256 == _EMPTY_TABLE
        form = FORMAT if plain else self.FORMAT
        return to_text({_CHECKSUM_KEY: self.checksum, **self.fields}, form)


def tree_digest(sha256_by_name: Mapping[str, str]) -> str:
    """One SHA-256 of all files of a model by their names and contents.

    What the push writes, and the statistics, are put beside a model: they are no part of it, so
    that the digest is the same before the push and after it. Operating points count as the empty
    table that they replace.
    """
    rows = sorted(
        (name, _EMPTY_TABLE if name == operating_points.ASSET_FILE else sha256)
        for name, sha256 in sha256_by_name.items()
        if name not in WRITTEN_FILES and not name.startswith(f"{STATISTICS_DIR}/")
    )
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


@functools.lru_cache(maxsize=256)  # a push reads each record of the registry some five times
def parse_record(text: str) -> VersionRecord:
    """The inverse of `VersionRecord.to_json`; BrokenRecordError says what is wrong.

    NewerFormatError passes: of a record that a newer yt8m wrote nobody here knows whether it is.
    """
    try:
        fields = fields_of(text, VersionRecord.FORMAT)
    except ValueError as error:
        raise BrokenRecordError(f"its record is not JSON ({error})") from error
    if fields.pop(_CHECKSUM_KEY, None) != _checksum(fields):
        raise BrokenRecordError("the record differs from the pushed one (wrong checksum)")
    try:
        known = known_keys(VersionRecord, fields)
        return from_dict(VersionRecord, {**known, "newer_keys": _difference(fields, known)})
    except ConfigError as error:
        raise BrokenRecordError(f"its record is wrong: {error}") from error


def _difference(fields: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """The entries of `fields` that `known` has not, each at its place."""
    there = {key: value for key, value in fields.items() if key not in known}
    for key, value in known.items():
        if isinstance(value, Mapping) and (below := _difference(fields[key], value)):
            there[key] = below
    return there


def _merged(fields: dict[str, Any], newer: Mapping[str, Any]) -> dict[str, Any]:
    """`fields` with the entries of `newer`."""
    for key, value in newer.items():
        if isinstance(value, Mapping) and isinstance(fields.get(key), dict):
            fields[key] = _merged(fields[key], value)
        elif key not in fields:
            fields[key] = value
    return fields


def _checksum(fields: Mapping[str, Any]) -> str:
    """Of the record's content as JSON holds it, whatever its layout."""
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()
