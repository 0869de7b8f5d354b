"""Checks before compiling that the configuration's paths exist in a pod."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from yt8m.components import storage
from yt8m.kubeflow.config import PlatformConfig
from yt8m.pipeline.config import PipelineConfig
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.roles import FilePath, fields_with

# `work_dir` stands for the first; pods have no use for the others.
_NOT_IN_PODS = ("root", "retrain.metrics_file", "openlineage.file")


def check_paths(config: PipelineConfig, platform: PlatformConfig) -> None:
    """ConfigError where a path is of this machine: no URI, and on no volume that pods mount."""
    if problems := list(_problems(config, platform)):
        raise ConfigError(problems)


def _problems(config: PipelineConfig, platform: PlatformConfig) -> Iterator[str]:
    mounted = sorted({v.path.rstrip("/") for v in platform.volumes if v.empty_dir is None})
    known = ", ".join(mounted) or "none"
    for field in fields_with(config, FilePath):
        path = str(field.value or "")
        if field.path in _NOT_IN_PODS or not path or storage.local_path(path) is None:
            continue
        if not PurePosixPath(path).is_absolute():
            yield f"{field.path}: {path} is relative to a directory of this machine; write it whole"
        elif not any(f"{path}/".startswith(f"{place}/") for place in mounted):
            yield (
                f"{field.path}: {path} lies on no volume that pods mount (there: {known}); "
                "write a URI, or add {claim: NAME, path: ...} above it to kubeflow.volumes"
            )
