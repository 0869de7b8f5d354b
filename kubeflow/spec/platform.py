"""A component's pod, written into the pipeline document and the platform document."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeVar

from yt8m.kubeflow.config import PlatformConfig
from yt8m.schemas.errors import ConfigError
from yt8m.schemas.kubernetes import GPUS_VARIABLE, EmptyDir, PodResources, parse_quantity

T = TypeVar("T")
_DEFAULT = "default"
_GIGA = 1e9


def add_platform(spec: dict[str, Any], platform: PlatformConfig) -> dict[str, Any]:
    """Set resources and environment in `spec`; the value is the platform document."""
    label_by_component = {
        task["componentRef"]["name"]: spec["components"][task["componentRef"]["name"]][
            "executorLabel"
        ]
        for task in spec["root"]["dag"]["tasks"].values()
    }
    _check_names(platform, set(label_by_component))
    _check_work_dir(platform)
    executors = {}
    for component, label in label_by_component.items():
        container = spec["deploymentSpec"]["executors"][label].get("container")
        if container is None:
            continue
        _set_container(container, component, platform)
        if pod := _pod(component, platform):
            executors[label] = pod
    if not executors:
        return {}
    return {"platforms": {"kubernetes": {"deploymentSpec": {"executors": executors}}}}


def platform_fields(document: Mapping[str, Any]) -> set[str]:
    """The fields that a platform document gives any pod."""
    content = document.get("platforms", {}).get("kubernetes", {}).get("deploymentSpec", {})
    return {name for pod in content.get("executors", {}).values() for name in pod}


def _set_container(container: dict[str, Any], component: str, platform: PlatformConfig) -> None:
    given = _for(platform.resources, component, PodResources())
    resources = _resources(given)
    if resources:
        container["resources"] = resources
    environment = dict(platform.environment)
    if given.gpus:
        environment[GPUS_VARIABLE] = str(given.gpus)
    if environment:
        container["env"] = [{"name": k, "value": v} for k, v in environment.items()]


def _resources(given: PodResources) -> dict[str, Any]:
    """CPUs and gigabytes, as Kubeflow writes them."""
    resources: dict[str, Any] = {}
    for kind, sizes in (("Limit", given.limits), ("Request", given.requests)):
        for name, size in sizes.items():
            unit = _GIGA if name == "memory" else 1.0
            resources[f"{name}{kind}"] = parse_quantity(size) / unit
    if given.gpus:
        resources["accelerator"] = {"type": given.gpu_resource, "count": str(given.gpus)}
    return resources


def _pod(component: str, platform: PlatformConfig) -> dict[str, Any]:
    mine = [v for v in platform.volumes if not v.components or component in v.components]
    pod: dict[str, Any] = {
        "pvcMount": [{"constant": v.claim, "mountPath": v.path} for v in mine if v.claim],
        "secretAsVolume": [{"secretName": v.secret, "mountPath": v.path} for v in mine if v.secret],
        "configMapAsVolume": [
            {"configMapName": v.config_map, "mountPath": v.path} for v in mine if v.config_map
        ],
        "emptyDirMounts": [_empty_dir(v.path, v.empty_dir) for v in mine if v.empty_dir],
        "secretAsEnv": [
            {
                "secretName": s.secret,
                "keyToEnv": [{"secretKey": s.key, "envVar": s.variable}],
            }
            for s in platform.secrets
        ],
        "configMapAsEnv": [
            {
                "configMapName": c.config_map,
                "keyToEnv": [{"configMapKey": c.key, "envVar": c.variable}],
            }
            for c in platform.config_maps
        ],
        "imagePullSecret": [{"secretName": name} for name in platform.image_pull_secrets],
        "imagePullPolicy": platform.image_pull_policy,
    }
    labels = _for(platform.node_selector, component, {})
    pod["nodeSelector"] = {"labels": dict(labels)} if labels else {}
    required = [r.to_spec() for r in _for(platform.node_affinity, component, ())]
    pod["nodeAffinity"] = [{"matchExpressions": required}] if required else []
    pod["tolerations"] = [t.to_spec() for t in _for(platform.tolerations, component, ())]
    given = {
        "labels": dict(_for(platform.labels, component, {})),
        "annotations": dict(_for(platform.annotations, component, {})),
    }
    pod["podMetadata"] = {key: texts for key, texts in given.items() if texts}
    pod["activeDeadlineSeconds"] = _for(platform.timeout_s, component, 0)
    pod["securityContext"] = platform.security.to_spec() if platform.security else {}
    return {key: value for key, value in pod.items() if value}


def _empty_dir(path: str, given: EmptyDir) -> dict[str, str]:
    """Kubeflow's own field for shared memory is one that its driver does not read."""
    fields = {"volumeName": re.sub(r"[^a-z0-9]+", "-", f"empty{path.lower()}").strip("-")}
    fields |= {"mountPath": path, "medium": given.medium, "sizeLimit": given.size}
    return {key: value for key, value in fields.items() if value}


def _for(by_component: Mapping[str, T], component: str, otherwise: T) -> T:
    return by_component.get(component, by_component.get(_DEFAULT, otherwise))


def _check_work_dir(platform: PlatformConfig) -> None:
    """A directory on no volume would be lost with each pod, without a word."""
    shared = [v.path.rstrip("/") for v in platform.volumes if v.claim and not v.components]
    work_dir = platform.work_dir
    if work_dir and not any(f"{work_dir}/".startswith(f"{path}/") for path in shared):
        known = ", ".join(sorted(shared)) or "none"
        raise ConfigError(
            f"kubeflow.work_dir: {work_dir} lies on no volume that every component mounts "
            f"(there: {known}); add {{claim: NAME, path: ...}} above it to kubeflow.volumes"
        )


def _check_names(platform: PlatformConfig, components: set[str]) -> None:
    named = {
        "kubeflow.resources": set(platform.resources) - {_DEFAULT},
        "kubeflow.node_selector": set(platform.node_selector) - {_DEFAULT},
        "kubeflow.node_affinity": set(platform.node_affinity) - {_DEFAULT},
        "kubeflow.tolerations": set(platform.tolerations) - {_DEFAULT},
        "kubeflow.labels": set(platform.labels) - {_DEFAULT},
        "kubeflow.annotations": set(platform.annotations) - {_DEFAULT},
        "kubeflow.timeout_s": set(platform.timeout_s) - {_DEFAULT},
        "kubeflow.volumes": {c for v in platform.volumes for c in v.components},
    }
    known = ", ".join(sorted(components))
    problems = [
        f"{path}: no component {name!r} in this pipeline; there are {known}"
        for path, names in named.items()
        for name in sorted(names - components)
    ]
    if problems:
        raise ConfigError(problems)
