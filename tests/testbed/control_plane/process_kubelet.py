"""One node of a real control plane, whose pods are processes of this machine (`process_pod`).

It binds pods that have no node (there is no scheduler), by the CPUs they ask for.
"""

from __future__ import annotations

import contextlib
import itertools
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import requests
from http_double import HttpDouble, listening
from kube_api import KubeApi, KubeError, Watched
from pod_network import GATEWAY, dns
from pod_surroundings import Surroundings
from process_pod import Pod, image_variables, moment
from werkzeug import Request
from werkzeug.routing import Map, Rule

NODE = "here"
PORT = 10250
_POLL_S = 0.2
_ALIVE = ("Pending", "Running")


class Kubelet:
    """Runs the pods of a cluster while its block lasts.

    `claims` are the places that volume claims stand for, `names` addresses that DNS knows besides;
    `path` has the programs that others' images would bring.
    """

    def __init__(
        self,
        api: KubeApi,
        directory: Path,
        claims: Mapping[str, Path],
        names: Mapping[str, str],
        path: Sequence[Path] = (),
    ) -> None:
        self.cpus = self._free_cpus = 8.0
        self._api, self._directory, self._claims = api, directory, dict(claims)
        self._fixed_names, self._path = names, path
        self._own: dict[str, tuple[Pod, Surroundings]] = {}  # by uid
        self._bound: set[str] = set()
        self._kept: dict[tuple[str, str], Pod] = {}  # by namespace and name, also when gone
        self._names: dict[str, str] = {}  # addresses of pods behind services
        self._numbers = itertools.count(1)
        self._stop, self._changed = threading.Event(), threading.Event()
        self._pods = Watched(api, "/api/v1/pods", self._changed)
        self._slices = Watched(api, "/apis/discovery.k8s.io/v1/endpointslices", self._changed)

    @contextlib.contextmanager
    def running(self, certificate: tuple[Path, Path]) -> Iterator[None]:
        _register_node(self._api)
        threads = [
            threading.Thread(target=self._work),
            threading.Thread(target=self._pods.follow, args=(self._stop,)),
            threading.Thread(target=self._slices.follow, args=(self._stop,)),
        ]
        with dns(self._look_up), listening(_Logs(self), f"{GATEWAY}:{PORT}", certificate):
            for thread in threads:
                thread.start()
            try:
                yield
            finally:
                self._stop.set()
                for thread in threads:
                    thread.join()
                for pod, _ in self._own.values():
                    pod.kill()

    def _look_up(self, name: str) -> str | None:
        return self._names.get(name) or self._fixed_names.get(name)

    def _work(self) -> None:
        while not self._stop.is_set():
            self._changed.wait(_POLL_S)
            self._changed.clear()
            self._names = _addresses(self._slices.all())
            found = self._pods.all()
            bound = [p for p in found if self._is_bound(p) and p["status"]["phase"] in _ALIVE]
            self._free_cpus = self.cpus - sum(map(_cpus, bound))
            for uid in set(self._own) - {pod["metadata"]["uid"] for pod in found}:
                self._own.pop(uid)[0].kill()  # deleted without grace
            for pod in found:
                try:
                    self._tend(pod)
                except (KubeError, requests.RequestException) as error:  # the API is away: later
                    print(f"kubelet: {error}", file=sys.stderr)

    def _tend(self, manifest: dict[str, Any]) -> None:
        uid = manifest["metadata"]["uid"]
        own = self._own.get(uid)
        if "deletionTimestamp" in manifest["metadata"]:
            self._end(manifest)
        elif "nodeName" not in manifest["spec"]:
            if uid not in self._bound:
                self._bind(manifest)
        elif own is None and manifest["status"]["phase"] == "Pending":
            self._admit(manifest)
        elif own is not None:
            pod, around = own
            for container in pod.due():
                variables = around.variables(container.spec, image_variables(self._path))
                pod.start(container, around.mounts(container.spec), variables)
            self._report(pod, manifest)

    def _is_bound(self, pod: dict[str, Any]) -> bool:
        """Also where the watch has not told of the binding yet."""
        return "nodeName" in pod["spec"] or pod["metadata"]["uid"] in self._bound

    def _end(self, manifest: dict[str, Any]) -> None:
        own = self._own.get(manifest["metadata"]["uid"])
        grace_s = manifest["metadata"]["deletionGracePeriodSeconds"]
        if own is None or own[0].stop(grace_s):
            if own is not None:
                self._report(own[0], manifest)
            self._api.delete(_path(manifest), grace_s=0)
        else:
            self._report(own[0], manifest)

    def _report(self, own: Pod, pod: dict[str, Any]) -> None:
        """What the pod is, beside the conditions that others keep on it."""
        status = own.status()
        mine = {condition["type"] for condition in status["conditions"]}
        known = pod["status"].get("conditions") or []
        status["conditions"] += [c for c in known if c["type"] not in mine]
        if status != own.reported:
            self._api.patch(f"{_path(pod)}/status", {"status": status})
            own.reported = status

    def _bind(self, pod: dict[str, Any]) -> None:
        if _cpus(pod) <= self._free_cpus:
            self._free_cpus -= _cpus(pod)
            target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
            metadata = {"name": pod["metadata"]["name"]}
            self._api.post(f"{_path(pod)}/binding", {"metadata": metadata, "target": target})
            self._bound.add(pod["metadata"]["uid"])
        elif not pod["status"].get("conditions"):
            condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
            condition |= {"message": "0/1 nodes are available: 1 Insufficient cpu."}
            self._api.patch(f"{_path(pod)}/status", {"status": {"conditions": [condition]}})

    def _admit(self, manifest: dict[str, Any]) -> None:
        """Once it has its volumes: one whose ConfigMap lacks waits for it."""
        uid, name = manifest["metadata"]["uid"], manifest["metadata"]["name"]
        directory = self._directory / f"{name}-{uid[:8]}"
        around = Surroundings(self._api, manifest, self._claims, directory)
        pod = Pod(manifest, directory, next(self._numbers))
        self._own[uid], self._kept[pod.key] = (pod, around), pod
        self._changed.set()

    def log_of(self, namespace: str, name: str, container: str = "") -> Path | None:
        """The newest pod of that name; every pod leaves its logs behind."""
        pod = self._kept.get((namespace, name))
        return pod.log_of(container) if pod is not None else None


class _Logs(HttpDouble):
    """What the API server asks a kubelet for when somebody reads a pod's log."""

    routes = Map([Rule("/containerLogs/<space>/<pod>/<container>", endpoint="read")])

    def __init__(self, kubelet: Kubelet) -> None:
        super().__init__()
        self._log_of = kubelet.log_of

    def read(self, request: Request, space: str, pod: str, container: str) -> str:
        log, since = self._log_of(space, pod, container), ""
        if log is None or not log.exists():
            return "" if log else self.refuse(404, f"{pod} has no log")
        if "sinceSeconds" in request.args:
            since = moment(time.time() - int(request.args["sinceSeconds"]), fraction=True)
        lines = log.read_text(encoding="utf-8").splitlines(keepends=True)
        is_stamped = request.args.get("timestamps") == "true"
        return "".join(ln if is_stamped else ln.partition(" ")[2] for ln in lines if ln >= since)


def _register_node(api: KubeApi) -> None:
    api.post("/api/v1/nodes", {"metadata": {"name": NODE}})
    status = {
        "addresses": [{"type": "InternalIP", "address": GATEWAY}],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": PORT}},
        "conditions": [{"type": "Ready", "status": "True"}],
    }
    api.patch(f"/api/v1/nodes/{NODE}/status", {"status": status})


def _addresses(slices: list[dict[str, Any]]) -> dict[str, str]:
    """Names that a cluster's DNS knows: of headless services, and of the pods behind each."""
    found = {}
    for one in slices:
        space, service = one["metadata"]["namespace"], one["metadata"]["labels"]
        name = f"{service.get('kubernetes.io/service-name')}.{space}.svc.cluster.local"
        for endpoint in one["endpoints"] or []:
            (address, *_) = endpoint["addresses"]
            if host := endpoint.get("hostname"):
                found[f"{host}.{name}"] = str(address)
            if endpoint["conditions"].get("ready"):
                found.setdefault(name, str(address))
    return found


def _cpus(pod: dict[str, Any]) -> float:
    asked = (one.get("resources", {}).get("requests", {}) for one in pod["spec"]["containers"])
    texts = [str(requests.get("cpu", "0")) for requests in asked]
    return sum(float(t[:-1]) / 1000 if t.endswith("m") else float(t) for t in texts)


def _path(pod: dict[str, Any]) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
