"""Settings of a cluster that the pipeline itself lacks: the `kubeflow:` YAML file."""

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
    """A volume, mounted into the named components; into all if none is named."""

    components: tuple[str, ...] = ()  # Names of the components; empty: all


@dataclass(frozen=True, kw_only=True)
class SecretVariable(ConfigNode):
    """One key of a secret as an environment variable of every component."""

    secret: str  # Name of the secret
    key: str  # Key of the secret
    variable: str  # Name of the environment variable


@dataclass(frozen=True, kw_only=True)
class ConfigMapVariable(ConfigNode):
    """One key of a ConfigMap as an environment variable of every component."""

    config_map: str  # Name of the ConfigMap
    key: str  # Key of the ConfigMap
    variable: str  # Name of the environment variable


@dataclass(frozen=True, kw_only=True)
class PlatformConfig(ConfigNode):
    """Cluster settings of the components."""

    image: str = ""  # Container image of every component; --image sets it too
    # Pull policy of the image; empty: the cluster's default.
    image_pull_policy: Literal["", "Always", "IfNotPresent", "Never"] = ""
    image_pull_secrets: tuple[str, ...] = ()  # Names of secrets with a registry's credentials
    # Service account of the pods of runs and schedules, unless --run-as names another.
    service_account: str = ""
    # Directory on a shared volume for what outlives a run: checkpoints, verification results.
    work_dir: Annotated[str, matches(r"|/.*", "a directory below the path of a volume")] = ""
    # Resources of the pods, by component; `default` applies to the others.
    resources: dict[str, PodResources] = field(default_factory=dict)
    volumes: tuple[Volume, ...] = ()  # Volumes to mount into the components
    secrets: tuple[SecretVariable, ...] = ()  # Keys of secrets to set as environment variables
    # Keys of ConfigMaps to set as environment variables.
    config_maps: tuple[ConfigMapVariable, ...] = ()
    # Environment variables of every component.
    environment: dict[str, str] = field(default_factory=dict)
    # Labels of the nodes that pods may run on, by component as in `resources`.
    node_selector: dict[str, dict[str, str]] = field(default_factory=dict)
    # Requirements on the nodes' labels, all of which hold, by component as in `resources`; a driver
    # of 2.0.5 refuses them.
    node_affinity: dict[str, tuple[NodeRequirement, ...]] = field(default_factory=dict)
    # Taints of nodes that the pods tolerate, by component as in `resources`; a driver of 2.0.5
    # refuses them.
    tolerations: dict[str, tuple[Toleration, ...]] = field(default_factory=dict)
    # Labels of the pods, e.g. a queue or a team, by component as in `resources`.
    labels: dict[str, dict[str, str]] = field(default_factory=dict)
    # Annotations of the pods, by component as in `resources`.
    annotations: dict[str, dict[str, str]] = field(default_factory=dict)
    # Seconds that a pod may take, by component as in `resources`.
    timeout_s: dict[str, PositiveInt] = field(default_factory=dict)
    # Security context of every pod; needs Kubeflow 2.17 or later.
    security: SecurityContext | None = None


def load_platform(file: str) -> PlatformConfig:
    """The `kubeflow:` mapping of a YAML file; the defaults where no file is named."""
    if not file:
        return PlatformConfig()
    import yaml

    try:
        data: Any = yaml.safe_load(Path(file).read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"--platform {file}: {error.strerror}") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"--platform {file} is not YAML: {error}") from error
    if not isinstance(data, Mapping) or set(data) != {_KEY}:
        raise ConfigError(f"--platform {file}: write everything below one key `{_KEY}:`")
    return from_dict(PlatformConfig, data[_KEY] or {}, path=_KEY)
