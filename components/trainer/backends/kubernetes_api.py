"""The few calls of the Kubernetes API that a training job needs, retried as far as is safe."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from yt8m.components.trainer.backends.kubernetes_manifest import Kind
from yt8m.schemas.errors import UserError, Yt8mError

T = TypeVar("T")
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_TIMEOUT_S = (10, 60)
_LONGEST_WAIT_S = 15.0
# An API server that starts refuses what it allows a moment later: it has not read its roles yet.
_REFUSED_FOR_S = 10.0
_JOBS, _PODS, _LOGS, _EVENTS = "jobs", "pods", "pods/log", "events"
_log = logging.getLogger(__name__)


class ForbiddenError(UserError):
    """The service account may not do this."""


@dataclass(frozen=True)
class Clock:
    """Time, handed in so that tests need not wait."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


class KubernetesApi:
    """A namespace's jobs of one kind, and their pods, through the official client."""

    def __init__(
        self,
        kind: Kind,
        namespace: str,
        client: Any,
        *,
        patience_s: float = 600.0,
        clock: Clock | None = None,
    ) -> None:
        from kubernetes import client as k8s

        self._kind, self.namespace = kind, namespace
        self._patience_s, self.clock = patience_s, clock or Clock()
        self._can_read_logs = self._can_read_events = True
        self._allowed: set[str] = set()  # what this account has been let do already
        self._objects, self._core = k8s.CustomObjectsApi(client), k8s.CoreV1Api(client)
        self._client = client

    def create(self, manifest: Mapping[str, Any]) -> bool:
        """False where the name is taken; an unsure attempt is repeated, and is told by that."""
        made = self._post(manifest)
        if made is None:
            return False
        try:
            self._check_kept(manifest, made)
        except UserError:
            metadata = made["metadata"]
            self.delete(metadata["name"], uid=metadata.get("uid", ""))
            raise
        return True

    def try_out(self, manifest: Mapping[str, Any]) -> None:
        """Ask the server for all that it would say to a `create`, without one."""
        made = self._post(manifest, dry_run="All")
        if made is not None:
            self._check_kept(manifest, made)

    def _post(self, manifest: Mapping[str, Any], **how: str) -> dict[str, Any] | None:
        """The stored object; None where its name is taken."""
        where = (self._kind.group, self._kind.version, self.namespace, self._kind.plural)
        made: dict[str, Any] | None = self._try(
            lambda: self._objects.create_namespaced_custom_object(
                *where, dict(manifest), _request_timeout=_TIMEOUT_S, **how
            ),
            allowed=409,
        )
        return made

    def _check_kept(self, manifest: Mapping[str, Any], stored: Mapping[str, Any]) -> None:
        """An operator too old for a field leaves it out without a word."""
        if dropped := _dropped(manifest["spec"], stored["spec"], "spec"):
            raise UserError(
                f"this cluster's {self._kind.kind} is too old: it does not have {dropped}; "
                "docs/kubeflow.md names the version that is needed"
            )

    def get(self, name: str) -> dict[str, Any] | None:
        return self._try(
            lambda: self._objects.get_namespaced_custom_object(
                *self._where(name), _request_timeout=_TIMEOUT_S
            ),
            allowed=404,
        )

    def delete(self, name: str, *, uid: str = "") -> None:
        """The job and its pods; not being there is success, and so is another one in its place."""
        body: dict[str, Any] = {"propagationPolicy": "Foreground"}
        if uid:
            body["preconditions"] = {"uid": uid}
        self._try(
            lambda: self._objects.delete_namespaced_custom_object(
                *self._where(name), body=body, _request_timeout=_TIMEOUT_S
            ),
            allowed=(404, 409),
        )

    def workflows_of(self, pod: str) -> list[dict[str, Any]]:
        """Owner references to the Workflow that runs `pod`; none outside of Kubeflow."""
        try:
            described = self._pod(pod)
        except ForbiddenError as error:
            _log.warning("%s; the job will outlive its Workflow", error)
            return []
        owners = (described.metadata.owner_references if described is not None else None) or []
        return [
            {"apiVersion": o.api_version, "kind": o.kind, "name": o.name, "uid": o.uid}
            for o in owners
            if o.kind == "Workflow"
        ]

    def is_running(self, pod: str) -> bool:
        """Whether the pod is there, has not ended, and is not about to go."""
        try:
            described = self._pod(pod)
        except ForbiddenError:  # its heartbeat alone tells, then
            return False
        if described is None or described.metadata.deletion_timestamp is not None:
            return False
        return bool(
            described.status is not None and described.status.phase in ("Pending", "Running")
        )

    def _pod(self, name: str) -> Any:
        return self._try(
            lambda: self._core.read_namespaced_pod(
                name, self.namespace, _request_timeout=_TIMEOUT_S
            ),
            allowed=404,
            what=_PODS,
        )

    def take_over(self, job: Mapping[str, Any], metadata: Mapping[str, Any]) -> bool:
        """Merge `metadata` into that of the job; False where somebody else has changed it since."""
        job_metadata = job["metadata"]
        body = {"metadata": {**metadata, "resourceVersion": job_metadata["resourceVersion"]}}
        made = self._try(
            lambda: self._objects.patch_namespaced_custom_object(
                *self._where(job_metadata["name"]), body, _request_timeout=_TIMEOUT_S
            ),
            allowed=(404, 409),
        )
        return made is not None

    def pods(self, name: str) -> list[dict[str, Any]]:
        selector = f"{self._kind.name_label}={name}"
        answer = self._try(
            lambda: self._core.list_namespaced_pod(
                self.namespace, label_selector=selector, _request_timeout=_TIMEOUT_S
            ),
            what=_PODS,
        )
        items = answer.items if answer is not None else []
        return [self._client.sanitize_for_serialization(pod) for pod in items]

    def warnings(self, name: str) -> list[dict[str, Any]]:
        """The warnings about the job and what was made of it; none where they may not be read."""
        if not self._can_read_events:
            return []
        try:
            answer = self._try(
                lambda: self._core.list_namespaced_event(
                    self.namespace, field_selector="type=Warning", _request_timeout=_TIMEOUT_S
                ),
                what=_EVENTS,
            )
        except ForbiddenError as error:
            self._can_read_events = False
            _log.warning("%s; the reasons for missing pods are not shown", error)
            return []
        items = answer.items if answer is not None else []
        events = [self._client.sanitize_for_serialization(event) for event in items]
        return [e for e in events if e.get("involvedObject", {}).get("name", "").startswith(name)]

    def log(self, pod: str, *, tail: int | None) -> str:
        """The last lines, or all, with timestamps.

        Empty while the container does not run yet, or where forbidden.
        """
        if not self._can_read_logs:
            return ""
        more = {} if tail is None else {"tail_lines": tail}
        try:
            text = self._try(
                lambda: self._core.read_namespaced_pod_log(
                    pod, self.namespace, timestamps=True, _request_timeout=_TIMEOUT_S, **more
                ),
                allowed=(400, 404),
                what=_LOGS,
            )
        except ForbiddenError as error:
            self._can_read_logs = False
            _log.warning("%s; going on without the chief's log", error)
            return ""
        return text or ""

    def _where(self, name: str) -> tuple[str, str, str, str, str]:
        kind = self._kind
        return kind.group, kind.version, self.namespace, kind.plural, name

    def _try(
        self, call: Callable[[], T], *, allowed: int | tuple[int, ...] = (), what: str = _JOBS
    ) -> T | None:
        """`call`, again on connection errors, 429 and 5xx; None where the status is `allowed`.

        The pods train on while the API server is away, so it is waited for in minutes. So is what
        it refuses to one whom it let do the same before: it starts, or a role is being changed.
        """
        import urllib3
        from kubernetes.client.exceptions import ApiException

        expected = (allowed,) if isinstance(allowed, int) else allowed
        began = self.clock.now()
        wait_s, deadline = 0.5, began + self._patience_s
        refused_until = deadline if what in self._allowed else began + _REFUSED_FOR_S
        is_first = True
        while True:
            try:
                answer = call()
            except ApiException as error:
                if error.status in expected:
                    return None
                is_refused = _is_refused(error) and self.clock.now() + wait_s <= refused_until
                if not (is_refused or error.status == 429 or error.status >= 500):
                    raise self._explain(error) from None
                reason = f"{error.status} {_said(error)}"
            except urllib3.exceptions.HTTPError as error:
                reason = str(error)
            else:
                self._allowed.add(what)
                return answer
            if self.clock.now() + wait_s > deadline:
                raise Yt8mError(
                    f"the Kubernetes API has not answered for {self._patience_s:.0f} s "
                    f"(trainer.backend.api_timeout_s): {reason}"
                )
            if is_first:
                _log.warning("the Kubernetes API does not answer, trying again: %s", reason)
            is_first = False
            self.clock.sleep(wait_s)
            wait_s = min(2 * wait_s, _LONGEST_WAIT_S)

    def _explain(self, error: Any) -> Yt8mError:
        said, kind = _said(error), self._kind
        if _is_refused(error):
            return ForbiddenError(
                f"Kubernetes: {said}; the service account needs get, list, create, patch and "
                f"delete on {kind.plural}.{kind.group} and get, list on pods, pods/log and events"
            )
        if error.status == 404:
            return UserError(
                f"Kubernetes does not have {kind.plural}.{kind.group}: its operator is "
                "not installed in this cluster"
            )
        return UserError(f"Kubernetes refused the {kind.kind} ({error.status}): {said}")


def _dropped(given: Any, stored: Any, path: str) -> str:
    """The first field of `given` that the server has not kept; empty where it has them all."""
    if isinstance(given, Mapping):
        for key, value in given.items():
            # Empty values may be left out.
            if value and key not in stored:
                return f"{path}.{key}"
            if path_dropped := _dropped(value, stored.get(key), f"{path}.{key}"):
                return path_dropped
    elif isinstance(given, list):
        for index, value in enumerate(given):
            if path_dropped := _dropped(value, stored[index], f"{path}[{index}]"):
                return path_dropped
    return ""


def _is_refused(error: Any) -> bool:
    """By RBAC; a quota is a 403 as well."""
    return bool(error.status == 403 and "cannot " in _said(error))


def _said(error: Any) -> str:
    """The server's own words: a webhook's, a quota's."""
    try:
        return str(json.loads(error.body or "{}").get("message") or error.reason)
    except ValueError:
        return str(error.reason)


def connect(kind: Kind, namespace: str, *, patience_s: float) -> KubernetesApi:
    """The jobs of `kind` in `namespace`, or in the one that this process belongs to."""
    client, own = reach_cluster()
    return KubernetesApi(kind, namespace or own or "default", client, patience_s=patience_s)


def reach_cluster() -> tuple[Any, str]:
    """The API as a pod reaches it, or as kubectl does from outside; and the own namespace."""
    import yaml
    from kubernetes import client, config

    try:
        config.load_incluster_config()
        there = _NAMESPACE_FILE.exists()
        own = _NAMESPACE_FILE.read_text(encoding="utf-8").strip() if there else ""
    except config.ConfigException:
        try:
            config.load_kube_config()
            _, context = config.list_kube_config_contexts()
        except (config.ConfigException, OSError, yaml.YAMLError) as error:
            raise UserError(f"no Kubernetes cluster: not in a pod, and {error}") from error
        own = context["context"].get("namespace", "")
    return client.ApiClient(), own
