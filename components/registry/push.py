"""Writing the registry: push, roll back, remove old versions. Their stores know how."""

from __future__ import annotations

import dataclasses
import datetime
import logging
from collections.abc import Mapping
from dataclasses import dataclass

from yt8m.components import storage
from yt8m.components.artifacts.operating_points import ASSET_FILE
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.artifacts.version_record import (
    STATISTICS_DIR,
    WRITTEN_FILES,
    FileRecord,
    Origin,
    VersionRecord,
)
from yt8m.components.registry.champion import champion_versions, find_champion, write_choice
from yt8m.components.registry.cleaning import Cleaning
from yt8m.components.registry.digests import file_sha256
from yt8m.components.registry.local_store import LocalStore
from yt8m.components.registry.object_store import ObjectStore
from yt8m.components.registry.outcomes import NotPushedError, StaleBaselineError
from yt8m.components.registry.signature import Signer, Trust, require_signed
from yt8m.components.registry.versions import (
    DamagedVersionError,
    ForeignVersionError,
    InService,
    UnfinishedVersionError,
    Version,
    in_service,
    is_sound,
    list_baselines,
    list_versions,
    load_version,
    require_version,
    taken_names,
    version_path,
)
from yt8m.schemas.errors import UserError

KEEP_VERSIONS = 5

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Additions:
    """What a run puts beside its model; empty: none."""

    statistics_dir: str = ""
    operating_points: str = ""  # takes the place of the model's empty table, where it has one


def push(
    model_dir: str,
    push_dir: str,
    record: VersionRecord,
    *,
    keep: int = KEEP_VERSIONS,
    additions: Additions | None = None,
    replaces: InService | None = None,
    served: bool = True,
    signer: Signer | None = None,
) -> Version:
    """`model_dir` as the newest version; of ours, all but `keep` sound ones are then removed.

    Where the newest version holds these very files already (a run killed after its push and
    repeated, say) it is the answer, and none is added. `replaces` is what was in service when the
    model was judged: anything else there now is StaleBaselineError. Where the record's decision
    names the bytes that were judged, others are refused. Not `served`: it is a baseline alone.
    With a `signer` it is signed, and has a statement of its provenance.

    A version that is returned is in service; `outcomes` has how else this ends.
    """
    if not storage.exists(storage.join(model_dir, MODEL_FILE)):
        raise UserError(f"{model_dir} holds no {MODEL_FILE}: it is not a SavedModel")
    contents = _contents(model_dir, additions or Additions())
    record = dataclasses.replace(
        record, created=_now(), files={name: _file(path) for name, path in contents.items()}
    )
    judged = record.decision.get("model_digest", "")
    if judged and record.model_digest != judged:
        raise UserError(
            f"{model_dir} is not the model that was blessed: its SHA-256 is "
            f"{record.model_digest[:16]}..., and the Evaluator scored {judged[:16]}...; run "
            "the Evaluator again"
        )

    def check() -> None:
        if replaces is not None:
            _check_replaced(push_dir, replaces, record)
            if record.origin is Origin.PUSH:  # a rollback carries the decision of long ago
                _check_champion(push_dir, record)

    store = open_registry(push_dir)
    try:
        with store.transaction() as cleaning:
            for name, what in taken_names(push_dir).items():
                _log.warning(
                    "%s is %s: model servers take it for a version; remove or repair it",
                    storage.join(push_dir, name),
                    what,
                )
            version = _held_already(push_dir, record, served=served, signer=signer)
            if version is not None:
                _log.info("version %d holds these files already: nothing to push", version.number)
            else:
                if not record.champion_digest:
                    champion = find_champion(push_dir)
                    best = record if champion is None else champion.record
                    record = dataclasses.replace(record, champion_digest=best.model_digest)
                version = store.add(contents, record, served=served, check=check, signer=signer)
            # Also where it is there already: its push may have been killed before it came to this.
            if served:
                with cleaning.trying("old versions were not looked for"):
                    _remove_old_versions(store, cleaning, version, keep)
            return version
    except OSError as error:  # a full disk, say; nothing that comes after the commit raises one
        raise NotPushedError(
            f"the push into {push_dir} failed, and nothing of it is in service: {error}"
        ) from error


def version_of_model(push_dir: str, record: VersionRecord) -> Version | None:
    """The version in service, where it is the very model that was judged and another run's.

    What the run of `record` has pushed itself, killed and repeated, counts as its push.
    """
    judged = record.decision.get("model_digest", "")
    if not push_dir or not judged:
        return None
    served = in_service(push_dir, exclude_run_key=record.run_key)
    if served.foreign or served.digest != judged:
        return None
    version = load_version(push_dir, served.version)
    return version if version.record.blessed else None


def open_registry(push_dir: str) -> LocalStore | ObjectStore:
    """The store that `push_dir` is in."""
    local = storage.local_path(push_dir)
    return LocalStore(local) if local is not None else ObjectStore(push_dir)


def rollback(
    push_dir: str,
    version: int,
    *,
    keep: int = KEEP_VERSIONS,
    reason: str = "",
    replaces: InService | None = None,
    signer: Signer | None = None,
    trust: Trust | None = None,
) -> Version:
    """The files of `version` as a new newest one, since model servers load the highest number.

    `reason` is for its record, else it says who asked; `replaces` and `signer` are as in `push`.
    With `trust` the old version must have a valid signature.
    """
    require_version(push_dir, version)
    if version in list_baselines(push_dir):
        raise UserError(
            f"version {version} in {push_dir} is a baseline that was never scored, so it is not "
            "served; `yt8m models import` with --data scores it and serves it"
        )
    old = load_version(push_dir, version, verify=True)
    require_signed(old, trust)
    record = dataclasses.replace(
        old.record,
        origin=Origin.ROLLBACK,
        origin_version=version,
        champion_digest="",  # a rollback makes none
        run_key="",  # made by no run, so that every run sees the registry changed
        origin_run_key=old.record.run_key or old.record.origin_run_key,
        reason=reason or f"version {version} again, by `yt8m models rollback`",
    )
    return push(old.path, push_dir, record, keep=keep, replaces=replaces, signer=signer)


def set_champion(push_dir: str, version: int) -> Version:
    """Make `version` what candidates are compared with, until one is better."""
    require_version(push_dir, version)
    if version in list_baselines(push_dir):
        raise UserError(
            f"version {version} in {push_dir} is a baseline that was never scored; `yt8m models "
            "import` with --data scores it and serves it"
        )
    try:
        with open_registry(push_dir).transaction():
            chosen = load_version(push_dir, version, verify=True)
            write_choice(push_dir, chosen, created=_now())
    except OSError as error:
        raise NotPushedError(f"the champion of {push_dir} did not change: {error}") from error
    return chosen


@dataclass(frozen=True, kw_only=True)
class Pruned:
    """Result of removing damaged versions."""

    removed: Mapping[int, str]  # each with what was wrong
    aside: Mapping[int, str]  # where each of these is kept for a week
    failed: Mapping[int, str]  # those that are still there, each with the reason


def remove_damaged(push_dir: str) -> Pruned:
    """Put aside what `find_damaged` finds."""
    store = open_registry(push_dir)
    aside, failed = {}, {}
    try:
        with store.transaction():
            damaged = find_damaged(push_dir)
            champions = champion_versions(push_dir)
            for number in damaged:
                if number in champions:
                    failed[number] = (
                        "it is the champion, the best version so far: restore its files, or choose "
                        "another with `yt8m models champion --set`"
                    )
                    continue
                try:
                    aside[number] = store.put_aside(version_path(push_dir, number))
                except OSError as error:
                    failed[number] = str(error)
    except OSError as error:
        raise NotPushedError(f"nothing was removed from {push_dir}: {error}") from error
    removed = {number: problem for number, problem in damaged.items() if number in aside}
    return Pruned(removed=removed, aside=aside, failed=failed)


def find_damaged(push_dir: str) -> dict[int, str]:
    """The damaged versions of ours by number, each with what is wrong; every file is read."""
    damaged = {}
    for number in (*list_versions(push_dir), *list_baselines(push_dir)):
        try:
            load_version(push_dir, number, verify=True)
        except DamagedVersionError as error:
            damaged[number] = str(error)
        except (ForeignVersionError, UnfinishedVersionError):
            continue
    return damaged


def _contents(model_dir: str, additions: Additions) -> dict[str, str]:
    """Where each file of the version to be comes from."""
    files = {
        name: storage.join(model_dir, name)
        for name in storage.walk_files(model_dir)
        if name not in WRITTEN_FILES
    }
    for name in storage.walk_files(additions.statistics_dir) if additions.statistics_dir else ():
        files[f"{STATISTICS_DIR}/{name}"] = storage.join(additions.statistics_dir, name)
    if additions.operating_points and ASSET_FILE in files:
        files[ASSET_FILE] = additions.operating_points
    return files


def _file(path: str) -> FileRecord:
    return FileRecord(bytes=storage.stat(path).size, sha256=file_sha256(path))


def _check_replaced(push_dir: str, judged: InService, record: VersionRecord) -> None:
    served = in_service(push_dir)
    if served.digest == judged.digest:
        return
    # What this very run pushed before, when it was first tried, blocks nothing.
    if in_service(push_dir, exclude_run_key=record.run_key).digest != judged.digest:
        raise StaleBaselineError(
            f"{served} is in service in {push_dir} now, and the model was compared while {judged} "
            "was: it is not pushed over a version that it was not compared with; run again"
        )


def _check_champion(push_dir: str, record: VersionRecord) -> None:
    judged = record.decision.get("champion") or {}
    if not judged:
        return
    champion = find_champion(push_dir, exclude_run_key=record.run_key, verify=True)
    if champion is None or champion.record.model_digest != judged["digest"]:
        raise StaleBaselineError(
            f"{judged['name']} is not the champion of {push_dir} any more, and the model was "
            "compared with it: run again, to compare with the new one"
        )


def _held_already(
    push_dir: str, record: VersionRecord, *, served: bool, signer: Signer | None
) -> Version | None:
    """The newest version (or baseline that is not served), when it has these very files.

    Where this push signs, one that another key has signed, or none, is not it.
    """
    numbers = list_versions(push_dir) if served else list_baselines(push_dir)
    try:
        version = load_version(push_dir, numbers[-1], verify=True) if numbers else None
    except (DamagedVersionError, ForeignVersionError, UnfinishedVersionError):
        return None
    if version is None or version.record.given_files != record.given_files:
        return None
    if signer is not None and not signer.has_signed(version.path):
        return None
    return version if version.record.blessed or not record.blessed else None


def _remove_old_versions(
    store: LocalStore | ObjectStore, cleaning: Cleaning, newest: Version, keep: int
) -> None:
    push_dir = cleaning.push_dir
    for number in _old_versions(push_dir, newest, keep):
        with cleaning.trying(f"version {number} was not removed, of which {keep} are to stay"):
            store.remove(version_path(push_dir, number))
            _log.info("version %d removed from %s: %d are kept", number, push_dir, keep)


def _old_versions(push_dir: str, newest: Version, keep: int) -> list[int]:
    """Sound versions of ours beyond the last `keep`, but those that are still needed.

    These are the champion, and what the newest points to: its baseline, which a rerun of its run
    asks for and which takes over should the newest be damaged, and the version that a rollback
    went back to. Foreign versions and damaged ones neither count nor go; every byte is read, or
    the one that goes might be the last good one.
    """
    numbers = [n for n in list_versions(push_dir) if is_sound(push_dir, n)]
    if len(numbers) <= keep:
        return []
    sound = [n for n in numbers if is_sound(push_dir, n, verify=True)]
    oldest = sound[-max(keep, 1) :][0]
    needed = {newest.record.baseline_version, newest.record.origin_version}
    champion = find_champion(push_dir, verify=True)
    if champion is not None:
        needed.add(champion.number)
    return [n for n in sound if n < oldest and n not in needed]


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
