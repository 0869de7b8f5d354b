"""Choice of the baseline version, and its files where the pipeline keeps its artifacts."""

from __future__ import annotations

from yt8m.components import storage
from yt8m.components.artifacts.saved_model import SERVING_DIR
from yt8m.components.artifacts.version_record import RECORD_FILE
from yt8m.components.baseline.config import BaselineChoice, BaselineConfig
from yt8m.components.registry.baseline_artifact import write_in_service
from yt8m.components.registry.champion import champion_versions, find_champion
from yt8m.components.registry.registry_digest import digest_version
from yt8m.components.registry.versions import (
    NO_VERSION,
    DamagedVersionError,
    ForeignVersionError,
    InService,
    UnfinishedVersionError,
    Version,
    check_usable,
    in_service,
    list_baselines,
    list_versions,
    load_version,
    newest,
)
from yt8m.schemas.errors import UserError


def select_baseline(config: BaselineConfig, push_dir: str, registry_digest: str) -> Version | None:
    """The version to hand on, every file of it read and found right; None is no baseline.

    UserError where there are versions and none can be compared with: that is no empty registry. A
    registry digest says which version was the newest when the run began, and binds: what was
    pushed meanwhile is not part of what TFX's cache knows. A named version is never replaced.
    """
    check_registry(config, push_dir)
    if isinstance(config.version, int):
        if config.version not in (*list_versions(push_dir), *list_baselines(push_dir)):
            raise UserError(
                f"baseline.version = {config.version}: no such version in {push_dir}; "
                f"`yt8m models list --push {push_dir}` shows them"
            )
        return load_version(push_dir, config.version, verify=True)
    none = registry_digest.partition("-")[0] == NO_VERSION
    if config.version is BaselineChoice.NONE or not push_dir or none:
        return None
    return newest(push_dir, not_after=digest_version(registry_digest), verify=True)


def select_champion(
    config: BaselineConfig, push_dir: str, registry_digest: str, *, baseline: Version | None
) -> Version | None:
    """The best version so far; None where there is none, or no version is to be compared with.

    `baseline` was verified when it was selected, and is not read again.
    """
    if config.version is BaselineChoice.NONE or not push_dir or registry_digest == NO_VERSION:
        return None  # what is there now came since the run began, perhaps from this very run
    limit = digest_version(registry_digest)
    return find_champion(push_dir, not_after=limit, verify=True, verified=baseline)


def passed_over(
    config: BaselineConfig,
    push_dir: str,
    baseline: Version | None,
    champion: Version | None = None,
) -> list[str]:
    """Faults of versions that are newer than `baseline`, or hold the champion's model.

    `baseline` and `champion` were verified when they were selected, and are not read again.
    """
    if config.version is not BaselineChoice.NEWEST or not push_dir:
        return []
    newer = {
        number for number in list_versions(push_dir) if baseline is None or number > baseline.number
    }
    sound = {version.number for version in (baseline, champion) if version is not None}
    problems = []
    for number in sorted((newer | champion_versions(push_dir)) - sound):
        try:
            load_version(push_dir, number, verify=True)
        except DamagedVersionError as error:
            problems.append(str(error))
        except (ForeignVersionError, UnfinishedVersionError):
            continue  # no model of ours
    return problems


def check_registry(config: BaselineConfig, push_dir: str) -> None:
    """UserError where a push would replace what the model cannot be compared with."""
    if push_dir and config.version is not BaselineChoice.NONE:
        check_usable(push_dir)


def replaced_version(
    config: BaselineConfig, push_dir: str, baseline: Version | None
) -> InService | None:
    """The version that this run's push may replace; None stands for any.

    Usually the baseline. A damaged version above it may be replaced as well, one that was pushed
    since the run began may not.
    """
    if config.version is BaselineChoice.NONE or not push_dir:
        return None
    latest = newest(push_dir, verify=True)
    number, newest_number = (v.number if v else 0 for v in (baseline, latest))
    if isinstance(config.version, int) or number == newest_number:
        return in_service(push_dir)
    if baseline is None:
        return InService()
    return InService(version=number, digest=baseline.record.model_digest)


def copy_to_artifact(
    version: Version | None, artifact_uri: str, *, replaces: InService | None = None
) -> None:
    """Put `version` into the artifact; without one the artifact stays an empty directory.

    Its files are there in their own right, because Kubeflow takes artifacts below its pipeline root
    only, and because removal in the registry must not reach a run that has begun.
    """
    storage.make_dirs(artifact_uri)
    if replaces is not None:
        write_in_service(artifact_uri, replaces)
    if version is not None:
        _link_files(version, (*version.record.files, RECORD_FILE), artifact_uri)


def copy_champion(champion: Version | None, artifact_uri: str, *, baseline: Version | None) -> None:
    """Put the champion into the artifact: its record alone where its model is the baseline's."""
    storage.make_dirs(artifact_uri)
    if champion is None:
        return
    is_baseline = (
        baseline is not None and baseline.record.model_digest == champion.record.model_digest
    )
    files = () if is_baseline else tuple(champion.record.files)
    _link_files(champion, (*files, RECORD_FILE), artifact_uri)


def _link_files(version: Version, names: tuple[str, ...], artifact_uri: str) -> None:
    for name in names:
        storage.hard_link(
            storage.join(version.path, name), storage.join(artifact_uri, SERVING_DIR, name)
        )
