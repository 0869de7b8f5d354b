"""One node of a real control plane, whose pods are processes of this machine.

Each has namespaces of its own for network, PIDs, mounts and host name; the image is this machine's
file system. It binds pods that have no node (there is no scheduler), by the CPUs they ask for.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import requests
from http_double import HttpDouble, listening
from kube_api import KubeApi, KubeError
from pod_network import GATEWAY, address_of, dns, plug_in
from werkzeug import Request
from werkzeug.routing import Map, Rule

NODE = "here"
PORT, API_PORT = 10250, 6443
_POLL_S = 0.2
_ACCOUNT = "/run/secrets/kubernetes.io/serviceaccount"
_ALIVE = ("Pending", "Running")
_LAST_LINES = 80  # of a log, as the message of a container that failed
# PID 1 of a pod: it waits until there is a network, and becomes the container, whose root has what
# this machine's has, but for what is mounted there.
_START = """
set -e
read -r _
hostname "$1"
root="$2/root"
mount -t tmpfs tmpfs "$root"
for place in /*; do
  if [ -L "$place" ]; then
    cp -P "$place" "$root"
  elif [ -d "$place" ] && [ "$place" != /run ] && [ "$place" != /mnt ]; then
    mkdir "$root$place"
    mount --rbind "$place" "$root$place"
  fi
done
while read -r source target; do
  [ -e "$root$target" ] || mkdir -p "$root$target"
  mount --bind "$source" "$root$target"
done < "$2/mounts"
shift 2
exec chroot "$root" "$@" < /dev/null
"""
# Whoever starts a pod takes it along when it dies.
_ALONE = (
    "setpriv --pdeathsig KILL unshare --net --mount --pid --uts --fork --kill-child --mount-proc"
)


class Kubelet:
    """Runs the pods of a cluster while its block lasts.

    `claims` are the places that volume claims stand for, `names` addresses that DNS knows besides.
    """

    def __init__(
        self, api: KubeApi, directory: Path, claims: Mapping[str, Path], names: Mapping[str, str]
    ) -> None:
        self.cpus = self._free_cpus = 8.0
        self._fixed_names = names
        self._api, self._directory, self._claims = api, directory, dict(claims)
        self._pods: dict[str, _Pod] = {}  # by uid
        self._logs: dict[tuple[str, str], Path] = {}  # by namespace and name
        self._names: dict[str, str] = {}  # addresses of pods behind headless services
        self._numbers = itertools.count(1)
        self._stop = threading.Event()

    @contextlib.contextmanager
    def running(self, certificate: tuple[Path, Path]) -> Iterator[None]:
        _register_node(self._api)
        thread = threading.Thread(target=self._work)
        with dns(self._look_up), listening(_Logs(self), f"{GATEWAY}:{PORT}", certificate):
            thread.start()
            try:
                yield
            finally:
                self._stop.set()
                thread.join()
                for pod in self._pods.values():
                    pod.kill()

    def _look_up(self, name: str) -> str | None:
        return self._names.get(name) or self._fixed_names.get(name)

    def _work(self) -> None:
        while not self._stop.wait(_POLL_S):
            try:
                self._look()
            except (KubeError, requests.RequestException) as error:  # the API is away: later
                print(f"kubelet: {error}", file=sys.stderr)

    def _look(self) -> None:
        found = self._api.get("/api/v1/pods")["items"]
        self._names = _addresses(self._api.get("/apis/discovery.k8s.io/v1/endpointslices")["items"])
        bound = [p for p in found if "nodeName" in p["spec"] and p["status"]["phase"] in _ALIVE]
        self._free_cpus = self.cpus - sum(map(_cpus, bound))
        there = {pod["metadata"]["uid"] for pod in found}
        for uid in set(self._pods) - there:
            self._pods.pop(uid).kill()  # deleted without grace
        for pod in found:
            self._tend(pod)

    def _tend(self, pod: dict[str, Any]) -> None:
        path = _path(pod)
        own = self._pods.get(pod["metadata"]["uid"])
        if "deletionTimestamp" in pod["metadata"]:
            if own is None or own.stop(pod["metadata"]["deletionGracePeriodSeconds"]):
                if own is not None:
                    self._report(own, pod)
                self._api.delete(path, grace_s=0)
        elif "nodeName" not in pod["spec"]:
            self._bind(pod)
        elif own is None and pod["status"]["phase"] == "Pending":
            own = self._start(pod)
        if own is not None:
            self._report(own, pod)

    def _report(self, own: _Pod, pod: dict[str, Any]) -> None:
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
        elif not pod["status"].get("conditions"):
            condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
            condition |= {"message": "0/1 nodes are available: 1 Insufficient cpu."}
            self._api.patch(f"{_path(pod)}/status", {"status": {"conditions": [condition]}})

    def _start(self, pod: dict[str, Any]) -> _Pod:
        number = next(self._numbers)
        directory = self._directory / f"{number:03}-{pod['metadata']['name']}"
        (directory / "root").mkdir(parents=True)
        mounts = {
            **_mounts(pod, self._claims, directory),
            "/etc/resolv.conf": _write_resolver(pod, directory / "resolv.conf"),
            _ACCOUNT: _write_account(self._api, pod, directory / "account"),
        }
        lines = "".join(f"{source} {target}\n" for target, source in mounts.items())
        (directory / "mounts").write_text(lines)
        own = self._pods[pod["metadata"]["uid"]] = _Pod(pod, directory, number)
        self._logs[own.key] = own.log
        return own

    def log_of(self, namespace: str, name: str) -> Path | None:
        """The newest of that name; every pod leaves its log behind."""
        return self._logs.get((namespace, name))


class _Pod:
    """The process of a pod's one container, and what is to be said of it."""

    def __init__(self, pod: dict[str, Any], directory: Path, number: int) -> None:
        metadata, (container,) = pod["metadata"], pod["spec"]["containers"]
        assert pod["spec"]["restartPolicy"] == "Never", "no container is started a second time"
        self.key = metadata["namespace"], metadata["name"]
        self.log = directory / "log"
        self.reported: dict[str, Any] = {}
        self._container, self._address = container, address_of(number)
        self._started, self._ended = _now(), ""
        self._is_asked_to_end_at = 0.0
        host = pod["spec"].get("hostname") or metadata["name"]
        environment = _environment(pod, container) | {"HOSTNAME": host}
        words = [*container["command"], *container.get("args", [])]
        command = [_expand(word, environment) for word in words]
        self._process = subprocess.Popen(
            [*_ALONE.split(), "sh", "-c", _START, "sh", host, str(directory), *command],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        plug_in(self._process.pid, self._address, number=number)
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(b"go\n")
            self._process.stdin.close()
        self._reader = threading.Thread(target=self._keep_log)
        self._reader.start()

    def _keep_log(self) -> None:
        """Each line with the time at which it came, in a form whose order is that of time."""
        assert self._process.stdout is not None
        with self.log.open("a", encoding="utf-8") as log:
            for line in self._process.stdout:
                log.write(f"{_now(fraction=True)} {line.decode(errors='replace').rstrip()}\n")
                log.flush()

    def is_running(self) -> bool:
        return self._process.poll() is None

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        self._reader.join()

    def stop(self, grace_s: float) -> bool:
        """SIGTERM, and SIGKILL when the time is over; True once it has ended."""
        now = time.monotonic()
        if not self._is_asked_to_end_at:
            self._is_asked_to_end_at = now
            with contextlib.suppress(psutil.NoSuchProcess):
                for child in psutil.Process(self._process.pid).children():
                    child.terminate()
        if self.is_running() and now - self._is_asked_to_end_at >= grace_s:
            self.kill()
        return not self.is_running()

    def status(self) -> dict[str, Any]:
        code = self._process.poll()
        if code is None:
            phase, state = "Running", {"running": {"startedAt": self._started}}
        else:
            self._reader.join()
            self._ended = self._ended or _now()
            phase = "Failed" if code else "Succeeded"
            state = {"terminated": self._termination(code)}
        ready = str(code is None)
        return {
            "phase": phase,
            "startTime": self._started,
            "podIP": self._address,
            "podIPs": [{"ip": self._address}],
            "conditions": [
                {"type": "PodScheduled", "status": "True"},
                {"type": "Ready", "status": ready},
                {"type": "ContainersReady", "status": ready},
            ],
            "containerStatuses": [
                {
                    "name": self._container["name"],
                    "image": self._container["image"],
                    "imageID": "",
                    "ready": code is None,
                    "restartCount": 0,
                    "state": state,
                }
            ],
        }

    def _termination(self, code: int) -> dict[str, Any]:
        ended = {
            "exitCode": 128 - code if code < 0 else code,
            "reason": "Error" if code else "Completed",
            "startedAt": self._started,
            "finishedAt": self._ended,
        }
        if code and self._container.get("terminationMessagePolicy") == "FallbackToLogsOnError":
            lines = self.log.read_text(encoding="utf-8").splitlines()[-_LAST_LINES:]
            ended["message"] = "\n".join(line.partition(" ")[2] for line in lines)[-2048:]
        return ended


class _Logs(HttpDouble):
    """What the API server asks a kubelet for when somebody reads a pod's log."""

    routes = Map([Rule("/containerLogs/<space>/<pod>/<container>", endpoint="read")])

    def __init__(self, kubelet: Kubelet) -> None:
        super().__init__()
        self._log_of = kubelet.log_of

    def read(self, request: Request, space: str, pod: str, container: str) -> str:
        log, since = self._log_of(space, pod), ""
        if log is None or not log.exists():
            return "" if log else self.refuse(404, f"{pod} has no log")
        if "sinceSeconds" in request.args:
            since = _time(time.time() - int(request.args["sinceSeconds"]), fraction=True)
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
    """Names that a cluster's DNS knows: of the pods behind each headless service."""
    found = {}
    for one in slices:
        space, service = one["metadata"]["namespace"], one["metadata"]["labels"]
        name = f"{service.get('kubernetes.io/service-name')}.{space}.svc.cluster.local"
        for endpoint in one["endpoints"] or []:
            if host := endpoint.get("hostname"):
                found[f"{host}.{name}"] = str(endpoint["addresses"][0])
    return found


def _write_resolver(pod: dict[str, Any], file: Path) -> Path:
    space = pod["metadata"]["namespace"]
    file.write_text(
        f"nameserver {GATEWAY}\noptions ndots:5\n"
        f"search {space}.svc.cluster.local svc.cluster.local cluster.local\n"
    )
    return file


def _write_account(api: KubeApi, pod: dict[str, Any], directory: Path) -> Path:
    """What a pod is given of its service account, asked for as a kubelet does."""
    space, name = pod["metadata"]["namespace"], pod["spec"]["serviceAccountName"]
    reference = {"apiVersion": "v1", "kind": "Pod", "name": pod["metadata"]["name"]}
    reference["uid"] = pod["metadata"]["uid"]
    asked = {"spec": {"audiences": [], "boundObjectRef": reference, "expirationSeconds": 3600}}
    answer = api.post(f"/api/v1/namespaces/{space}/serviceaccounts/{name}/token", asked)
    directory.mkdir()
    (directory / "token").write_text(answer["status"]["token"])
    (directory / "namespace").write_text(space)
    (directory / "ca.crt").write_bytes(api.authority.read_bytes())
    return directory


def _mounts(pod: dict[str, Any], claims: Mapping[str, Path], directory: Path) -> dict[str, Path]:
    """By path in the container: what a claim stands for, and directories of the pod's own."""
    places = {}
    for volume in pod["spec"].get("volumes", []):
        if claim := volume.get("persistentVolumeClaim"):
            places[volume["name"]] = claims[claim["claimName"]]
        elif "emptyDir" in volume:
            places[volume["name"]] = directory / "volumes" / volume["name"]
            places[volume["name"]].mkdir(parents=True)
    (container,) = pod["spec"]["containers"]
    return {
        mount["mountPath"]: places[mount["name"]]
        for mount in container.get("volumeMounts", [])
        if mount["name"] in places  # the account's is a volume too
    }


def _environment(pod: dict[str, Any], container: dict[str, Any]) -> dict[str, str]:
    """The image's, the kubelet's and the container's own variables."""
    image = ("PATH", "HOME", "TF_CPP_MIN_LOG_LEVEL")
    found = {name: os.environ[name] for name in image if name in os.environ}
    found["PATH"] = f"{Path(sys.executable).parent}:{found['PATH']}"
    found |= {"KUBERNETES_SERVICE_HOST": GATEWAY, "KUBERNETES_SERVICE_PORT": str(API_PORT)}
    for variable in container.get("env", []):
        value = variable.get("value", "")
        if source := variable.get("valueFrom"):
            value = _field(pod, source["fieldRef"]["fieldPath"])
        # Only variables that stand before this one are known to it.
        found[variable["name"]] = _expand(value, found)
    return found


def _expand(text: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"\$\((\w+)\)", lambda match: variables.get(match[1], match[0]), text)


def _field(pod: dict[str, Any], path: str) -> str:
    if entry := re.fullmatch(r"metadata\.(labels|annotations)\['(.+)'\]", path):
        return str(pod["metadata"].get(entry[1], {}).get(entry[2], ""))
    place: Any = pod
    for name in path.split("."):
        place = place[name]
    return str(place)


def _cpus(pod: dict[str, Any]) -> float:
    (container,) = pod["spec"]["containers"]
    text = container.get("resources", {}).get("requests", {}).get("cpu", "0")
    return float(text[:-1]) / 1000 if text.endswith("m") else float(text)


def _path(pod: dict[str, Any]) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _now(*, fraction: bool = False) -> str:
    return _time(time.time(), fraction=fraction)


def _time(seconds: float, *, fraction: bool) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f000Z" if fraction else "%Y-%m-%dT%H:%M:%SZ")
