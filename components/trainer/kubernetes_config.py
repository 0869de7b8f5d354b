"""Settings of a training job on Kubernetes, for TFJob and JobSet alike."""

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
    """Number of pods of a role, and their resources."""

    replicas: PositiveInt = 1  # Number of pods; omit a role to have none


@dataclass(frozen=True, kw_only=True)
class Mount(VolumeMount):
    """A volume mounted into every pod."""

    sub_path: str = ""  # Directory within the claim, or a key of the secret or ConfigMap
    read_only: bool = False  # Mount the volume read-only


@dataclass(frozen=True, kw_only=True)
class JobSecurity(SecurityContext):
    """The user of a job's pods; they always meet the `restricted` pod standard."""

    # Numeric group id that mounted volumes are made writable for; null: unchanged.
    fs_group: NonNegativeInt | None = None


@dataclass(frozen=True, kw_only=True)
class KubernetesBackend(ConfigNode):
    """The fields that both operators share. The work directory must be seen by every pod."""

    image: str = ""  # Container image of the pods; empty: the pipeline's own image, from YT8M_IMAGE
    namespace: KubernetesName = ""  # Namespace of the job; empty: the namespace of the calling pod
    # Directory on a shared volume or in an object store for the training's files.
    work_dir: str = ""
    # Pods by role: chief, and optionally worker, ps and evaluator.
    roles: dict[str, RoleConfig] = field(
        default_factory=lambda: {"chief": RoleConfig(), "worker": RoleConfig()}
    )
    mounts: tuple[Mount, ...] = ()  # Volumes to mount into every pod
    # Environment variables of every container.
    environment: dict[str, str] = field(default_factory=dict)
    # Names of secrets; each of their keys becomes an environment variable.
    environment_secrets: tuple[str, ...] = ()
    # Names of ConfigMaps; each of their keys becomes an environment variable.
    environment_config_maps: tuple[str, ...] = ()
    # Labels of the job and its pods, e.g. a queue or a team.
    labels: dict[str, str] = field(default_factory=dict)
    annotations: dict[str, str] = field(default_factory=dict)  # Annotations of the job and its pods
    security: JobSecurity = field(default_factory=JobSecurity)  # Security context of the pods
    service_account: str = ""  # Service account of the pods; empty: the namespace's default
    # Labels of the nodes that pods may run on.
    node_selector: dict[str, str] = field(default_factory=dict)
    # Requirements on the nodes' labels, all of which hold.
    node_affinity: tuple[NodeRequirement, ...] = ()
    tolerations: tuple[Toleration, ...] = ()  # Taints of nodes that the pods tolerate
    priority_class: str = ""  # Priority class of the pods; empty: the cluster's default
    image_pull_secrets: tuple[str, ...] = ()  # Names of secrets with a registry's credentials
    gpu_toleration: bool = True  # Tolerate the taint of GPU nodes for pods with GPUs
    restarts: NonNegativeInt = 3  # Number of restarts before the job fails; evictions do not count
    # Seconds that one attempt of the job may take; then the job fails without a restart; 0: no
    # limit.
    timeout_s: NonNegativeInt = 0
    # Seconds for the chief's pod to start running: image, volumes, free nodes.
    start_timeout_s: PositiveFloat = 900.0
    poll_s: PositiveFloat = 5.0  # Seconds between two checks of the job's state
    api_timeout_s: PositiveFloat = 600.0  # Seconds for which the API server may be unreachable
    # Seconds without a heartbeat from the Trainer after which the job saves a checkpoint and ends;
    # 0: never.
    abandoned_after_s: NonNegativeFloat = 900.0
    # Seconds after which Kubernetes deletes the finished job.
    keep_finished_s: NonNegativeInt = 86400

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
    """A kubeflow.org/v1 TFJob; the training operator sets TF_CONFIG.

    It restarts the job after a user error as after a fault: prefer a JobSet.
    """

    name: Literal["tfjob"] = "tfjob"


@dataclass(frozen=True, kw_only=True)
class JobSetBackend(KubernetesBackend):
    """A jobset.x-k8s.io/v1alpha2 JobSet; yt8m sets TF_CONFIG."""

    name: Literal["jobset"] = "jobset"
