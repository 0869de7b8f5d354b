"""Which version the configuration means, and a copy of it where the pipeline keeps its things."""

from __future__ import annotations

from yt8m.components.artifacts.saved_model import SERVING_DIR
from yt8m.components.artifacts.version_record import RECORD_FILE
from yt8m.components.baseline.config import BaselineConfig, Choice
from yt8m.components.registry.versions import (
    NO_VERSION,
    Version,
    digest_version,
    list_versions,
    load_version,
    newest,
)
from yt8m.components.storage import files
from yt8m.schemas.errors import UserError


def select_baseline(config: BaselineConfig, push_dir: str, registry_digest: str) -> Version | None:
    """The version to hand on, every file of it read and found right; None is no baseline.

    A registry digest says which version was the newest when the run began, and binds: what was
    pushed meanwhile is not part of what TFX's cache knows. A named version is never replaced.
    """
    if isinstance(config.version, int):
        if config.version not in list_versions(push_dir):
            raise UserError(
                f"baseline.version = {config.version}: no such version in {push_dir}; "
                f"`yt8m models list --push {push_dir}` shows them"
            )
        return load_version(push_dir, config.version, verify=True)
    if config.version is Choice.NONE or not push_dir or registry_digest == NO_VERSION:
        return None
    return newest(push_dir, not_after=digest_version(registry_digest), verify=True)


def hand_over(version: Version | None, artifact_uri: str) -> None:
    """Copy `version` into the artifact; without one the artifact stays an empty directory.

    A copy, because Kubeflow takes artifacts below its pipeline root only, and because damage or
    removal in the registry must not reach a run that has begun.
    """
    files.make_dirs(artifact_uri)
    if version is None:
        return
    for name in (*version.record.files, RECORD_FILE):
        files.copy(files.join(version.path, name), files.join(artifact_uri, SERVING_DIR, name))
