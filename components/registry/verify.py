"""Does a version hold what its record says? Model, record, decision, configuration, data."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from yt8m.components import storage
from yt8m.components.artifacts import manifest
from yt8m.components.artifacts.export_info import FILE_NAME as EXPORT_FILE
from yt8m.components.artifacts.export_info import load_info
from yt8m.components.artifacts.read import read_file
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.artifacts.version_record import RECORD_FILE, SIGNATURE_FILE, VersionRecord
from yt8m.components.registry.signature import Trust, signature_problems
from yt8m.components.registry.versions import (
    DamagedVersionError,
    ForeignVersionError,
    load_record,
    version_path,
    wrong_files,
)
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.errors import UserError
from yt8m.schemas.json_file import NewerFormatError


@dataclass(frozen=True, kw_only=True)
class Verification:
    """Result of comparing one version with its record."""

    number: int
    foreign: bool = False  # it has none
    newer: str = ""  # which yt8m reads it, where this one does not
    problems: tuple[str, ...] = ()
    signed: bool = False  # by whom the caller trusts
    unchecked: tuple[str, ...] = ()  # what nothing is left to compare with


def verify_version(push_dir: str, number: int, trust: Trust | None = None) -> Verification:
    """Read every file of `number`, and whatever its record names that is still there.

    With `trust` a valid signature is among what it must have.
    """
    try:
        record = load_record(push_dir, number)
    except ForeignVersionError as error:
        unsigned = (str(error),) if trust else ()
        return Verification(number=number, foreign=True, problems=unsigned)
    except NewerFormatError as error:
        return Verification(number=number, newer=str(error))
    except DamagedVersionError as error:
        return Verification(number=number, problems=(str(error),))
    path = version_path(push_dir, number)
    problems = [
        *(signature_problems(path, trust) if trust else ()),
        *_identity(record, number),
        *wrong_files(path, record, verify=True),
        *_unlisted_files(path, record),
        *_decision(record),
        *_configuration(path, record),
    ]
    data_problems, unchecked = _data(record)
    return Verification(
        number=number,
        problems=(*problems, *data_problems),
        signed=trust is not None and not problems,
        unchecked=tuple(unchecked),
    )


def _identity(record: VersionRecord, number: int) -> Iterator[str]:
    if record.version != number:
        yield f"its record names version {record.version}"
    if MODEL_FILE not in record.files:
        yield f"its record does not list {MODEL_FILE}"


def _unlisted_files(path: str, record: VersionRecord) -> Iterator[str]:
    for name in storage.walk_files(path):
        if name not in record.files and name not in (RECORD_FILE, SIGNATURE_FILE):
            yield f"{name} was not pushed"


def _decision(record: VersionRecord) -> Iterator[str]:
    """What the gate decided must be of these bytes, and say what the record says."""
    decision = record.decision
    scored = decision.get("model_digest", "")
    if scored and scored != record.model_digest:
        yield "the gate decided about another model (its SHA-256 differs)"
    if decision and bool(decision.get("blessed", record.blessed)) != record.blessed:
        yield "its record and the gate's decision disagree on whether it is blessed"


def _configuration(path: str, record: VersionRecord) -> Iterator[str]:
    """The model carries the trainer's configuration itself."""
    then = record.configuration.get("trainer")
    if then is None or not storage.exists(storage.join(path, EXPORT_FILE)):
        return
    try:
        info = load_info(path)
    except UserError as error:
        yield str(error)
        return
    trained = info.config
    other = [
        f"trainer.{key}"
        for key in then
        # A training job on Kubernetes wipes the checkpoints itself, and tells its pods not to.
        if key in trained and trained[key] != then[key] and key != "start_new_model"
    ]
    if other:
        yield f"the model was trained with another configuration: {', '.join(other)}"
    features = record.configuration.get("features")
    if features is not None and features != to_dict(info.features):
        yield "the model was exported for other features than its record has"


def _data(record: VersionRecord) -> tuple[list[str], list[str]]:
    """The manifest of the data it was made from, where that still is."""
    if not record.data.manifest_digest:
        return [], ["data: not recorded"]
    path = storage.join(record.lineage.get("examples", ""), manifest.FILE_NAME)
    if not record.lineage.get("examples") or not storage.exists(path):
        return [], [f"data: {path} is gone"]
    try:
        examples = read_file(path, manifest.Manifest.from_json)
    except (UserError, ValueError, OSError) as error:
        return [f"data: {path} cannot be read ({error})"], []
    if examples.digest != record.data.manifest_digest:
        return [f"data: {path} has other data (digest {examples.digest})"], []
    return [], []
