"""Objects of a cluster that a compiled pipeline's pods need by name, and whether they exist.

`yt8m kubeflow check` asks before the first night, with the user's rights; the first pod of each run
asks with its own. The API server answers both alike.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

OK, MISSING, UNKNOWN = "ok", "missing", "not known"
TIMEOUT_S = (5, 30)
_SHARED = "ReadWriteMany"
_GONE = "there is none of this name"
_SECRETS = ("secretAsVolume", "imagePullSecret", "secretAsEnv")
_CONFIG_MAPS = ("configMapAsVolume", "configMapAsEnv")


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


@dataclass(frozen=True, kw_only=True)
class ClusterNeeds:
    """Names of what the tasks' pods and the Trainer's job mount, read, and are scheduled for."""

    claims: Sequence[str] = ()
    secrets: Mapping[str, Sequence[str]] = field(default_factory=dict)  # keys by name
    config_maps: Mapping[str, Sequence[str]] = field(default_factory=dict)  # keys by name
    gpus: Mapping[str, int] = field(default_factory=dict)  # most of one pod, by resource

    def to_json(self) -> str:
        """Write them for the first pod."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> ClusterNeeds:
        """Read what `to_json` wrote."""
        return cls(**json.loads(text))


def needs_of(
    pipeline: Mapping[str, Any], platform: Mapping[str, Any], backend: Mapping[str, Any]
) -> ClusterNeeds:
    """Collect the needs of all tasks of the two documents, and of the job of `trainer.backend`."""
    pods = _pods(platform)
    mounts = backend.get("mounts", [])
    claims = [m["constant"] for pod in pods for m in pod.get("pvcMount", [])]
    claims += [m["claim"] for m in mounts if m.get("claim")]
    secrets = [m["secret"] for m in mounts if m.get("secret")]
    secrets += [*backend.get("environment_secrets", []), *backend.get("image_pull_secrets", [])]
    config_maps = [m["config_map"] for m in mounts if m.get("config_map")]
    config_maps += backend.get("environment_config_maps", [])
    return ClusterNeeds(
        claims=sorted(set(claims)),
        secrets=_with_keys(pods, _SECRETS, "secret", secrets),
        config_maps=_with_keys(pods, _CONFIG_MAPS, "configMap", config_maps),
        gpus=_most(_gpus(pipeline, backend)),
    )


def check_needs(needs: ClusterNeeds, cluster: ClusterAccess, *, modes: bool) -> Iterator[Finding]:
    """Look each of them up; `modes`: whether a claim that one node alone can mount is missing."""
    from kubernetes import client as k8s

    api = k8s.CoreV1Api(cluster.client)
    for name in needs.claims:
        yield _claim(api, name, cluster, modes=modes)
    for kind, read, wanted in (
        ("secret", api.read_namespaced_secret, needs.secrets),
        ("config map", api.read_namespaced_config_map, needs.config_maps),
    ):
        for name, keys in sorted(wanted.items()):
            yield _keyed(kind, read, name, keys, cluster)
    for resource, count in sorted(needs.gpus.items()):
        yield _nodes(api, resource, count)


def _claim(api: Any, name: str, cluster: ClusterAccess, *, modes: bool) -> Finding:
    claim, why = _look(api.read_namespaced_persistent_volume_claim, name, cluster)
    if claim is None:
        state = MISSING if why == _GONE else UNKNOWN
        return Finding(kind="claim", name=name, state=state, detail=why)
    own = claim.spec.access_modes or []
    if modes and _SHARED not in own:
        detail = f"{', '.join(own)}: pods on several nodes need {_SHARED}"
        return Finding(kind="claim", name=name, state=MISSING, detail=detail)
    phase = claim.status.phase
    state = OK if phase == "Bound" else UNKNOWN
    return Finding(kind="claim", name=name, state=state, detail="" if state == OK else phase)


def _keyed(
    kind: str, read: Callable[..., Any], name: str, keys: Sequence[str], cluster: ClusterAccess
) -> Finding:
    content, why = _look(read, name, cluster)
    if content is None:
        state = MISSING if why == _GONE else UNKNOWN
        return Finding(kind=kind, name=name, state=state, detail=why)
    lacking = sorted(set(keys) - set(content.data or {}))
    detail = f"it has no key {', '.join(lacking)}" if lacking else ""
    return Finding(kind=kind, name=name, state=MISSING if lacking else OK, detail=detail)


def _nodes(api: Any, resource: str, count: int) -> Finding:
    """Whether a node has that many GPUs. A pool may grow from no node, so none is not missing."""
    name = f"{count} {resource}"
    nodes, why = asked(lambda: api.list_node(_request_timeout=TIMEOUT_S))
    if nodes is None:
        return Finding(kind="gpu", name=name, state=UNKNOWN, detail=why)
    most = max((int((n.status.allocatable or {}).get(resource, 0)) for n in nodes.items), default=0)
    if most >= count:
        return Finding(kind="gpu", name=name, state=OK)
    detail = f"no node has more than {most} now; pods wait until one does"
    return Finding(kind="gpu", name=name, state=UNKNOWN, detail=detail)


def asked(call: Callable[[], Any]) -> tuple[Any, str]:
    """The answer, or None and why there is none."""
    import urllib3
    from kubernetes.client.exceptions import ApiException

    try:
        return call(), ""
    except ApiException as error:
        return None, _GONE if error.status == 404 else f"{error.status} {error.reason}"
    except urllib3.exceptions.HTTPError as error:
        return None, str(error)


def _look(read: Callable[..., Any], name: str, cluster: ClusterAccess) -> tuple[Any, str]:
    return asked(lambda: read(name, cluster.namespace, _request_timeout=TIMEOUT_S))


def _pods(platform: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = platform.get("platforms", {}).get("kubernetes", {}).get("deploymentSpec", {})
    return list(content.get("executors", {}).values())


def _with_keys(
    pods: Sequence[Mapping[str, Any]], fields: Sequence[str], what: str, others: Sequence[str]
) -> dict[str, Sequence[str]]:
    """The keys that tasks want, by the name of the secret or ConfigMap; of `others` no key."""
    keys: dict[str, set[str]] = {name: set() for name in others}
    for pod in pods:
        for given in (given for name in fields for given in pod.get(name, [])):
            of_name = keys.setdefault(given[f"{what}Name"], set())
            of_name |= {pair[f"{what}Key"] for pair in given.get("keyToEnv", [])}
    # By name, because a compiled pipeline lists its executors in any order (protobuf's maps).
    return {name: sorted(of_name) for name, of_name in sorted(keys.items())}


def _gpus(pipeline: Mapping[str, Any], backend: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for executor in pipeline.get("deploymentSpec", {}).get("executors", {}).values():
        resources = executor.get("container", {}).get("resources", {})
        if accelerator := resources.get("accelerator"):
            yield accelerator["type"], int(accelerator["count"])
    for role in backend.get("roles", {}).values():
        if role.get("gpus"):
            yield role["gpu_resource"], int(role["gpus"])


def _most(counts: Iterable[tuple[str, int]]) -> dict[str, int]:
    most: dict[str, int] = {}
    for resource, count in counts:
        most[resource] = max(count, most.get(resource, 0))
    return dict(sorted(most.items()))
