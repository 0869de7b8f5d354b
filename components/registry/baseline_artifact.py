"""The baseline as Baseline hands it on: a Model artifact, or an empty one where there is none."""

from __future__ import annotations

from yt8m.components.artifacts.saved_model import MODEL_FILE, SERVING_DIR
from yt8m.components.artifacts.version_record import (
    RECORD_FILE,
    STATISTICS_DIR,
    VersionRecord,
    parse_record,
)
from yt8m.components.storage import files


def baseline_model(artifact_uri: str) -> str | None:
    """The SavedModel directory in the artifact; None when there is no baseline."""
    path = files.join(artifact_uri, SERVING_DIR)
    return path if files.exists(files.join(path, MODEL_FILE)) else None


def baseline_statistics(artifact_uri: str) -> str | None:
    """The directory of the statistics that the baseline was pushed with, or None."""
    path = files.join(artifact_uri, SERVING_DIR, STATISTICS_DIR)
    return path if files.is_dir(path) else None


def baseline_record(artifact_uri: str) -> VersionRecord | None:
    """The baseline's record, or None when there is no baseline."""
    path = files.join(artifact_uri, SERVING_DIR, RECORD_FILE)
    return parse_record(files.read_text(path)) if files.exists(path) else None
