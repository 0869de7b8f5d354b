"""What a pod is given, in Kubernetes's words: the one grammar of quantities, resources, mounts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from yt8m.schemas.config_tree import require

_QUANTITY = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(?:(m|k|[MGTPE]|[KMGTPE]i)|[eE](\d+))?")
_FACTORS: dict[str | None, float] = {
    None: 1.0,
    "m": 1e-3,
    **{unit: 1000.0 ** (i + 1) for i, unit in enumerate("kMGTPE")},
    **{f"{unit}i": 1024.0 ** (i + 1) for i, unit in enumerate("KMGTPE")},
}
# A name that is part of a host name: claims, namespaces, jobs.
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def parse_quantity(text: str) -> float:
    """`500m` as 0.5, `16Gi` as 17179869184; ValueError where Kubernetes would refuse it."""
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError(f"not a Kubernetes quantity: {text!r}")
    return float(match[1]) * _FACTORS[match[2]] * 10.0 ** int(match[3] or 0)


@dataclass(frozen=True, kw_only=True)
class PodResources:
    """What a pod asks for and may not exceed; an empty text leaves it to the cluster."""

    cpu: str = ""
    memory: str = ""
    gpus: int = 0
    gpu_resource: str = "nvidia.com/gpu"

    def __post_init__(self) -> None:
        for name in ("cpu", "memory"):
            value = getattr(self, name)
            valid = not value or _QUANTITY.fullmatch(value) is not None
            require(valid, name, value, "a Kubernetes quantity such as 4, 500m or 16Gi")
        require(self.gpus >= 0, "gpus", self.gpus, "0 or more")


@dataclass(frozen=True, kw_only=True)
class VolumeMount:
    """A claim or a secret, one of the two, mounted at `path`."""

    path: str
    claim: str = ""
    secret: str = ""

    def __post_init__(self) -> None:
        require(self.path.startswith("/"), "path", self.path, "an absolute path in the container")
        one = bool(self.claim) != bool(self.secret)
        require(one, "claim", self.claim, "given, or secret, and not both")
