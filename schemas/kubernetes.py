"""What a pod is given, in Kubernetes's words: the one grammar of quantities, resources, mounts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from yt8m.schemas.config_tree import ConfigNode, require
from yt8m.schemas.limits import AbsolutePath, NonNegativeInt, matches

# Tells the processes in a pod how many GPUs were asked for: a training that sees fewer stops.
GPUS_VARIABLE = "YT8M_GPUS"
# Tells every task which image it runs in: a training job's pods run in it, too.
IMAGE_VARIABLE = "YT8M_IMAGE"
_QUANTITY = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(?:(m|k|[MGTPE]|[KMGTPE]i)|[eE](\d+))?")
_FACTORS: dict[str | None, float] = {
    None: 1.0,
    "m": 1e-3,
    **{unit: 1000.0 ** (i + 1) for i, unit in enumerate("kMGTPE")},
    **{f"{unit}i": 1024.0 ** (i + 1) for i, unit in enumerate("KMGTPE")},
}
# A name that is part of a host name: claims, namespaces, jobs.
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

# Both may be empty: what the cluster gives.
Quantity = Annotated[
    str, matches(rf"|{_QUANTITY.pattern}", "a Kubernetes quantity such as 4, 500m or 16Gi")
]
KubernetesName = Annotated[
    str, matches(rf"|{DNS_LABEL.pattern}", "a Kubernetes name such as my-team")
]


def parse_quantity(text: str) -> float:
    """`500m` as 0.5, `16Gi` as 17179869184; ValueError where Kubernetes would refuse it."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"not a Kubernetes quantity: {text!r}")
    return float(match[1]) * _FACTORS[match[2]] * 10.0 ** int(match[3] or 0)


def _without_empty(texts: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in texts.items() if text}


@dataclass(frozen=True, kw_only=True)
class PodResources(ConfigNode):
    """What a pod asks for and may not exceed; an empty text leaves it to the cluster."""

    cpu: Quantity = ""  # of the pod
    memory: Quantity = ""  # of the pod
    # What the pod is scheduled by, where it may take up to `cpu`; empty: the same.
    cpu_request: Quantity = ""
    # As `cpu_request`; a pod that takes more than its request is evicted first.
    memory_request: Quantity = ""
    gpus: NonNegativeInt = 0  # of the pod
    gpu_resource: str = "nvidia.com/gpu"  # what the cluster calls a GPU

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, limit in (("cpu_request", self.cpu), ("memory_request", self.memory)):
            request = getattr(self, name)
            fits = not (request and limit) or parse_quantity(request) <= parse_quantity(limit)
            require(fits, name, request, f"at most the limit, {limit}")

    @property
    def limits(self) -> dict[str, str]:
        """What the pod may not exceed, by Kubernetes's names, without GPUs."""
        return _without_empty({"cpu": self.cpu, "memory": self.memory})

    @property
    def requests(self) -> dict[str, str]:
        """What the pod is scheduled by, as `limits`."""
        wanted = {
            "cpu": self.cpu_request or self.cpu,
            "memory": self.memory_request or self.memory,
        }
        return _without_empty(wanted)


@dataclass(frozen=True, kw_only=True)
class EmptyDir(ConfigNode):
    """A directory of the pod's own, empty at first and gone with the pod."""

    size: Quantity = ""  # the most that may be written to it; empty: no limit
    # Memory: in RAM, and counted as the pod's memory, as /dev/shm.
    medium: Literal["", "Memory"] = ""


@dataclass(frozen=True, kw_only=True)
class SecurityContext(ConfigNode):
    """The user of a pod's processes; None leaves one to the image."""

    run_as_user: NonNegativeInt | None = None  # number of the user
    run_as_group: NonNegativeInt | None = None  # number of the group
    run_as_non_root: bool = True  # refuse to start as root

    def to_spec(self) -> dict[str, Any]:
        """As Kubernetes writes it."""
        fields = {
            "runAsUser": self.run_as_user,
            "runAsGroup": self.run_as_group,
            "runAsNonRoot": self.run_as_non_root,
        }
        return {name: value for name, value in fields.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class VolumeMount(ConfigNode):
    """A claim, a secret, a ConfigMap or an empty directory, one of them, mounted at `path`."""

    path: AbsolutePath  # where, in the container
    claim: str = ""  # the name of a persistent volume claim
    secret: str = ""  # the name of a secret
    config_map: str = ""  # the name of a ConfigMap
    empty_dir: EmptyDir | None = None  # a directory of the pod's own; {} is one without limits

    def __post_init__(self) -> None:
        super().__post_init__()
        sources = (self.claim, self.secret, self.config_map, self.empty_dir is not None)
        allowed = "given, or secret, config_map or empty_dir, and not two of them"
        require(sum(map(bool, sources)) == 1, "claim", self.claim, allowed)


@dataclass(frozen=True, kw_only=True)
class Toleration(ConfigNode):
    """A taint of nodes that a pod puts up with."""

    key: str = ""  # of the taint; empty: of every one
    operator: Literal["Exists", "Equal"] = "Exists"  # Equal: its value counts too
    value: str = ""  # of the taint
    # Empty: all of them.
    effect: Literal["", "NoSchedule", "PreferNoSchedule", "NoExecute"] = ""

    def to_spec(self) -> dict[str, str]:
        """As Kubernetes writes it."""
        fields = {
            "key": self.key,
            "operator": self.operator,
            "value": self.value,
            "effect": self.effect,
        }
        return _without_empty(fields)


@dataclass(frozen=True, kw_only=True)
class NodeRequirement(ConfigNode):
    """What the labels of a node must be, where a selector cannot say it."""

    key: str  # of the label
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"] = "In"  # to `values`
    values: tuple[str, ...] = ()  # of the label; none for Exists and DoesNotExist

    def to_spec(self) -> dict[str, Any]:
        """As Kubernetes writes it."""
        values = {"values": list(self.values)} if self.values else {}
        return {"key": self.key, "operator": self.operator, **values}
