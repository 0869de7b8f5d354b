"""Does the cluster have what a compiled pipeline asks of it? Asked before its first night."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any

from yt8m.components import storage
from yt8m.kubeflow.spec.lint import find_problems
from yt8m.kubeflow.spec.spec_file import Spec
from yt8m.schemas.errors import Yt8mError

OK, MISSING, UNKNOWN = "ok", "missing", "not known"
_PLURALS = {"jobset": "jobsets", "tfjob": "tfjobs"}
_SHARED = "ReadWriteMany"
_GONE = "there is none of this name"
_TIMEOUT_S = (5, 30)


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One thing that the pipeline needs, and whether it is there."""

    kind: str
    name: str
    state: str
    detail: str = ""


@dataclass(frozen=True)
class ClusterAccess:
    """The namespace that the pipeline will run in, and who asks there."""

    client: Any  # kubernetes.client.ApiClient, which publishes no types
    namespace: str
    account: str = ""  # whose permissions are asked for; empty: those of the caller


def check(spec: Spec, cluster: ClusterAccess) -> list[Finding]:
    """Every permission, claim, secret, image and root that `spec` names, one after another."""
    backend = trainer_backend(spec)
    return [
        *(_not_sound(spec)),
        *(_permission(cluster, *asked) for asked in needed_permissions(backend)),
        *_claims(spec, backend, cluster),
        *_secrets(spec, backend, cluster),
        *_config_maps(spec, backend, cluster),
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
    asked = k8s.V1ResourceAttributes(
        group=group, resource=main, subresource=sub or None, verb=verb, namespace=cluster.namespace
    )
    api = k8s.AuthorizationV1Api(cluster.client)
    if cluster.account:
        user = f"system:serviceaccount:{cluster.namespace}:{cluster.account}"
        review = k8s.V1SubjectAccessReview(
            spec=k8s.V1SubjectAccessReviewSpec(resource_attributes=asked, user=user)
        )
        ask = api.create_subject_access_review
    else:
        review = k8s.V1SelfSubjectAccessReview(
            spec=k8s.V1SelfSubjectAccessReviewSpec(resource_attributes=asked)
        )
        ask = api.create_self_subject_access_review
    name = f"{verb} {resource}{'.' if group else ''}{group}"
    answer, why = _asked(lambda: ask(review, _request_timeout=_TIMEOUT_S))
    if answer is None:
        return Finding(kind="permission", name=name, state=UNKNOWN, detail=why)
    if answer.status.allowed:
        return Finding(kind="permission", name=name, state=OK)
    return Finding(kind="permission", name=name, state=MISSING, detail="kubeflow/rbac.yaml")


def _claims(spec: Spec, backend: Mapping[str, Any], cluster: ClusterAccess) -> Iterator[Finding]:
    from kubernetes import client as k8s

    api = k8s.CoreV1Api(cluster.client)
    named = [m["constant"] for pod in _pods(spec) for m in pod.get("pvcMount", [])]
    named += [m["claim"] for m in backend.get("mounts", []) if m.get("claim")]
    for name in sorted(set(named)):
        found, why = _look(api.read_namespaced_persistent_volume_claim, name, cluster)
        if found is None:
            state = MISSING if why == _GONE else UNKNOWN
            yield Finding(kind="claim", name=name, state=state, detail=why)
        elif _SHARED not in (found.spec.access_modes or []):
            modes = ", ".join(found.spec.access_modes or [])
            detail = f"{modes}: pods on several nodes need {_SHARED}"
            yield Finding(kind="claim", name=name, state=MISSING, detail=detail)
        else:
            phase = found.status.phase
            state = OK if phase == "Bound" else UNKNOWN
            yield Finding(kind="claim", name=name, state=state, detail="" if state == OK else phase)


def _secrets(spec: Spec, backend: Mapping[str, Any], cluster: ClusterAccess) -> Iterator[Finding]:
    from kubernetes import client as k8s

    api = k8s.CoreV1Api(cluster.client)
    fields = ("secretAsVolume", "imagePullSecret", "secretAsEnv")
    keys = _keys_in_pods(spec, fields, "secret")
    of_job = _named_by(backend, "secret", ("environment_secrets", "image_pull_secrets"))
    wanted: dict[str, set[str]] = {**{name: set() for name in of_job}, **keys}
    yield from _with_keys("secret", api.read_namespaced_secret, wanted, cluster)


def _config_maps(
    spec: Spec, backend: Mapping[str, Any], cluster: ClusterAccess
) -> Iterator[Finding]:
    from kubernetes import client as k8s

    api = k8s.CoreV1Api(cluster.client)
    keys = _keys_in_pods(spec, ("configMapAsVolume", "configMapAsEnv"), "configMap")
    of_job = _named_by(backend, "config_map", ("environment_config_maps",))
    wanted: dict[str, set[str]] = {**{name: set() for name in of_job}, **keys}
    yield from _with_keys("config map", api.read_namespaced_config_map, wanted, cluster)


def _with_keys(
    kind: str,
    read: Callable[..., Any],
    wanted: Mapping[str, set[str]],
    cluster: ClusterAccess,
) -> Iterator[Finding]:
    for name, keys in sorted(wanted.items()):
        found, why = _look(read, name, cluster)
        if found is None:
            state = MISSING if why == _GONE else UNKNOWN
            yield Finding(kind=kind, name=name, state=state, detail=why)
            continue
        lacking = sorted(keys - set(found.data or {}))
        detail = f"it has no key {', '.join(lacking)}" if lacking else ""
        yield Finding(kind=kind, name=name, state=MISSING if lacking else OK, detail=detail)


def _keys_in_pods(spec: Spec, fields: Sequence[str], what: str) -> dict[str, set[str]]:
    """The keys that tasks want, by the name of the secret or ConfigMap."""
    found: dict[str, set[str]] = {}
    for pod in _pods(spec):
        for given in (given for field in fields for given in pod.get(field, [])):
            keys = found.setdefault(given[f"{what}Name"], set())
            keys |= {pair[f"{what}Key"] for pair in given.get("keyToEnv", [])}
    return found


def _named_by(backend: Mapping[str, Any], mounted: str, fields: Sequence[str]) -> list[str]:
    """What the Trainer's job wants as a whole."""
    names = [m[mounted] for m in backend.get("mounts", []) if m.get(mounted)]
    return names + [name for field in fields for name in backend.get(field, [])]


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


def _look(read: Callable[..., Any], name: str, cluster: ClusterAccess) -> tuple[Any, str]:
    return _asked(lambda: read(name, cluster.namespace, _request_timeout=_TIMEOUT_S))


def _asked(call: Callable[[], Any]) -> tuple[Any, str]:
    """The answer, or None and why there is none."""
    import urllib3
    from kubernetes.client.exceptions import ApiException

    try:
        return call(), ""
    except ApiException as error:
        return None, _GONE if error.status == 404 else f"{error.status} {error.reason}"
    except urllib3.exceptions.HTTPError as error:
        return None, str(error)


def _pods(spec: Spec) -> list[Mapping[str, Any]]:
    content = spec.platform.get("platforms", {}).get("kubernetes", {}).get("deploymentSpec", {})
    return list(content.get("executors", {}).values())


def _images(spec: Spec, backend: Mapping[str, Any]) -> list[str]:
    executors = spec.pipeline.get("deploymentSpec", {}).get("executors", {}).values()
    found = {e["container"]["image"] for e in executors if "container" in e}
    return sorted(found | ({backend["image"]} if backend.get("image") else set()))
