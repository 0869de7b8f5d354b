"""What a cluster needs to know that the pipeline itself does not: the `kubeflow:` YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from yt8m.schemas.config_tree import ConfigNode, from_dict
from yt8m.schemas.errors import ConfigError, UserError
from yt8m.schemas.kubernetes import (
    NodeRequirement,
    PodResources,
    SecurityContext,
    Toleration,
    VolumeMount,
)
from yt8m.schemas.limits import PositiveInt, matches

# In every task: JSON of pairs, where the configuration names a module of the user's own, and which.
OWN_MODULES_VARIABLE = "YT8M_OWN_MODULES"
# In every task, too: so what runs a pipeline knows which account it was compiled for.
ACCOUNT_VARIABLE = "YT8M_SERVICE_ACCOUNT"
# In the first task: the backend of the Trainer, whose job it tries out.
BACKEND_VARIABLE = "YT8M_TRAINER_BACKEND"
# In the first task: `ClusterNeeds` of all tasks, which it looks up.
NEEDS_VARIABLE = "YT8M_CLUSTER_NEEDS"
_KEY = "kubeflow"


@dataclass(frozen=True, kw_only=True)
class Volume(VolumeMount):
    """Mounted into the components named; into all where none is named."""

    components: tuple[str, ...] = ()  # empty: all


@dataclass(frozen=True, kw_only=True)
class SecretVariable(ConfigNode):
    """One key of a secret as an environment variable of every component."""

    secret: str  # the name of the secret
    key: str  # which of its keys
    variable: str  # the name of the variable


@dataclass(frozen=True, kw_only=True)
class ConfigMapVariable(ConfigNode):
    """One key of a ConfigMap as an environment variable of every component."""

    config_map: str  # the name of the ConfigMap
    key: str  # which of its keys
    variable: str  # the name of the variable


@dataclass(frozen=True, kw_only=True)
class PlatformConfig(ConfigNode):
    """Where and with what the components run."""

    image: str = ""  # of every component; --image says it too
    # Empty: the cluster's own.
    image_pull_policy: Literal["", "Always", "IfNotPresent", "Never"] = ""
    image_pull_secrets: tuple[str, ...] = ()  # names of secrets with a registry's credentials
    service_account: str = ""  # that runs and schedules give the pods, unless --run-as says another
    # A directory on a shared volume for what outlives a run: checkpoints, what was verified before.
    work_dir: Annotated[str, matches(r"|/.*", "a directory below the path of a volume")] = ""
    resources: dict[str, PodResources] = field(default_factory=dict)  # by component; `default`
    volumes: tuple[Volume, ...] = ()  # what is mounted
    secrets: tuple[SecretVariable, ...] = ()  # keys of secrets that become variables
    config_maps: tuple[ConfigMapVariable, ...] = ()  # keys of ConfigMaps that become variables
    environment: dict[str, str] = field(default_factory=dict)  # variables of every component
    node_selector: dict[str, dict[str, str]] = field(default_factory=dict)  # as `resources`
    # Both as `resources`; a driver of 2.0.5 refuses them, and the two about pulling images.
    node_affinity: dict[str, tuple[NodeRequirement, ...]] = field(default_factory=dict)  # all hold
    tolerations: dict[str, tuple[Toleration, ...]] = field(default_factory=dict)  # of taints
    # Of the pods: a queue, a team, a sidecar; as `resources`.
    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    annotations: dict[str, dict[str, str]] = field(default_factory=dict)  # as `labels`
    timeout_s: dict[str, PositiveInt] = field(default_factory=dict)  # of a pod; as `resources`
    security: SecurityContext | None = None  # of every pod; Kubeflow knows it from 2.17 on


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
