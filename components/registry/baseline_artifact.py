"""The baseline as Baseline hands it on: a Model artifact, or an empty one where there is none.

Beside the model is what was in service when it was chosen: Pusher replaces nothing else. The
champion is handed on in the same form, without its model where that is the baseline's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from yt8m.components import storage
from yt8m.components.artifacts.read import read_file, read_if_present
from yt8m.components.artifacts.saved_model import MODEL_FILE, SERVING_DIR
from yt8m.components.artifacts.version_record import (
    RECORD_FILE,
    STATISTICS_DIR,
    VersionRecord,
    parse_record,
)
from yt8m.components.registry.versions import DamagedVersionError, InService, wrong_files
from yt8m.schemas.json_file import JsonFile

_IN_SERVICE_FILE = "in_service.json"
_PASSED_OVER_FILE = "passed_over.json"


@dataclass(frozen=True, kw_only=True)
class PassedOver(JsonFile):
    """Versions that the model is not compared with, though they are newer or better."""

    problems: tuple[str, ...] = ()  # each names the version and says what is wrong with it


def baseline_model(artifact_uri: str) -> str | None:
    """The SavedModel directory in the artifact; None when there is no baseline."""
    path = storage.join(artifact_uri, SERVING_DIR)
    return path if storage.exists(storage.join(path, MODEL_FILE)) else None


def baseline_statistics(artifact_uri: str) -> str | None:
    """The directory of the statistics that the baseline was pushed with, or None."""
    path = storage.join(artifact_uri, SERVING_DIR, STATISTICS_DIR)
    return path if storage.is_dir(path) else None


def version_record(artifact_uri: str) -> VersionRecord | None:
    """The record of the version in the artifact; None where there is no version."""
    return read_if_present(storage.join(artifact_uri, SERVING_DIR), RECORD_FILE, parse_record)


def require_sound(artifact_uri: str) -> None:
    """DamagedVersionError where the model is not what was pushed.

    Its files may be those of the registry, by another name: what damages one damages both.
    """
    record, model = version_record(artifact_uri), baseline_model(artifact_uri)
    if record is None or model is None:
        return
    if wrong := list(wrong_files(model, record, verify=True)):
        raise DamagedVersionError(
            f"version {record.version}, which the model is to be compared with, is damaged: "
            f"{'; '.join(wrong)} ({model}, the same file as in the registry where both are on one "
            "file system). `yt8m models verify` says what is damaged there; restore it, or roll "
            "back, and run again"
        )


def write_passed_over(artifact_uri: str, problems: Sequence[str]) -> None:
    """Keep what is wrong with the versions that were passed over."""
    passed_over = PassedOver(problems=tuple(problems))
    storage.write_text(storage.join(artifact_uri, _PASSED_OVER_FILE), passed_over.to_json())


def read_passed_over(artifact_uri: str) -> tuple[str, ...]:
    """Faults of the versions that were passed over."""
    passed_over = read_if_present(artifact_uri, _PASSED_OVER_FILE, PassedOver.from_json)
    return passed_over.problems if passed_over is not None else ()


def write_in_service(artifact_uri: str, served: InService) -> None:
    """Keep what was in service when the baseline was chosen."""
    storage.write_text(storage.join(artifact_uri, _IN_SERVICE_FILE), served.to_json())


def read_in_service(artifact_uri: str) -> InService | None:
    """The version in service then; None where a person chose to replace any."""
    path = storage.join(artifact_uri, _IN_SERVICE_FILE)
    return read_file(path, InService.from_json) if storage.exists(path) else None
