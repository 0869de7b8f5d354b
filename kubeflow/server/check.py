"""Check that the cluster has everything that a compiled pipeline needs, before its first run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any

from yt8m.components import storage
from yt8m.kubeflow.cluster_needs import (
    MISSING,
    OK,
    TIMEOUT_S,
    UNKNOWN,
    ClusterAccess,
    Finding,
    asked,
    check_needs,
    needs_of,
)
from yt8m.kubeflow.spec.lint import find_problems
from yt8m.kubeflow.spec_file import Spec
from yt8m.schemas.errors import Yt8mError

_PLURALS = {"jobset": "jobsets", "tfjob": "tfjobs"}


def check(spec: Spec, cluster: ClusterAccess) -> list[Finding]:
    """Every permission, claim, secret, image and root that `spec` names, one after another."""
    backend = trainer_backend(spec)
    return [
        *(_not_sound(spec)),
        *(_permission(cluster, *needed) for needed in needed_permissions(backend)),
        *check_needs(needs_of(spec.pipeline, spec.platform, backend), cluster, modes=True),
        *(_image(image) for image in _images(spec, backend)),
        _root(spec.root),
    ]


def trainer_backend(spec: Spec) -> Mapping[str, Any]:
    """The node `trainer.backend` that was compiled into the pipeline."""
    custom = spec.constant("Trainer", "custom_config")
    backend: Mapping[str, Any] = custom.get("config", {}).get("backend", {})
    return backend


def needed_permissions(backend: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """(API group, resource, verb) of the shipped Role, as far as this backend uses them."""
    import yaml

    mine = _PLURALS.get(str(backend.get("name")))
    if mine is None:  # it trains in its own pod, and asks nobody
        return []
    text = resources.files("yt8m.kubeflow").joinpath("rbac.yaml").read_text(encoding="utf-8")
    role = next(d for d in yaml.safe_load_all(text) if d["kind"] == "Role")
    return [
        (rule["apiGroups"][0], resource, verb)
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        if resource == mine or resource not in _PLURALS.values()
    ]


def _not_sound(spec: Spec) -> Iterator[Finding]:
    for where, problem in find_problems(spec.pipeline, spec.platform):
        yield Finding(kind="spec", name=where, state=MISSING, detail=problem)


def _permission(cluster: ClusterAccess, group: str, resource: str, verb: str) -> Finding:
    from kubernetes import client as k8s

    main, _, sub = resource.partition("/")
    access = k8s.V1ResourceAttributes(
        group=group, resource=main, subresource=sub or None, verb=verb, namespace=cluster.namespace
    )
    api = k8s.AuthorizationV1Api(cluster.client)
    if cluster.account:
        user = f"system:serviceaccount:{cluster.namespace}:{cluster.account}"
        review = k8s.V1SubjectAccessReview(
            spec=k8s.V1SubjectAccessReviewSpec(resource_attributes=access, user=user)
        )
        ask = api.create_subject_access_review
    else:
        review = k8s.V1SelfSubjectAccessReview(
            spec=k8s.V1SelfSubjectAccessReviewSpec(resource_attributes=access)
        )
        ask = api.create_self_subject_access_review
    name = f"{verb} {resource}{'.' if group else ''}{group}"
    answer, why = asked(lambda: ask(review, _request_timeout=TIMEOUT_S))
    if answer is None:
        return Finding(kind="permission", name=name, state=UNKNOWN, detail=why)
    if answer.status.allowed:
        return Finding(kind="permission", name=name, state=OK)
    return Finding(kind="permission", name=name, state=MISSING, detail="kubeflow/rbac.yaml")


def _image(image: str) -> Finding:
    """A registry's answer from here says nothing of what a node may pull; a moving tag does."""
    name, _, tag = image.rpartition("/")[2].partition(":")
    if "@sha256:" in image or (tag and tag != "latest"):
        return Finding(kind="image", name=image, state=OK, detail="pinned; not pulled")
    detail = f"{name} has no tag that stays: two runs may be of different code"
    return Finding(kind="image", name=image, state=UNKNOWN, detail=detail)


def _root(root: str) -> Finding:
    if root.startswith("minio://"):
        detail = "an address inside of the cluster; the kfp-launcher ConfigMap leads to it"
        return Finding(kind="root", name=root, state=UNKNOWN, detail=detail)
    scheme, _, rest = root.partition("://")
    try:
        storage.list_dir(f"{scheme}://{rest.partition('/')[0]}")
    except FileNotFoundError:
        return Finding(kind="root", name=root, state=MISSING, detail="no such bucket")
    except (OSError, Yt8mError) as error:
        return Finding(kind="root", name=root, state=UNKNOWN, detail=f"from here: {error}")
    return Finding(kind="root", name=root, state=OK, detail="reached from here")


def _images(spec: Spec, backend: Mapping[str, Any]) -> list[str]:
    executors = spec.pipeline.get("deploymentSpec", {}).get("executors", {}).values()
    images = {e["container"]["image"] for e in executors if "container" in e}
    return sorted(images | ({backend["image"]} if backend.get("image") else set()))
