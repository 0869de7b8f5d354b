"""The champion: the best version so far, which candidates are compared with beside the newest.

Each version's record names it by its model's digest, as it stood when that version was pushed. The
file in the push directory is a person's choice, which holds until a version above those of its
time says otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from yt8m.components import storage
from yt8m.components.artifacts.read import read_file
from yt8m.components.registry.versions import (
    DamagedVersionError,
    ForeignVersionError,
    UnfinishedVersionError,
    Version,
    is_sound,
    list_versions,
    load_record,
    load_version,
)
from yt8m.schemas.errors import UserError
from yt8m.schemas.json_file import JsonFile

CHOICE_FILE = ".champion.json"
# A version that is none of ours, or no version yet. Of one that the storage cannot deliver
# nothing follows.
_PASSED_OVER = (DamagedVersionError, ForeignVersionError, UnfinishedVersionError)


class LostChampionError(UserError):
    """No sound version holds the champion's model."""


@dataclass(frozen=True, kw_only=True)
class ChampionChoice(JsonFile):
    """The version that a person chose."""

    version: int
    digest: str
    newest: int  # the highest number then: versions above it were compared with the choice
    created: str  # UTC, ISO 8601


def champion_digest(
    push_dir: str, *, not_after: int | None = None, exclude_run_key: str = ""
) -> str:
    """The digest of the champion's model; empty where nothing says which it is.

    Versions after `not_after`, and those that the run `exclude_run_key` made, are left out.
    """
    choice = read_choice(push_dir)
    for number in reversed(list_versions(push_dir)):
        if not_after is not None and number > not_after:
            continue
        if choice is not None and number <= choice.newest:
            break
        try:
            record = load_record(push_dir, number)
        except _PASSED_OVER:
            continue
        own = bool(exclude_run_key) and record.run_key == exclude_run_key
        if record.champion_digest and not own:
            return record.champion_digest
    return choice.digest if choice is not None else ""


def find_champion(
    push_dir: str,
    *,
    not_after: int | None = None,
    exclude_run_key: str = "",
    verify: bool = False,
) -> Version | None:
    """The newest sound version of the champion's model; None where no champion is known.

    LostChampionError where one is known and no sound version holds it.
    """
    digest = champion_digest(push_dir, not_after=not_after, exclude_run_key=exclude_run_key)
    if not digest:
        return None
    problems = []
    for number in _holders(push_dir, digest):
        try:
            return load_version(push_dir, number, verify=verify)
        except _PASSED_OVER as error:
            problems.append(str(error))
    what = (
        "; ".join(problems) or f"its model has the SHA-256 {digest[:16]}..., which no version has"
    )
    raise LostChampionError(
        f"the champion, the best version so far, is lost from {push_dir} ({what}), so a new model "
        "cannot be compared with it. Restore its files from a backup, or choose another: "
        f"`yt8m models champion --set VERSION --push {push_dir}`"
    )


def champion_versions(push_dir: str) -> frozenset[int]:
    """The versions that hold the champion's model, sound or damaged."""
    digest = champion_digest(push_dir)
    return frozenset(_holders(push_dir, digest)) if digest else frozenset()


def read_choice(push_dir: str) -> ChampionChoice | None:
    """What a person chose last; None where nobody did."""
    path = storage.join(push_dir, CHOICE_FILE)
    return read_file(path, ChampionChoice.from_json) if storage.exists(path) else None


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


def keeper(push_dir: str) -> int | None:
    """The version that retention keeps for the champion's sake: the newest sound one with it."""
    holders = (n for n in sorted(champion_versions(push_dir), reverse=True))
    return next((number for number in holders if is_sound(push_dir, number, verify=True)), None)


def _holders(push_dir: str, digest: str) -> Iterator[int]:
    """The versions whose record has the model `digest`, the newest first."""
    for number in reversed(list_versions(push_dir)):
        try:
            record = load_record(push_dir, number)
        except _PASSED_OVER:
            continue
        if record.model_digest == digest:
            yield number
