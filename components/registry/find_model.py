"""The SavedModel that a path means: itself, that of a TFX artifact or of an archive, or the version
in service."""

from __future__ import annotations

from yt8m.components import storage
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.registry.archive import is_archive, unpack_model
from yt8m.components.registry.baseline_artifact import baseline_model
from yt8m.components.registry.versions import in_service, load_version, version_path


def find_model(path: str) -> str:
    """Resolve the text of `--model`; a path that is none of them is returned unchanged."""
    if is_archive(path):
        path = unpack_model(path)
    if storage.exists(storage.join(path, MODEL_FILE)):
        return path
    if artifact := baseline_model(path):
        return artifact
    served = in_service(path)
    if not served:
        return path
    if not served.foreign:
        load_version(path, served.version)  # which says what is wrong with a damaged one
    return version_path(path, served.version)
