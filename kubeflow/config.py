"""What a cluster needs to know that the pipeline itself does not: the `kubeflow:` YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yt8m.schemas.config_tree import from_dict, require
from yt8m.schemas.errors import ConfigError, UserError
from yt8m.schemas.kubernetes import PodResources, VolumeMount

_KEY = "kubeflow"


@dataclass(frozen=True, kw_only=True)
class Volume(VolumeMount):
    """Mounted into the components named; into all where none is named."""

    components: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SecretVariable:
    """One key of a secret as an environment variable of every component."""

    secret: str
    key: str
    variable: str


@dataclass(frozen=True, kw_only=True)
class PlatformConfig:
    """Where and with what the components run."""

    image: str = ""
    image_pull_policy: str = ""
    image_pull_secrets: tuple[str, ...] = ()
    service_account: str = ""
    # A directory on a shared volume for what outlives a run: checkpoints, what was verified before.
    work_dir: str = ""
    resources: dict[str, PodResources] = field(default_factory=dict)  # by component; `default`
    volumes: tuple[Volume, ...] = ()
    secrets: tuple[SecretVariable, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    node_selector: dict[str, dict[str, str]] = field(default_factory=dict)  # as `resources`

    def __post_init__(self) -> None:
        policies = ("", "Always", "IfNotPresent", "Never")
        valid = self.image_pull_policy in policies
        require(valid, "image_pull_policy", self.image_pull_policy, f"one of {policies[1:]}")
        local = not self.work_dir or self.work_dir.startswith("/")
        require(local, "work_dir", self.work_dir, "a directory below the path of a volume")


def load_platform(file: str) -> PlatformConfig:
    """The `kubeflow:` mapping of a YAML file; the defaults where no file is named."""
    if not file:
        return PlatformConfig()
    import yaml

    try:
        data: Any = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"--platform {file}: {error.strerror}") from error
    except yaml.YAMLError as error:
        raise UserError(f"--platform {file} is not YAML: {error}") from error
    if not isinstance(data, Mapping) or set(data) != {_KEY}:
        raise ConfigError(f"--platform {file}: write everything below one key `{_KEY}:`")
    return from_dict(PlatformConfig, data[_KEY] or {}, path=_KEY)
