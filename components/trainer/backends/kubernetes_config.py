"""What a training job on Kubernetes needs to know, for TFJob and JobSet alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from yt8m.schemas.config_tree import require
from yt8m.schemas.kubernetes import DNS_LABEL, PodResources, VolumeMount

ROLES = ("chief", "worker", "ps", "evaluator")


@dataclass(frozen=True, kw_only=True)
class RoleConfig(PodResources):
    """How many pods of a role, and how large each is."""

    replicas: int = 1

    def __post_init__(self) -> None:
        require(
            self.replicas >= 1, "replicas", self.replicas, "1 or more; leave the role out for 0"
        )
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class Mount(VolumeMount):
    """Mounted into every pod."""

    sub_path: str = ""
    read_only: bool = False


@dataclass(frozen=True, kw_only=True)
class KubernetesBackend:
    """The fields that both operators share. The work directory must be seen by every pod."""

    image: str = ""  # empty: the image of the pipeline itself, from YT8M_IMAGE
    namespace: str = ""  # empty: the namespace of the pod that asks
    work_dir: str = ""  # a directory on a shared volume or in an object store
    roles: dict[str, RoleConfig] = field(
        default_factory=lambda: {"chief": RoleConfig(), "worker": RoleConfig()}
    )
    mounts: tuple[Mount, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    environment_secrets: tuple[str, ...] = ()  # every key of these secrets becomes a variable
    service_account: str = ""
    node_selector: dict[str, str] = field(default_factory=dict)
    gpu_toleration: bool = True
    restarts: int = 3
    start_timeout_s: float = 900.0  # for the chief's pod to run: image, volumes, free nodes
    poll_s: float = 5.0
    api_timeout_s: float = 600.0  # an API server that is away for less ends nothing
    keep_finished_s: int = 86400  # then Kubernetes removes the finished job

    def __post_init__(self) -> None:
        require("chief" in self.roles, "roles", sorted(self.roles), "with a chief")
        unknown = sorted(set(self.roles) - set(ROLES))
        require(not unknown, "roles", unknown, f"of {', '.join(ROLES)}")
        for name in ("chief", "evaluator"):
            count = self.roles[name].replicas if name in self.roles else 1
            require(count == 1, f"roles.{name}.replicas", count, "1")
        valid = not self.namespace or DNS_LABEL.fullmatch(self.namespace) is not None
        require(valid, "namespace", self.namespace, "a Kubernetes name")
        require(self.restarts >= 0, "restarts", self.restarts, "0 or more")
        for name in ("start_timeout_s", "poll_s", "api_timeout_s"):
            require(getattr(self, name) > 0, name, getattr(self, name), "above 0 seconds")


@dataclass(frozen=True, kw_only=True)
class TFJobBackend(KubernetesBackend):
    """kubeflow.org/v1 TFJob; the training operator sets TF_CONFIG.

    It counts restarts over all pods, so three or more never restart as a group: prefer a JobSet.
    """

    name: Literal["tfjob"] = "tfjob"


@dataclass(frozen=True, kw_only=True)
class JobSetBackend(KubernetesBackend):
    """jobset.x-k8s.io/v1alpha2 JobSet, which knows no TensorFlow: TF_CONFIG is set here."""

    name: Literal["jobset"] = "jobset"
