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


@dataclass(frozen=True, kw_only=True)
class PodResources(ConfigNode):
    """What a pod asks for and may not exceed; an empty text leaves it to the cluster."""

    cpu: Quantity = ""  # of the pod
    memory: Quantity = ""  # of the pod
    gpus: NonNegativeInt = 0  # of the pod
    gpu_resource: str = "nvidia.com/gpu"  # what the cluster calls a GPU


@dataclass(frozen=True, kw_only=True)
class VolumeMount(ConfigNode):
    """A claim or a secret, one of the two, mounted at `path`."""

    path: AbsolutePath  # where, in the container
    claim: str = ""  # the name of a persistent volume claim
    secret: str = ""  # the name of a secret

    def __post_init__(self) -> None:
        super().__post_init__()
        one = bool(self.claim) != bool(self.secret)
        require(one, "claim", self.claim, "given, or secret, and not both")


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
        return {name: text for name, text in fields.items() if text}


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
