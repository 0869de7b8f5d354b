"""A pod's settings in Kubernetes's words: one grammar of quantities, resources and mounts."""

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
    """Resource requests and limits of a pod; empty: the cluster's default."""

    cpu: Quantity = ""  # CPU limit of the pod
    memory: Quantity = ""  # Memory limit of the pod
    # CPU request that the pod is scheduled by, at most `cpu`; empty: the same as `cpu`.
    cpu_request: Quantity = ""
    # Memory request that the pod is scheduled by; empty: the same as `memory`. Pods above their
    # request are evicted first.
    memory_request: Quantity = ""
    gpus: NonNegativeInt = 0  # Number of GPUs of the pod
    gpu_resource: str = "nvidia.com/gpu"  # Kubernetes resource name of a GPU

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, limit in (("cpu_request", self.cpu), ("memory_request", self.memory)):
            request = getattr(self, name)
            fits = not (request and limit) or parse_quantity(request) <= parse_quantity(limit)
            require(fits, name, request, f"at most the limit, {limit}")

    @property
    def limits(self) -> dict[str, str]:
        """The pod's limits, by Kubernetes's names, without GPUs."""
        return _without_empty({"cpu": self.cpu, "memory": self.memory})

    @property
    def requests(self) -> dict[str, str]:
        """The pod's requests, as `limits`."""
        wanted = {
            "cpu": self.cpu_request or self.cpu,
            "memory": self.memory_request or self.memory,
        }
        return _without_empty(wanted)


@dataclass(frozen=True, kw_only=True)
class EmptyDir(ConfigNode):
    """A temporary directory of the pod, deleted with it."""

    size: Quantity = ""  # Size limit of the directory; empty: no limit
    # Storage medium; Memory: RAM that counts as the pod's memory, as for /dev/shm.
    medium: Literal["", "Memory"] = ""


@dataclass(frozen=True, kw_only=True)
class SecurityContext(ConfigNode):
    """The user of a pod's processes; null: the image's default."""

    run_as_user: NonNegativeInt | None = None  # Numeric user id of the pod's processes
    run_as_group: NonNegativeInt | None = None  # Numeric group id of the pod's processes
    run_as_non_root: bool = True  # Refuse to start as root

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
    """One claim, secret, ConfigMap or empty directory, mounted at `path`."""

    path: AbsolutePath  # Mount path in the container
    claim: str = ""  # Name of a persistent volume claim
    secret: str = ""  # Name of a secret
    config_map: str = ""  # Name of a ConfigMap
    empty_dir: EmptyDir | None = None  # Temporary directory of the pod; {}: without limits

    def __post_init__(self) -> None:
        super().__post_init__()
        sources = (self.claim, self.secret, self.config_map, self.empty_dir is not None)
        allowed = "given, or secret, config_map or empty_dir, and not two of them"
        require(sum(map(bool, sources)) == 1, "claim", self.claim, allowed)


@dataclass(frozen=True, kw_only=True)
class Toleration(ConfigNode):
    """A taint of nodes that pods tolerate."""

    key: str = ""  # Key of the taint; empty: every taint
    # Comparison with the taint; Equal also compares its value.
    operator: Literal["Exists", "Equal"] = "Exists"
    value: str = ""  # Value of the taint
    # Effect of the taint; empty: all effects.
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
    """A requirement on a node's labels that a selector cannot express."""

    key: str  # Key of the node's label
    # Comparison of the label with `values`.
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"] = "In"
    # Values to compare the label with; none for Exists and DoesNotExist.
    values: tuple[str, ...] = ()

    def to_spec(self) -> dict[str, Any]:
        """As Kubernetes writes it."""
        values = {"values": list(self.values)} if self.values else {}
        return {"key": self.key, "operator": self.operator, **values}
