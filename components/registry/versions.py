"""Reading the registry: which versions there are, which is served, which can be compared with.

A numbered directory with a record of ours is a version: sound, or damaged. One without is foreign:
somebody else's model, which nothing here ever changes, renames or removes.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from yt8m.components import storage
from yt8m.components.artifacts.read import read_file
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.artifacts.version_record import (
    RECORD_FILE,
    STATISTICS_DIR,
    VersionRecord,
    parse_record,
)
from yt8m.components.registry.digests import file_sha256, model_digest
from yt8m.components.registry.readings import is_listed, is_there, pause, read_until_agreed
from yt8m.schemas.errors import UserError
from yt8m.schemas.json_file import DamagedFileError, JsonFile

NO_VERSION = "none"
# Imported models that were never scored: baselines under numbers of their own, where no model
# server looks.
NOT_SERVED_DIR = ".baselines"
UPLOADS_DIR = ".uploads"  # of an object store: what is being uploaded, or was broken off
ASIDE_DIR = ".pruned"
# TensorFlow Serving takes a name for a version when the whole of it reads as an int64: `0` and
# `00000123` do, too. Of two names with one number it loads the last in their order.
_NUMBER = re.compile(r"[ \t\n\v\f\r]*\+?[0-9]+[ \t\n\v\f\r]*")
_LARGEST = 2**63 - 1
_NO_NUMBER = -1
_READINGS = 5  # of a version, of which two in a row must agree on what is wrong with it

T = TypeVar("T")

_log = logging.getLogger(__name__)


class UnusableVersionError(UserError):
    """A version that cannot be trusted; the message names it and says why."""


class DamagedVersionError(UnusableVersionError):
    """A version that is not what was pushed."""


class UnreadableVersionError(UnusableVersionError):
    """A version that the storage cannot deliver now, which says nothing about its content."""


class UnfinishedVersionError(UnusableVersionError):
    """A version that is being uploaded into an object store, or was until it broke off."""


class ForeignVersionError(UnusableVersionError):
    """A version that yt8m did not push: it has no record."""


@dataclass(frozen=True, kw_only=True)
class Version:
    """A version that was found sound."""

    number: int
    path: str
    record: VersionRecord

    @property
    def statistics_dir(self) -> str | None:
        """Where the statistics of its data are, when it was pushed with them."""
        path = storage.join(self.path, STATISTICS_DIR)
        return path if storage.is_dir(path) else None


@dataclass(frozen=True, kw_only=True)
class InService(JsonFile):
    """The version that model servers load: the highest number with a model; false without one."""

    version: int = _NO_NUMBER
    digest: str = ""  # of its bytes, so that the same model under another number is no other
    foreign: bool = False

    def __bool__(self) -> bool:
        return self.version != _NO_NUMBER

    def __str__(self) -> str:
        return f"version {self.version}" if self else "no version"


def version_path(push_dir: str, version: int) -> str:
    """The directory of `version`, in the registry or among the baselines that are not served."""
    path = storage.join(push_dir, str(version))
    if storage.is_dir(path):
        return path
    hidden = storage.join(push_dir, NOT_SERVED_DIR, str(version))
    if storage.is_dir(hidden):
        return hidden
    name = _by_number(storage.list_directories(push_dir)).get(version, str(version))
    return storage.join(push_dir, name)


def list_versions(push_dir: str) -> tuple[int, ...]:
    """Every number that a model server sees, smallest first: sound, damaged and foreign."""
    try:
        names = read_until_agreed(push_dir, lambda: storage.list_directories(push_dir))
    except NotADirectoryError as error:
        raise UserError(f"{push_dir} is not a directory, so it holds no versions") from error
    return tuple(_by_number(names))


def taken_names(push_dir: str) -> dict[str, str]:
    """Names that model servers take for versions and that are no directories, with what they are.

    Model servers try to load them, and no version can have such a number.
    """
    names = set(_names(push_dir)) - {*storage.list_directories(push_dir)}
    taken = (_by_number(names)).values()
    is_file = {name: storage.exists(storage.join(push_dir, name)) for name in taken}
    return {
        name: "a file" if there else "a broken link: is the disk that it leads to mounted?"
        for name, there in is_file.items()
    }


def list_baselines(push_dir: str) -> tuple[int, ...]:
    """The numbers of imported models that are not served."""
    return list_versions(storage.join(push_dir, NOT_SERVED_DIR))


def next_number(push_dir: str, *, spread: int = 1) -> int:
    """Above every number, served or not, of a directory or not: numbers only grow.

    One of the next `spread`, which are enough for pushers that cannot see each other to differ.
    """
    names = [
        name
        for place in (push_dir, *(storage.join(push_dir, d) for d in (NOT_SERVED_DIR, ASIDE_DIR)))
        for name in _names(place)
    ]
    number = max(_by_number(names), default=0) + 1 + secrets.randbelow(spread)
    if number > _LARGEST:
        raise UserError(f"{push_dir}: version {_LARGEST} is there, and no number is higher")
    return number


def require_registry(push_dir: str) -> None:
    """UserError where `push_dir` is not there: a wrong path must not pass for an empty registry."""
    if not storage.is_dir(push_dir):
        raise UserError(f"{push_dir}: no such directory, so no registry; give the --push of a run")


def require_version(push_dir: str, version: int) -> None:
    """UserError, which lists the versions there are, unless `version` is one of them."""
    require_registry(push_dir)
    numbers = sorted((*list_versions(push_dir), *list_baselines(push_dir)))
    if version not in numbers:
        known = ", ".join(map(str, numbers)) or "none"
        raise UserError(f"no version {version} in {push_dir}; there are: {known}")


def load_record(push_dir: str, version: int) -> VersionRecord:
    """The record of `version`; UnusableVersionError where it is foreign, or cannot be read."""
    return _confirmed(push_dir, lambda: _load_record(push_dir, version))


def _load_record(push_dir: str, version: int) -> VersionRecord:
    path = storage.join(version_path(push_dir, version), RECORD_FILE)
    try:
        return read_file(path, parse_record)
    except (FileNotFoundError, NotADirectoryError) as error:
        if is_listed(path):
            raise UnreadableVersionError(f"{path}: was listed, but then not found") from error
        raise ForeignVersionError(_no_record(push_dir, version)) from error
    except OSError as error:
        raise UnreadableVersionError(f"version {version} in {push_dir}: {error}") from error
    except DamagedFileError as error:
        raise DamagedVersionError(f"version {version} in {push_dir}: {error.problem}") from error


def load_version(push_dir: str, version: int, *, verify: bool = False) -> Version:
    """`version` if every file has its recorded size (and content, with `verify`)."""
    return _confirmed(push_dir, lambda: _load_version(push_dir, version, verify))


def _confirmed(push_dir: str, read: Callable[[], T]) -> T:
    """Return the result of `read`; a fault of a version must be found twice in a row.

    Two readings may differ because a push completes or removes the version meanwhile.
    """
    errors: list[UnusableVersionError] = []
    while len(errors) < _READINGS:
        try:
            return read()
        except UnusableVersionError as error:
            if errors and type(error) is type(errors[-1]):
                raise
            errors.append(error)
        pause(push_dir)
    raise UnreadableVersionError("; read again: ".join(map(str, errors))) from errors[-1]


def _load_version(push_dir: str, version: int, verify: bool) -> Version:
    record = _load_record(push_dir, version)
    path = version_path(push_dir, version)
    problems = [f"its record names version {record.version}"] if record.version != version else []
    if MODEL_FILE not in record.files:
        problems.append(f"its record does not list {MODEL_FILE}")
    problems += wrong_files(path, record, verify=verify)
    if problems and storage.exists(storage.join(push_dir, UPLOADS_DIR, str(version), MODEL_FILE)):
        raise UnfinishedVersionError(
            f"version {version} in {push_dir} is being uploaded, or its upload was broken off: a "
            "push completes it, or removes it within a day"
        )
    if problems:
        raise DamagedVersionError(f"version {version} in {push_dir}: {'; '.join(problems)}")
    return Version(number=version, path=path, record=record)


def is_sound(push_dir: str, number: int, *, verify: bool = False) -> bool:
    """Whether `number` is a version of ours with all its files."""
    try:
        load_version(push_dir, number, verify=verify)
    except UnusableVersionError:
        return False
    return True


def newest(
    push_dir: str, *, not_after: int | None = None, exclude_run_key: str = "", verify: bool = False
) -> Version | None:
    """The newest sound and blessed version; damaged ones are skipped with a warning.

    A foreign model in service hides all versions below it: they are not what a push replaces. An
    imported model that is not served counts where no version of ours is in service. Versions after
    `not_after`, and those that the run `exclude_run_key` made, are left out silently.
    """
    foreign = _highest_foreign(push_dir)
    served = [number for number in list_versions(push_dir) if number > foreign]
    hidden = [number for number in list_baselines(push_dir) if number > foreign]
    for number in (*reversed(served), *reversed(hidden)):
        try:
            version = load_version(push_dir, number, verify=verify)
        except ForeignVersionError:
            continue  # an empty directory: no model at all
        except (DamagedVersionError, UnfinishedVersionError) as error:
            _log.warning("%s: skipped, the version before it is used", error)
            continue
        if not_after is not None and number > not_after:
            continue
        if not version.record.blessed:
            _log.warning("version %d in %s is not blessed: skipped", number, push_dir)
        elif not exclude_run_key or version.record.run_key != exclude_run_key:
            return version
    return None


def in_service(push_dir: str, *, exclude_run_key: str = "") -> InService:
    """The version that model servers load now, without those that `exclude_run_key` pushed."""
    for number in reversed(list_versions(push_dir)):
        path = version_path(push_dir, number)
        try:
            record = load_record(push_dir, number)
        except ForeignVersionError:
            if _holds_foreign_model(path):
                return InService(version=number, digest=model_digest(path), foreign=True)
            continue
        except DamagedVersionError:
            return InService(version=number, digest="its record is damaged")
        own = bool(exclude_run_key) and record.run_key == exclude_run_key
        if not own and _has_model(push_dir, number):
            return InService(version=number, digest=record.model_digest)
    return InService()


def check_usable(push_dir: str) -> None:
    """UserError where the next model would replace one that it cannot be compared with."""
    foreign = _highest_foreign(push_dir)
    ours = [number for number in list_versions(push_dir) if number > foreign]
    hidden = [number for number in list_baselines(push_dir) if number > foreign]
    if any(is_sound(push_dir, number) for number in (*ours, *hidden)):
        return
    if foreign != _NO_NUMBER:
        path = version_path(push_dir, foreign)
        raise UserError(
            f"version {foreign} in {push_dir} was not pushed by yt8m (it has no {RECORD_FILE}), "
            "and a push would take it out of service without a comparison. "
            f"`yt8m models import {path} --push {push_dir}` makes it the baseline; "
            "`--set baseline.version=none` replaces it without a comparison"
        )
    damaged = list(_damages(push_dir, (*ours, *hidden)))
    if damaged:
        listing = "; ".join(damaged)
        raise UserError(
            f"every version in {push_dir} is damaged, so a new model cannot be compared with what "
            f"is served ({listing}). Restore the files (`yt8m models verify --push {push_dir}` "
            "says which), or import a sound copy with `yt8m models import`, or write `--set "
            "baseline.version=none` to replace them without a comparison"
        )


def _highest_foreign(push_dir: str) -> int:
    """The highest number of a model that yt8m did not push; -1 where there is none."""
    for number in reversed(list_versions(push_dir)):
        path = version_path(push_dir, number)
        if not is_there(storage.join(path, RECORD_FILE)) and _holds_foreign_model(path):
            return number
    return _NO_NUMBER


def _has_model(push_dir: str, number: int) -> bool:
    """Whether model servers can load the version; one that is being uploaded has no model yet."""
    model = storage.join(version_path(push_dir, number), MODEL_FILE)
    if storage.exists(model):
        return True
    mark = storage.join(push_dir, UPLOADS_DIR, str(number), MODEL_FILE)
    return not storage.exists(mark) and is_there(model)


def _names(directory: str) -> list[str]:
    try:
        return storage.list_dir(directory)
    except FileNotFoundError:
        return []


def _by_number(names: Iterable[str]) -> dict[int, str]:
    """The names that model servers take for versions, by their numbers, smallest first."""
    by_number = {int(name): name for name in sorted(names) if _NUMBER.fullmatch(name)}
    return {number: by_number[number] for number in sorted(by_number) if number <= _LARGEST}


def _holds_foreign_model(path: str) -> bool:
    """Whether a directory without a record holds what somebody may be serving: any file."""
    try:
        return any(True for _ in storage.walk_files(path))
    except FileNotFoundError:  # retention took one of ours away while we looked
        return False


def _damages(push_dir: str, numbers: Iterable[int]) -> Iterator[str]:
    for number in numbers:
        try:
            load_version(push_dir, number)
        except DamagedVersionError as error:
            yield str(error)
        except (ForeignVersionError, UnfinishedVersionError):
            continue  # no model at all


def wrong_files(path: str, record: VersionRecord, *, verify: bool) -> Iterator[str]:
    """The files below `path` that are not as the record has them, each with what is wrong.

    A fault of the storage is UnreadableVersionError: it must not pass for damage, which is passed
    over, and removed where somebody says so. In an object store listing and address must agree.
    """
    try:
        listed = storage.listed_sizes(path)
    except OSError as error:
        raise UnreadableVersionError(f"{path} cannot be listed now: {error}") from error
    for name, expected in record.files.items():
        file = storage.join(path, name)
        try:
            size = listed.get(name)
            if size != expected.bytes:
                size = storage.stat(file).size
            if size != expected.bytes:
                yield f"{name} has {size} bytes instead of {expected.bytes}"
            elif verify and file_sha256(file) != expected.sha256:
                yield f"{name} is not what was pushed (wrong SHA-256)"
        except (FileNotFoundError, NotADirectoryError):
            yield f"{name} is missing"
        except OSError as error:
            raise UnreadableVersionError(f"{file} cannot be read now: {error}") from error


def _no_record(push_dir: str, version: int) -> str:
    path = version_path(push_dir, version)
    return (
        f"version {version} in {push_dir} has no {RECORD_FILE}: yt8m did not push it; `yt8m models "
        f"import {path} --push {push_dir}` imports a copy and writes one"
    )
