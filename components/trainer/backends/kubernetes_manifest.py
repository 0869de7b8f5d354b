"""The objects that are created: pure functions from a job's description to plain dictionaries."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from yt8m.components.trainer.kubernetes_config import (
    JobSetBackend,
    KubernetesBackend,
    Mount,
    RoleConfig,
    TFJobBackend,
)
from yt8m.schemas.errors import EXIT_ABANDONED, EXIT_USER
from yt8m.schemas.kubernetes import GPUS_VARIABLE

PORT = 2222
DIGEST = "yt8m/manifest"  # annotation: tells a job of this very description from an older one
TRAINER = "yt8m/trainer"  # annotation: the pod and the process that follow the job
_INDEX = "YT8M_TASK_INDEX"
_CONTAINER = "tensorflow"  # the training operator looks for this very name
# No restart puts right what a person gave, or brings a Trainer back that has gone. Who moves a pod
# away (a drained node, preemption) says so on it, and a JobSet tells the two by the Job's message.
_POD_FAILURE_RULES = [
    {
        "action": "FailJob",
        "onExitCodes": {
            "containerName": _CONTAINER,
            "operator": "In",
            "values": [EXIT_USER, EXIT_ABANDONED],
        },
    },
    {"action": "FailJob", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
]
_FAILURE_RULES = [
    {
        "name": "disruption",
        "action": "RestartJobSetAndIgnoreMaxRestarts",
        "onJobFailureReasons": ["PodFailurePolicy"],
        "onJobFailureMessagePatterns": ["has condition DisruptionTarget"],
    },
    {
        "name": "final",
        "action": "FailJobSet",
        "onJobFailureReasons": ["PodFailurePolicy", "DeadlineExceeded"],
    },
]
_TFJOB_ROLE = {"chief": "Chief", "worker": "Worker", "ps": "PS", "evaluator": "Evaluator"}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of API objects: their place, and the labels of their pods."""

    group: str
    version: str
    plural: str
    kind: str
    name_label: str
    role_label: str
    index_label: str


TFJOB = Kind(
    group="kubeflow.org",
    version="v1",
    plural="tfjobs",
    kind="TFJob",
    name_label="training.kubeflow.org/job-name",
    role_label="training.kubeflow.org/replica-type",
    index_label="training.kubeflow.org/replica-index",
)
JOBSET = Kind(
    group="jobset.x-k8s.io",
    version="v1alpha2",
    plural="jobsets",
    kind="JobSet",
    name_label="jobset.sigs.k8s.io/jobset-name",
    role_label="jobset.sigs.k8s.io/replicatedjob-name",
    index_label="jobset.sigs.k8s.io/job-index",
)


@dataclass(frozen=True, kw_only=True)
class JobRequest:
    """One training job: the command that each pod runs, told apart by TF_CONFIG alone."""

    key: str  # of the run: the same key is the same training, also after a restart
    image: str
    command: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def job_name(self) -> str:
        """At most 40 characters, so that every pod's host name fits into 63."""
        digest = hashlib.sha256(self.key.encode()).hexdigest()[:8]
        readable = re.sub(r"[^a-z0-9]+", "-", self.key.lower()).strip("-")[:24].strip("-")
        return f"yt8m-{readable}-{digest}" if readable else f"yt8m-{digest}"


def kind_of(backend: KubernetesBackend) -> Kind:
    return TFJOB if isinstance(backend, TFJobBackend) else JOBSET


def create_manifest(backend: TFJobBackend | JobSetBackend, request: JobRequest) -> dict[str, Any]:
    """The object to create, with a digest of itself as annotation."""
    kind = kind_of(backend)
    is_tfjob = isinstance(backend, TFJobBackend)
    spec = _tfjob_spec(backend, request) if is_tfjob else _jobset_spec(backend, request)
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:16]
    return {
        "apiVersion": f"{kind.group}/{kind.version}",
        "kind": kind.kind,
        "metadata": {
            "name": request.job_name,
            "labels": {**backend.labels, "app.kubernetes.io/part-of": "yt8m"},
            "annotations": {**backend.annotations, DIGEST: digest, "yt8m/run-key": request.key},
        },
        "spec": spec,
    }


def _tfjob_spec(backend: KubernetesBackend, request: JobRequest) -> dict[str, Any]:
    pods = sum(config.replicas for config in backend.roles.values())
    return {
        "runPolicy": {
            "cleanPodPolicy": "Running",  # the workers and ps wait indefinitely otherwise
            # The job fails when the restarts of all its pods together reach this number.
            "backoffLimit": backend.restarts * pods + 1,
            "ttlSecondsAfterFinished": backend.keep_finished_s,
            **_deadline(backend),
        },
        "tfReplicaSpecs": {
            _TFJOB_ROLE[role]: {
                "replicas": config.replicas,
                # One lost process ends all of a multi-worker training with code 1: every one of
                # them must start again, and continues from the checkpoint.
                "restartPolicy": "OnFailure",
                "template": _pod(backend, request, config, extra=()),
            }
            for role, config in backend.roles.items()
        },
    }


def _jobset_spec(backend: KubernetesBackend, request: JobRequest) -> dict[str, Any]:
    return {
        "network": {"enableDNSHostnames": True, "subdomain": request.job_name},
        "successPolicy": {"operator": "All", "targetReplicatedJobs": ["chief"]},
        "failurePolicy": {
            "maxRestarts": backend.restarts,  # of all jobs together
            "rules": _FAILURE_RULES,
        },
        "ttlSecondsAfterFinished": backend.keep_finished_s,
        "replicatedJobs": [
            {
                "name": role,
                "replicas": config.replicas,
                "template": {
                    "spec": {
                        "parallelism": 1,
                        "completions": 1,
                        "completionMode": "Indexed",
                        "backoffLimit": 0,
                        "podFailurePolicy": {"rules": _POD_FAILURE_RULES},
                        **_deadline(backend),
                        "template": _jobset_pod(backend, request, role, config),
                    }
                },
            }
            for role, config in backend.roles.items()
        ],
    }


def _deadline(backend: KubernetesBackend) -> dict[str, int]:
    return {"activeDeadlineSeconds": backend.timeout_s} if backend.timeout_s else {}


def _jobset_pod(
    backend: KubernetesBackend, request: JobRequest, role: str, config: RoleConfig
) -> dict[str, Any]:
    label = f"metadata.labels['{JOBSET.index_label}']"
    extra = (
        {"name": _INDEX, "valueFrom": {"fieldRef": {"fieldPath": label}}},
        # Kubernetes puts the index in, because the variable stands before this one.
        {"name": "TF_CONFIG", "value": _tf_config(backend, request, role)},
    )
    pod = _pod(backend, request, config, extra=extra)
    pod["spec"]["restartPolicy"] = "Never"
    return pod


def _tf_config(backend: KubernetesBackend, request: JobRequest, role: str) -> str:
    name = request.job_name
    cluster = {
        other: [f"{name}-{other}-{i}-0.{name}:{PORT}" for i in range(config.replicas)]
        for other, config in backend.roles.items()
    }
    head = json.dumps({"cluster": cluster, "environment": "cloud"})
    return f'{head[:-1]}, "task": {{"type": "{role}", "index": $({_INDEX})}}}}'


def _pod(
    backend: KubernetesBackend,
    request: JobRequest,
    config: RoleConfig,
    *,
    extra: Sequence[Mapping[str, Any]],
) -> dict[str, Any]:
    environment = {**backend.environment, **request.environment}
    if config.gpus:
        environment[GPUS_VARIABLE] = str(config.gpus)
    container: dict[str, Any] = {
        "name": _CONTAINER,
        "image": request.image,
        "command": list(request.command),
        "env": [{"name": k, "value": v} for k, v in sorted(environment.items())] + list(extra),
        "ports": [{"containerPort": PORT, "name": "tfjob-port"}],
        # A failed process's last words are then in its pod's status.
        "terminationMessagePolicy": "FallbackToLogsOnError",
        # What a namespace demands whose Pod Security is `restricted`.
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    container |= _environment_from(backend)
    if resources := _resources(config):
        container["resources"] = resources
    spec: dict[str, Any] = {"containers": [container], "securityContext": _security(backend)}
    if backend.mounts:
        container["volumeMounts"] = [_mount(i, m) for i, m in enumerate(backend.mounts)]
        spec["volumes"] = [_volume(i, m) for i, m in enumerate(backend.mounts)]
    spec |= _scheduling(backend, config)
    # Istio's sidecar would cut the gRPC between the processes.
    annotations = {"sidecar.istio.io/inject": "false", **backend.annotations}
    metadata: dict[str, Any] = {"annotations": annotations}
    if backend.labels:
        metadata["labels"] = dict(backend.labels)
    return {"metadata": metadata, "spec": spec}


def _environment_from(backend: KubernetesBackend) -> dict[str, Any]:
    sources = [{"secretRef": {"name": name}} for name in backend.environment_secrets]
    sources += [{"configMapRef": {"name": name}} for name in backend.environment_config_maps]
    return {"envFrom": sources} if sources else {}


def _security(backend: KubernetesBackend) -> dict[str, Any]:
    security = {**backend.security.to_spec(), "seccompProfile": {"type": "RuntimeDefault"}}
    if backend.security.fs_group is not None:
        security["fsGroup"] = backend.security.fs_group
    return security


def _scheduling(backend: KubernetesBackend, config: RoleConfig) -> dict[str, Any]:
    tolerations = [t.to_spec() for t in backend.tolerations]
    if config.gpus and backend.gpu_toleration:
        toleration = {"key": config.gpu_resource, "operator": "Exists", "effect": "NoSchedule"}
        tolerations.append(toleration)
    required = [r.to_spec() for r in backend.node_affinity]
    terms = {"nodeSelectorTerms": [{"matchExpressions": required}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    spec = {
        "serviceAccountName": backend.service_account,
        "nodeSelector": dict(backend.node_selector),
        "affinity": affinity if required else {},
        "tolerations": tolerations,
        "priorityClassName": backend.priority_class,
        "imagePullSecrets": [{"name": name} for name in backend.image_pull_secrets],
    }
    return {name: value for name, value in spec.items() if value}


def _resources(config: RoleConfig) -> dict[str, Any]:
    gpus = {config.gpu_resource: str(config.gpus)} if config.gpus else {}
    given = {"limits": {**config.limits, **gpus}, "requests": {**config.requests, **gpus}}
    return {name: sizes for name, sizes in given.items() if sizes}


def _mount(index: int, mount: Mount) -> dict[str, Any]:
    fields: dict[str, Any] = {"name": f"volume-{index}", "mountPath": mount.path}
    if mount.sub_path:
        fields["subPath"] = mount.sub_path
    if mount.read_only:
        fields["readOnly"] = True
    return fields


def _volume(index: int, mount: Mount) -> dict[str, Any]:
    name = f"volume-{index}"
    if mount.secret:
        return {"name": name, "secret": {"secretName": mount.secret}}
    if mount.config_map:
        return {"name": name, "configMap": {"name": mount.config_map}}
    if mount.empty_dir is not None:
        fields = {"medium": mount.empty_dir.medium, "sizeLimit": mount.empty_dir.size}
        return {"name": name, "emptyDir": {key: value for key, value in fields.items() if value}}
    claim: dict[str, Any] = {"claimName": mount.claim}
    if mount.read_only:
        claim["readOnly"] = True
    return {"name": name, "persistentVolumeClaim": claim}
