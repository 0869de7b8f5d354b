"""What a kubelet brings to a pod's containers: the places of its volumes, and variables."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kube_api import KubeApi, KubeError
from pod_network import GATEWAY
from process_pod import expand

Object = dict[str, Any]
API_PORT = 6443


class Surroundings:
    """Of one pod; `claims` are the places that volume claims stand for."""

    def __init__(
        self, api: KubeApi, pod: Object, claims: Mapping[str, Path], directory: Path
    ) -> None:
        self._api, self._pod, self._claims = api, pod, claims
        self._space = f"/api/v1/namespaces/{pod['metadata']['namespace']}"
        self._places = {
            volume["name"]: self._place(volume, directory / "volumes" / volume["name"])
            for volume in pod["spec"].get("volumes", [])
        }
        self._resolver = _write_resolver(pod, directory)

    def mounts(self, container: Object) -> dict[str, Path]:
        """By path in the container."""
        found = {"/etc/resolv.conf": self._resolver}
        for mount in container.get("volumeMounts", []):
            place = self._places[mount["name"]] / mount.get("subPath", "")
            if not place.exists():
                place.mkdir(parents=True)
                place.chmod(0o777)
            found[mount["mountPath"]] = place
        return found

    def variables(self, container: Object, given: Mapping[str, str]) -> dict[str, str]:
        """`given`, and the container's own; only what stands before a variable is known to it."""
        found = {"KUBERNETES_SERVICE_HOST": GATEWAY, "KUBERNETES_SERVICE_PORT": str(API_PORT)}
        found |= given
        for source in container.get("envFrom", []):
            for kind in ("configMap", "secret"):
                if reference := source.get(f"{kind}Ref"):
                    found |= self._values(kind, reference)
        for variable in container.get("env", []):
            value = variable.get("value", "")
            if source := variable.get("valueFrom"):
                value = self._value(source)
            if value is not None:
                found[variable["name"]] = expand(value, found)
        return found

    def _value(self, source: Object) -> str | None:
        if field := source.get("fieldRef"):
            return field_of(self._pod, field["fieldPath"])
        for kind in ("configMap", "secret"):
            if reference := source.get(f"{kind}KeyRef"):
                return self._values(kind, reference).get(reference["key"])
        raise AssertionError(f"a variable from {source}")

    def _values(self, kind: str, reference: Object) -> dict[str, str]:
        """Of a ConfigMap or a Secret; of an optional one that is not there, none."""
        plural = {"configMap": "configmaps", "secret": "secrets"}[kind]
        try:
            found = self._api.get(f"{self._space}/{plural}/{reference['name']}").get("data") or {}
        except KubeError:
            if reference.get("optional"):
                return {}
            raise
        if kind == "secret":
            return {key: base64.b64decode(value).decode() for key, value in found.items()}
        return dict(found)

    def _place(self, volume: Object, place: Path) -> Path:
        if claim := volume.get("persistentVolumeClaim"):
            return self._claims[claim["claimName"]]
        place.mkdir(parents=True, exist_ok=True)
        place.chmod(0o777)
        if "emptyDir" not in volume:
            for source in volume.get("projected", {}).get("sources") or [volume]:
                for path, text in self._files(source).items():
                    (place / path).parent.mkdir(parents=True, exist_ok=True)
                    (place / path).write_text(text)
        return place

    def _files(self, source: Object) -> dict[str, str]:
        """By path: what one source brings into a volume."""
        if token := source.get("serviceAccountToken"):
            return {token["path"]: self._token(token)}
        if fields := source.get("downwardAPI"):
            named = {one["path"]: one["fieldRef"]["fieldPath"] for one in fields["items"]}
            return {path: field_of(self._pod, field) for path, field in named.items()}
        for kind, name in (("configMap", "name"), ("secret", "name"), ("secret", "secretName")):
            if name in (given := source.get(kind, {})):
                values = self._values(kind, given | {"name": given[name]})
                chosen = given.get("items") or [{"key": key, "path": key} for key in values]
                return {item["path"]: values[item["key"]] for item in chosen}
        raise AssertionError(f"a volume of {source}")

    def _token(self, given: Object) -> str:
        """Asked for as a kubelet does: it ends with the pod."""
        metadata = self._pod["metadata"]
        reference = {"apiVersion": "v1", "kind": "Pod", "name": metadata["name"]}
        reference["uid"] = metadata["uid"]
        audiences = [given["audience"]] if "audience" in given else []
        asked = {"audiences": audiences, "boundObjectRef": reference, "expirationSeconds": 3607}
        account = self._pod["spec"]["serviceAccountName"]
        path = f"{self._space}/serviceaccounts/{account}/token"
        return str(self._api.post(path, {"spec": asked})["status"]["token"])


def _write_resolver(pod: Object, directory: Path) -> Path:
    space, file = pod["metadata"]["namespace"], directory / "resolv.conf"
    directory.mkdir(parents=True, exist_ok=True)
    file.write_text(
        f"nameserver {GATEWAY}\noptions ndots:5\n"
        f"search {space}.svc.cluster.local svc.cluster.local cluster.local\n"
    )
    return file


def field_of(pod: Object, path: str) -> str:
    """As the downward API names it: metadata.labels['x'] too."""
    place: Any = pod
    head, bracket, key = path.partition("['")
    for name in head.split("."):
        place = place.get(name, {})
    return str(place.get(key.removesuffix("']"), "")) if bracket else str(place or "")
