"""The few calls of the Kubernetes API that a training job needs, retried as far as is safe."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from yt8m.components.trainer.backends.kubernetes_manifest import Kind
from yt8m.schemas.errors import UserError, Yt8mError

T = TypeVar("T")
_NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_TIMEOUT_S = (10, 60)


class KubernetesApi:
    """A namespace's jobs of one kind, and their pods, through the official client."""

    def __init__(
        self,
        kind: Kind,
        namespace: str,
        client: Any,
        *,
        attempts: int = 6,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        from kubernetes import client as k8s

        self._kind, self._namespace = kind, namespace
        self._attempts, self._sleep = attempts, sleep
        self._objects, self._core = k8s.CustomObjectsApi(client), k8s.CoreV1Api(client)
        self._client = client

    def create(self, manifest: Mapping[str, Any]) -> bool:
        """False where the name is taken; an unsure attempt is repeated, and is told by that."""
        where = (self._kind.group, self._kind.version, self._namespace, self._kind.plural)
        made = self._try(
            lambda: self._objects.create_namespaced_custom_object(
                *where, dict(manifest), _request_timeout=_TIMEOUT_S
            ),
            allowed=409,
        )
        return made is not None

    def get(self, name: str) -> dict[str, Any] | None:
        return self._try(
            lambda: self._objects.get_namespaced_custom_object(
                *self._where(name), _request_timeout=_TIMEOUT_S
            ),
            allowed=404,
        )

    def delete(self, name: str) -> None:
        """The job and its pods; not being there is success."""
        self._try(
            lambda: self._objects.delete_namespaced_custom_object(
                *self._where(name), propagation_policy="Foreground", _request_timeout=_TIMEOUT_S
            ),
            allowed=404,
        )

    def pods(self, name: str) -> list[dict[str, Any]]:
        selector = f"{self._kind.name_label}={name}"
        found = self._try(
            lambda: self._core.list_namespaced_pod(
                self._namespace, label_selector=selector, _request_timeout=_TIMEOUT_S
            )
        )
        items = found.items if found is not None else []
        return [self._client.sanitize_for_serialization(pod) for pod in items]

    def log(self, pod: str, *, since_s: int | None) -> str:
        """Lines with timestamps; empty while the container does not run yet."""
        more = {} if since_s is None else {"since_seconds": since_s}
        text = self._try(
            lambda: self._core.read_namespaced_pod_log(
                pod, self._namespace, timestamps=True, _request_timeout=_TIMEOUT_S, **more
            ),
            allowed=(400, 404),
        )
        return text or ""

    def _where(self, name: str) -> tuple[str, str, str, str, str]:
        kind = self._kind
        return kind.group, kind.version, self._namespace, kind.plural, name

    def _try(self, call: Callable[[], T], *, allowed: int | tuple[int, ...] = ()) -> T | None:
        """`call`, again on connection errors, 429 and 5xx; None where the status is `allowed`."""
        import urllib3
        from kubernetes.client.exceptions import ApiException

        expected = (allowed,) if isinstance(allowed, int) else allowed
        for attempt in range(self._attempts):
            try:
                return call()
            except ApiException as error:
                if error.status in expected:
                    return None
                if not (error.status == 429 or error.status >= 500):
                    raise self._explain(error) from None
                reason = f"{error.status} {error.reason}"
            except urllib3.exceptions.HTTPError as error:
                reason = str(error)
            if attempt + 1 < self._attempts:
                self._sleep(min(2.0**attempt / 2, 15.0))
        raise Yt8mError(f"the Kubernetes API does not answer: {reason}")

    def _explain(self, error: Any) -> Yt8mError:
        import json

        try:
            said = json.loads(error.body or "{}").get("message") or error.reason
        except ValueError:
            said = error.reason
        if error.status == 403:
            return UserError(
                f"Kubernetes: {said}; the service account needs get, list, create and delete on "
                f"{self._kind.plural}.{self._kind.group} and get, list on pods and pods/log"
            )
        if error.status == 404:
            return UserError(
                f"Kubernetes knows no {self._kind.plural}.{self._kind.group}: its operator is "
                "not installed in this cluster"
            )
        return UserError(f"Kubernetes refused the {self._kind.kind} ({error.status}): {said}")


def connect(kind: Kind, namespace: str) -> KubernetesApi:
    """The API as a pod reaches it, or as kubectl does from outside."""
    from kubernetes import client, config

    try:
        config.load_incluster_config()
    except config.ConfigException:
        try:
            config.load_kube_config()
        except config.ConfigException as error:
            raise UserError(f"no Kubernetes cluster: not in a pod, and {error}") from error
    return KubernetesApi(kind, namespace or _own_namespace(), client.ApiClient())


def _own_namespace() -> str:
    if _NAMESPACE_FILE.exists():
        return _NAMESPACE_FILE.read_text(encoding="utf-8").strip()
    return "default"
