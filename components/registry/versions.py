"""Reading the registry: which versions there are, which is the newest that can be trusted."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass

from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.artifacts.version_record import (
    RECORD_FILE,
    STATISTICS_DIR,
    BrokenRecordError,
    VersionRecord,
    parse_record,
)
from yt8m.components.storage import files
from yt8m.schemas.errors import UserError

NO_VERSION = "none"
# TensorFlow Serving takes a directory for a version when its whole name reads as a number.
_NUMBER = re.compile(r"[1-9]\d{0,17}")
_CHUNK_BYTES = 1 << 20

_log = logging.getLogger(__name__)


class DamagedVersionError(UserError):
    """A version that is not what was pushed; the message names it and says what is wrong."""


@dataclass(frozen=True, kw_only=True)
class Version:
    """A version that was found sound."""

    number: int
    path: str
    record: VersionRecord

    @property
    def statistics_dir(self) -> str | None:
        """Where the statistics of its data are, when it was pushed with them."""
        path = files.join(self.path, STATISTICS_DIR)
        return path if files.is_dir(path) else None


def version_path(push_dir: str, version: int) -> str:
    """The directory of `version`."""
    return files.join(push_dir, str(version))


def list_versions(push_dir: str) -> tuple[int, ...]:
    """The numbers of all versions, damaged ones too, smallest first."""
    try:
        names = files.list_dir(push_dir)
    except FileNotFoundError:
        return ()
    except NotADirectoryError as error:
        raise UserError(f"{push_dir} is not a directory, so it holds no versions") from error
    return tuple(
        sorted(
            int(name)
            for name in names
            if _NUMBER.fullmatch(name) and files.is_dir(files.join(push_dir, name))
        )
    )


def require_version(push_dir: str, version: int) -> None:
    """UserError, which lists the versions there are, unless `version` is one of them."""
    numbers = list_versions(push_dir)
    if version not in numbers:
        known = ", ".join(map(str, numbers)) or "none"
        raise UserError(f"no version {version} in {push_dir}; there are: {known}")


def load_record(push_dir: str, version: int) -> VersionRecord:
    """The record of `version`, or DamagedVersionError."""
    path = files.join(version_path(push_dir, version), RECORD_FILE)
    try:
        return parse_record(files.read_text(path))
    except FileNotFoundError as error:
        raise DamagedVersionError(_no_record(push_dir, version)) from error
    except (BrokenRecordError, OSError, UnicodeDecodeError) as error:
        raise DamagedVersionError(f"version {version} in {push_dir}: {error}") from error


def load_version(push_dir: str, version: int, *, verify: bool = False) -> Version:
    """`version` if every file has its recorded size (and content, with `verify`)."""
    record = load_record(push_dir, version)
    path = version_path(push_dir, version)
    problems = [f"it calls itself {record.version}"] if record.version != version else []
    if MODEL_FILE not in record.files:
        problems.append(f"its record does not list {MODEL_FILE}")
    problems += _wrong_files(path, record, verify=verify)
    if problems:
        raise DamagedVersionError(f"version {version} in {push_dir}: {'; '.join(problems)}")
    return Version(number=version, path=path, record=record)


def newest(
    push_dir: str, *, not_after: int | None = None, exclude_run_key: str = "", verify: bool = False
) -> Version | None:
    """The newest sound and blessed version; damaged ones are passed over with a warning.

    Those after `not_after`, and those that the run `exclude_run_key` made, are left out silently.
    """
    for number in reversed(list_versions(push_dir)):
        try:
            version = load_version(push_dir, number, verify=verify)
        except DamagedVersionError as error:
            _log.warning("%s: passed over, the version before it is used", error)
            continue
        if not_after is not None and number > not_after:
            continue
        if not version.record.blessed:
            _log.warning("version %d in %s is not blessed: passed over", number, push_dir)
        elif not exclude_run_key or version.record.run_key != exclude_run_key:
            return version
    return None


def registry_digest(push_dir: str, exclude_run_key: str = "") -> str:
    """Changes when the version that `newest` finds does, and begins with its number.

    Nothing but that version counts: retention may remove older ones without a rerun.
    """
    version = newest(push_dir, exclude_run_key=exclude_run_key)
    if version is None:
        return NO_VERSION
    digest = hashlib.sha256(version.record.to_json().encode()).hexdigest()[:16]
    return f"{version.number}-{digest}"


def digest_version(digest: str) -> int | None:
    """The version that a registry digest speaks of; None when it speaks of none."""
    number = digest.partition("-")[0]
    return int(number) if number.isdecimal() else None


def file_sha256(path: str) -> str:
    """The digest of a file's content, read in pieces."""
    digest = hashlib.sha256()
    with files.open_file(path) as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


def _wrong_files(path: str, record: VersionRecord, *, verify: bool) -> Iterator[str]:
    for name, expected in record.files.items():
        file = files.join(path, name)
        try:
            size = files.stat(file).size
            if size != expected.bytes:
                yield f"{name} has {size} bytes instead of {expected.bytes}"
            elif verify and file_sha256(file) != expected.sha256:
                yield f"{name} is not what was pushed (wrong SHA-256)"
        except FileNotFoundError:
            yield f"{name} is missing"
        except OSError as error:
            yield f"{name} cannot be read ({error})"


def _no_record(push_dir: str, version: int) -> str:
    path = version_path(push_dir, version)
    return (
        f"version {version} in {push_dir} has no {RECORD_FILE}, so nothing is known of it; "
        f"`yt8m models import {path} --push {push_dir}` takes a SavedModel in with one"
    )
