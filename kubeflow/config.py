"""What a cluster needs to know that the pipeline itself does not: the `kubeflow:` YAML file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from yt8m.schemas.config_tree import ConfigNode, from_dict, require
from yt8m.schemas.errors import ConfigError, UserError
from yt8m.schemas.limits import AbsolutePath, NonNegativeInt, matches

_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)(m|[KMGTPE]i?)?")
Quantity = Annotated[str, matches(rf"|{_QUANTITY.pattern}", "a quantity such as 4, 500m or 16Gi")]
_FACTORS: dict[str | None, float] = {
    None: 1.0,
    "m": 1e-3,
    **{unit: 1000.0 ** (i + 1) for i, unit in enumerate("KMGTPE")},
    **{f"{unit}i": 1024.0 ** (i + 1) for i, unit in enumerate("KMGTPE")},
}
_KEY = "kubeflow"


@dataclass(frozen=True, kw_only=True)
class Resources(ConfigNode):
    """What one component's pod is given; an empty text leaves it to the cluster."""

    cpu: Quantity = ""  # of the pod
    memory: Quantity = ""  # of the pod
    gpus: NonNegativeInt = 0  # of the pod
    gpu_resource: str = "nvidia.com/gpu"  # what the cluster calls a GPU


@dataclass(frozen=True, kw_only=True)
class Volume(ConfigNode):
    """A claim or a secret mounted into the components named; into all where none is named."""

    path: AbsolutePath  # where, in the container
    claim: str = ""  # the name of a persistent volume claim
    secret: str = ""  # the name of a secret
    components: tuple[str, ...] = ()  # empty: all

    def __post_init__(self) -> None:
        super().__post_init__()
        one = bool(self.claim) != bool(self.secret)
        require(one, "claim", self.claim, "given, or secret, and not both")


@dataclass(frozen=True, kw_only=True)
class SecretVariable(ConfigNode):
    """One key of a secret as an environment variable of every component."""

    secret: str  # the name of the secret
    key: str  # which of its keys
    variable: str  # the name of the variable


@dataclass(frozen=True, kw_only=True)
class PlatformConfig(ConfigNode):
    """Where and with what the components run."""

    image: str = ""  # of every component; --image says it too
    # Empty: the cluster's own.
    image_pull_policy: Literal["", "Always", "IfNotPresent", "Never"] = ""
    image_pull_secrets: tuple[str, ...] = ()  # names of secrets with a registry's credentials
    service_account: str = ""  # that the pods run as; empty: the namespace's own
    # A directory on a shared volume for what outlives a run: checkpoints, what was verified before.
    work_dir: Annotated[str, matches(r"|/.*", "a directory below the path of a volume")] = ""
    resources: dict[str, Resources] = field(default_factory=dict)  # by component; `default`
    volumes: tuple[Volume, ...] = ()  # claims and secrets that are mounted
    secrets: tuple[SecretVariable, ...] = ()  # keys of secrets that become variables
    environment: dict[str, str] = field(default_factory=dict)  # variables of every component
    node_selector: dict[str, dict[str, str]] = field(default_factory=dict)  # as `resources`


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


def quantity(text: str) -> float:
    """`500m` as 0.5, `16Gi` as 17179869184."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"not a quantity: {text!r}")
    return float(match[1]) * _FACTORS[match[2]]
