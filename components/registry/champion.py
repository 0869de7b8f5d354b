"""The champion: the best version so far, which candidates are compared with beside the newest.

Each version's record names it by its model's digest, as it stood when that version was pushed. The
file in the push directory is a person's choice, which holds until a version above those of its
time says otherwise.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass

from yt8m.components import storage
from yt8m.components.artifacts.read import read_file
from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.components.registry.versions import (
    DamagedVersionError,
    ForeignVersionError,
    UnfinishedVersionError,
    Version,
    list_versions,
    load_record,
    load_version,
)
from yt8m.schemas.json_file import JsonFile

CHOICE_FILE = ".champion.json"
# A version that is none of ours, or no version yet. Of one that the storage cannot deliver
# nothing follows.
_PASSED_OVER = (DamagedVersionError, ForeignVersionError, UnfinishedVersionError)

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ChampionChoice(JsonFile):
    """The version that a person chose."""

    version: int
    digest: str
    newest: int  # the highest number then: versions above it were compared with the choice
    created: str  # UTC, ISO 8601


def find_champion(
    push_dir: str,
    *,
    not_after: int | None = None,
    exclude_run_key: str = "",
    verify: bool = False,
    verified: Version | None = None,
) -> Version | None:
    """The newest sound version of the champion's model; None where no champion is known.

    A champion that no sound version holds is skipped with a warning, and the one that was on record
    before it takes its place. Versions after `not_after`, and those that the run `exclude_run_key`
    made, are left out. The files of `verified` were read just now, and are not read again.
    """
    for digest in _digests(push_dir, not_after=not_after, exclude_run_key=exclude_run_key):
        for number in _holders(push_dir, digest):
            if verified is not None and number == verified.number:
                return verified
            try:
                return load_version(push_dir, number, verify=verify)
            except _PASSED_OVER as error:
                _log.warning("%s: it was the champion, and is skipped", error)
    return None


def champion_versions(push_dir: str) -> frozenset[int]:
    """The versions that hold the champion's model, sound or damaged."""
    digest = next(_digests(push_dir), "")
    return frozenset(_holders(push_dir, digest)) if digest else frozenset()


def _digests(
    push_dir: str, *, not_after: int | None = None, exclude_run_key: str = ""
) -> Iterator[str]:
    """The digests of the champions on record, that of now first."""
    choice = read_choice(push_dir)
    for number in reversed(list_versions(push_dir)):
        if not_after is not None and number > not_after:
            continue
        if choice is not None and number <= choice.newest:
            yield choice.digest
            choice = None
        record = _record_of(push_dir, number)
        if record is None:
            continue
        own = bool(exclude_run_key) and record.run_key == exclude_run_key
        if record.champion_digest and not own:
            yield record.champion_digest


def read_choice(push_dir: str) -> ChampionChoice | None:
    """A person's last choice; None where there is none."""
    path = storage.join(push_dir, CHOICE_FILE)
    if not storage.exists(path):
        return None
    return read_file(
        path,
        ChampionChoice.from_json,
        advice="nobody knows the version that was chosen; remove it, and choose again with "
        "`yt8m models champion --set`",
    )


def write_choice(push_dir: str, version: Version, *, created: str) -> ChampionChoice:
    """Make `version` the champion until a version that is pushed from now on says otherwise."""
    choice = ChampionChoice(
        version=version.number,
        digest=version.record.model_digest,
        newest=max(list_versions(push_dir)),
        created=created,
    )
    storage.write_text(storage.join(push_dir, CHOICE_FILE), choice.to_json())
    return choice


def _holders(push_dir: str, digest: str) -> Iterator[int]:
    """The versions whose record has the model `digest`, the newest first."""
    for number in reversed(list_versions(push_dir)):
        record = _record_of(push_dir, number)
        if record is not None and record.model_digest == digest:
            yield number


def _record_of(push_dir: str, number: int) -> VersionRecord | None:
    """The record of a version; a copy under another number says nothing about the registry now."""
    try:
        record = load_record(push_dir, number)
    except _PASSED_OVER:
        return None
    return record if record.version == number else None
