"""Writing the registry: push, roll back, retain. How a version appears, the shelf knows."""

from __future__ import annotations

import dataclasses
import datetime
import logging

from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.artifacts.version_record import (
    RECORD_FILE,
    STATISTICS_DIR,
    FileRecord,
    Origin,
    VersionRecord,
)
from yt8m.components.registry.local_store import LocalStore
from yt8m.components.registry.object_store import ObjectStore
from yt8m.components.registry.versions import (
    DamagedVersionError,
    Version,
    file_sha256,
    list_versions,
    load_version,
    require_version,
)
from yt8m.components.storage import files
from yt8m.schemas.errors import UserError, Yt8mError

KEEP_VERSIONS = 5

_log = logging.getLogger(__name__)


def push(
    model_dir: str,
    push_dir: str,
    record: VersionRecord,
    *,
    keep: int = KEEP_VERSIONS,
    statistics_dir: str | None = None,
) -> Version:
    """`model_dir` as the newest version; all but `keep` versions are then removed.

    Where the newest version holds these very files already (a run killed after its push and
    repeated, say) it is the answer, and none is added.
    """
    if not files.exists(files.join(model_dir, MODEL_FILE)):
        raise UserError(f"{model_dir} holds no {MODEL_FILE}: it is not a SavedModel")
    contents = _contents(model_dir, statistics_dir)
    record = dataclasses.replace(
        record, created=_now(), files={name: _file(path) for name, path in contents.items()}
    )
    shelf = LocalStore(push_dir) if files.is_local(push_dir) else ObjectStore(push_dir)
    try:
        with shelf.writing():
            version = _held_already(push_dir, record)
            if version is not None:
                _log.info("version %d holds these files already: nothing to push", version.number)
                return version
            version = load_version(push_dir, shelf.place(contents, record))
            for number in _superfluous(push_dir, version, keep):
                shelf.take_away(number)
                _log.info("version %d removed from %s: %d are kept", number, push_dir, keep)
            return version
    except OSError as error:  # a full disk, say
        raise Yt8mError(
            f"the push into {push_dir} failed, nothing half is there: {error}"
        ) from error


def rollback(push_dir: str, version: int, *, keep: int = KEEP_VERSIONS) -> Version:
    """The files of `version` as a new newest one, since model servers load the highest number."""
    require_version(push_dir, version)
    old = load_version(push_dir, version, verify=True)
    record = dataclasses.replace(
        old.record,
        origin=Origin.ROLLBACK,
        origin_version=version,
        run_key="",  # made by no run, so that every run sees the registry changed
        reason=f"version {version} again, by `yt8m models rollback`",
    )
    return push(old.path, push_dir, record, keep=keep)


def _contents(model_dir: str, statistics_dir: str | None) -> dict[str, str]:
    """Where each file of the version to be comes from."""
    found = {
        name: files.join(model_dir, name)
        for name in files.walk_files(model_dir)
        if name != RECORD_FILE
    }
    for name in files.walk_files(statistics_dir) if statistics_dir is not None else ():
        found[f"{STATISTICS_DIR}/{name}"] = files.join(str(statistics_dir), name)
    return found


def _file(path: str) -> FileRecord:
    return FileRecord(bytes=files.stat(path).size, sha256=file_sha256(path))


def _held_already(push_dir: str, record: VersionRecord) -> Version | None:
    """The newest version, when it has the very files that are to be pushed."""
    numbers = list_versions(push_dir)
    try:
        version = load_version(push_dir, numbers[-1], verify=True) if numbers else None
    except DamagedVersionError:
        return None
    if version is None or version.record.files != record.files:
        return None
    return version if version.record.blessed or not record.blessed else None


def _superfluous(push_dir: str, newest: Version, keep: int) -> list[int]:
    """Versions older than the last `keep` sound ones, but those that the newest points to.

    These are its baseline, which a rerun of its run asks for and which takes over should the
    newest be damaged, and the version that a rollback went back to.
    """
    numbers = list_versions(push_dir)
    sound = [number for number in numbers if _is_sound(push_dir, number)]
    oldest = sound[-max(keep, 1) :][0]
    needed = {newest.record.baseline_version, newest.record.origin_version}
    return [number for number in numbers if number < oldest and number not in needed]


def _is_sound(push_dir: str, number: int) -> bool:
    try:
        load_version(push_dir, number)
    except DamagedVersionError:
        return False
    return True


def _now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
