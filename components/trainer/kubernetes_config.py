"""What a training job on Kubernetes needs to know, for TFJob and JobSet alike."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from yt8m.schemas.config_tree import ConfigNode, require
from yt8m.schemas.kubernetes import (
    KubernetesName,
    NodeRequirement,
    PodResources,
    SecurityContext,
    Toleration,
    VolumeMount,
)
from yt8m.schemas.limits import NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt

ROLES = ("chief", "worker", "ps", "evaluator")


@dataclass(frozen=True, kw_only=True)
class RoleConfig(PodResources):
    """How many pods of a role, and how large each is."""

    replicas: PositiveInt = 1  # pods; a role of none is left out


@dataclass(frozen=True, kw_only=True)
class Mount(VolumeMount):
    """Mounted into every pod."""

    sub_path: str = ""  # a directory within the claim, or a key of the secret or ConfigMap
    read_only: bool = False  # pods cannot write to it


@dataclass(frozen=True, kw_only=True)
class JobSecurity(SecurityContext):
    """The user of a job's pods; what else a restricted namespace demands they always have."""

    # Group that volumes are made writable for when they are mounted; None: as they are.
    fs_group: NonNegativeInt | None = None


@dataclass(frozen=True, kw_only=True)
class KubernetesBackend(ConfigNode):
    """The fields that both operators share. The work directory must be seen by every pod."""

    image: str = ""  # empty: the image of the pipeline itself, from YT8M_IMAGE
    namespace: KubernetesName = ""  # empty: the namespace of the pod that asks
    work_dir: str = ""  # a directory on a shared volume or in an object store
    # Pods by role: chief, and of worker, ps, evaluator those that are wanted.
    roles: dict[str, RoleConfig] = field(
        default_factory=lambda: {"chief": RoleConfig(), "worker": RoleConfig()}
    )
    mounts: tuple[Mount, ...] = ()  # volumes of every pod
    environment: dict[str, str] = field(default_factory=dict)  # variables of every container
    environment_secrets: tuple[str, ...] = ()  # every key of these secrets becomes a variable
    environment_config_maps: tuple[str, ...] = ()  # the same of ConfigMaps
    labels: dict[str, str] = field(default_factory=dict)  # of the job and its pods: a queue, a team
    annotations: dict[str, str] = field(default_factory=dict)  # of the job and its pods
    security: JobSecurity = field(default_factory=JobSecurity)  # of the pods
    service_account: str = ""  # that the pods run as; empty: the namespace's own
    node_selector: dict[str, str] = field(default_factory=dict)  # labels of the nodes they run on
    node_affinity: tuple[NodeRequirement, ...] = ()  # what those labels must be; all hold
    tolerations: tuple[Toleration, ...] = ()  # of taints of the nodes
    priority_class: str = ""  # of the pods; empty: the cluster's default
    image_pull_secrets: tuple[str, ...] = ()  # names of secrets with a registry's credentials
    gpu_toleration: bool = True  # let pods with GPUs onto nodes that are tainted for them
    restarts: NonNegativeInt = 3  # of the job, before it has failed; evictions do not count
    # For one attempt of the job; then it has failed, and nothing restarts it; 0: no limit.
    timeout_s: NonNegativeInt = 0
    start_timeout_s: PositiveFloat = 900.0  # for the chief's pod to run: image, volumes, free nodes
    poll_s: PositiveFloat = 5.0  # between two looks at the job
    api_timeout_s: PositiveFloat = 600.0  # an API server that is away for less ends nothing
    # A job whose Trainer sends no heartbeat for so long saves a checkpoint and ends; 0: never.
    abandoned_after_s: NonNegativeFloat = 900.0
    keep_finished_s: NonNegativeInt = 86400  # then Kubernetes removes the finished job

    def __post_init__(self) -> None:
        super().__post_init__()
        require("chief" in self.roles, "roles", sorted(self.roles), "with a chief")
        unknown = sorted(set(self.roles) - set(ROLES))
        require(not unknown, "roles", unknown, f"of {', '.join(ROLES)}")
        for name in ("chief", "evaluator"):
            count = self.roles[name].replicas if name in self.roles else 1
            require(count == 1, f"roles.{name}.replicas", count, "1")


@dataclass(frozen=True, kw_only=True)
class TFJobBackend(KubernetesBackend):
    """kubeflow.org/v1 TFJob; the training operator sets TF_CONFIG.

    It restarts a mistake in what was given as if it were a fault: prefer a JobSet.
    """

    name: Literal["tfjob"] = "tfjob"


@dataclass(frozen=True, kw_only=True)
class JobSetBackend(KubernetesBackend):
    """jobset.x-k8s.io/v1alpha2 JobSet, which knows no TensorFlow: TF_CONFIG is set here."""

    name: Literal["jobset"] = "jobset"
