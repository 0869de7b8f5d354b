"""A double of the Kubernetes API server for TFJobs, JobSets and their pods.

It keeps state, can be told to fail, and leaves the work of the operator to the test:
`K8sServer.start_pods` makes pods. What the real operators call and say is in kubeflow_facts.py.
"""

from __future__ import annotations

import itertools
import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from kubeflow_facts import OPERATORS

_JOBS = re.compile(r"/apis/([^/]+)/([^/]+)/namespaces/([^/]+)/(tfjobs|jobsets)(?:/([^/]+))?")
_PODS = re.compile(r"/api/v1/namespaces/([^/]+)/pods(?:/([^/]+)(/log)?)?")
_EVENTS = re.compile(r"/api/v1/namespaces/([^/]+)/events")
_NAMED = re.compile(r"/api/v1/namespaces/([^/]+)/(persistentvolumeclaims|secrets)/([^/]+)")
_REVIEW = re.compile(r"/apis/authorization.k8s.io/v1/(self)?subjectaccessreviews")


@dataclass
class Fault:
    pattern: str
    status: int = 0  # 0: the connection is dropped
    after: bool = False
    times: int = 1


class K8sServer:
    """Jobs by name, pods by name, logs by pod."""

    def __init__(self) -> None:
        self.served = {o.plural: (o.group, o.api) for o in OPERATORS.values()}
        self.jobs: dict[str, dict[str, Any]] = {}
        self.pods: dict[str, dict[str, Any]] = {}
        self.logs: dict[str, list[str]] = {}
        self.events: list[dict[str, Any]] = []
        self.requests: list[str] = []
        self.faults: list[Fault] = []
        # By kind and name: what somebody has put into the namespace.
        self.named: dict[str, dict[str, dict[str, Any]]] = {
            "persistentvolumeclaims": {},
            "secrets": {},
        }
        self.denied: set[tuple[str, str]] = set()  # (verb, resource), as reviews answer
        self.reviewed: list[str] = []  # whose permissions were asked for; empty: the caller's
        self.forbidden = ""  # a pattern of requests that the service account may not make
        self._stamp = 0
        self._versions = itertools.count(1)
        self.lock = threading.RLock()

    def fail(self, pattern: str, **how: Any) -> None:
        self.faults.append(Fault(pattern, **how))

    def refuse(self, pattern: str, *, times: int) -> None:
        """Answer as an API server that has not read its roles yet."""
        self.faults.append(Fault(pattern, status=403, times=times))

    def count(self, pattern: str) -> int:
        return sum(bool(re.search(pattern, request)) for request in self.requests)

    def start_pods(self, job: str, phase: str = "Running") -> list[str]:
        """What the operator does with a new job: a pod for each replica."""
        manifest = self.jobs[job]
        operator = OPERATORS[manifest["kind"]]
        for role, count, template in replicas(manifest):
            for index in range(count):
                name = operator.pod_name(job, role, index)
                labels = {
                    operator.name_label: job,
                    operator.role_label: role,
                    operator.index_label: str(index),
                }
                metadata = {"name": name, "labels": labels}
                status: dict[str, Any] = {"phase": phase, "containerStatuses": []}
                self.pods[name] = {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "metadata": metadata,
                    "spec": template["spec"],
                    "status": status,
                }
                self.logs.setdefault(name, [])
        return [n for n, p in self.pods.items() if job in p["metadata"]["labels"].values()]

    def say(self, pod: str, *lines: str) -> None:
        with self.lock:
            for line in lines:
                self._stamp += 1
                self.logs[pod].append(f"2026-01-01T00:00:00.{self._stamp:09d}Z {line}")

    def warn(self, about: str, reason: str, message: str) -> None:
        event = {"type": "Warning", "reason": reason, "message": message}
        event |= {"involvedObject": {"name": about}, "metadata": {"name": f"{about}.1"}}
        self.events.append(event)

    def end_container(self, pod: str, code: int, *, reason: str = "", message: str = "") -> None:
        ended = {"exitCode": code, "reason": reason or ("Error" if code else "Completed")}
        ended |= {"message": message} if message else {}
        self._set_container(pod, {"terminated": ended})
        self.pods[pod]["status"]["phase"] = "Failed" if code else "Succeeded"

    def wait_container(self, pod: str, reason: str, message: str = "") -> None:
        self._set_container(pod, {"waiting": {"reason": reason, "message": message}})

    def finish(self, job: str, *, succeeded: bool, message: str = "") -> None:
        operator = OPERATORS[self.jobs[job]["kind"]]
        ended = operator.succeeded if succeeded else operator.failed
        condition = {
            "type": ended.type,
            "status": "True",
            "reason": ended.reason,
            "message": message or ended.message.format(job=job),
        }
        self.jobs[job]["status"] = {"conditions": [condition]}
        self._change(job)

    def pod_name(self, job: str, role: str, index: int = 0) -> str:
        return OPERATORS[self.jobs[job]["kind"]].pod_name(job, role, index)

    def _set_container(self, pod: str, state: dict[str, Any]) -> None:
        self.pods[pod]["status"]["containerStatuses"] = [
            {"name": "tensorflow", "image": "i", "imageID": "", "ready": False,
             "restartCount": 0, "state": state}
        ]  # fmt: skip

    def take_fault(self, request: str) -> Fault | None:
        for fault in self.faults:
            if fault.times > 0 and re.search(fault.pattern, request):
                fault.times -= 1
                return fault
        return None

    def handle(self, method: str, target: str, body: bytes) -> tuple[int, Any]:
        url = urlsplit(target)
        query = {k: v[0] for k, v in parse_qs(url.query).items()}
        with self.lock:
            if self.forbidden and re.search(self.forbidden, f"{method} {url.path}"):
                return _error(403, 'User "system:serviceaccount:team:x" cannot do that')
            if _REVIEW.fullmatch(url.path):
                return self._review(json.loads(body))
            if named := _NAMED.fullmatch(url.path):
                found = self.named[named[2]].get(named[3])
                return (200, found) if found else _error(404, f'"{named[3]}" not found')
            if _EVENTS.fullmatch(url.path):
                items = [e for e in self.events if f"type={e['type']}" == query["fieldSelector"]]
                return 200, {
                    "apiVersion": "v1",
                    "kind": "EventList",
                    "metadata": {},
                    "items": items,
                }
            jobs, pods = _JOBS.fullmatch(url.path), _PODS.fullmatch(url.path)
            if jobs and self.served.get(jobs[4]) == (jobs[1], jobs[2]):
                return self._job(method, jobs[5], body)
            if pods and method == "GET":
                if pods[2] and not pods[3]:
                    return self._pod(pods[2])
                return self._log(pods[2], query) if pods[2] else self._list_pods(query)
        return _error(404, "the server could not find the requested resource")

    def _job(self, method: str, name: str | None, body: bytes) -> tuple[int, Any]:
        if method == "POST":
            manifest = json.loads(body)
            name = manifest["metadata"]["name"]
            if name in self.jobs:
                return _error(409, f'{manifest["kind"]} "{name}" already exists')
            self.jobs[name] = {**manifest, "status": {}}
            self.jobs[name]["metadata"] |= {"uid": f"uid-{next(self._versions)}"}
            self._change(name)
            return 201, self.jobs[name]
        if name not in self.jobs:
            return _error(404, f'"{name}" not found')
        sent = json.loads(body or b"{}")
        metadata = self.jobs[name]["metadata"]
        if method == "DELETE":
            if sent.get("preconditions", {}).get("uid", metadata["uid"]) != metadata["uid"]:
                return _error(409, "Precondition failed: UID in precondition")
            job = self.jobs.pop(name)
            for pod in [n for n in self.pods if n.startswith(f"{name}-")]:
                del self.pods[pod]
            return 200, job
        if method == "PATCH":
            changes = sent["metadata"]
            version = changes.pop("resourceVersion", metadata["resourceVersion"])
            if version != metadata["resourceVersion"]:
                return _error(409, "the object has been modified")
            annotations = {**metadata.get("annotations", {}), **changes.pop("annotations", {})}
            metadata |= {**changes, "annotations": annotations}
            self._change(name)
        return 200, self.jobs[name]

    def _change(self, name: str) -> None:
        self.jobs[name]["metadata"]["resourceVersion"] = str(next(self._versions))

    def _review(self, review: dict[str, Any]) -> tuple[int, Any]:
        asked = review["spec"]["resourceAttributes"]
        resource = "/".join(filter(None, (asked["resource"], asked.get("subresource"))))
        self.reviewed.append(review["spec"].get("user", ""))
        status = {"allowed": (asked["verb"], resource) not in self.denied}
        return 201, {**review, "status": status}

    def _pod(self, name: str) -> tuple[int, Any]:
        return (200, self.pods[name]) if name in self.pods else _error(404, f'"{name}" not found')

    def _list_pods(self, query: dict[str, str]) -> tuple[int, Any]:
        key, _, value = query.get("labelSelector", "").partition("=")
        items = [p for p in self.pods.values() if p["metadata"]["labels"].get(key) == value]
        return 200, {"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": items}

    def _log(self, pod: str, query: dict[str, str]) -> tuple[int, Any]:
        if pod not in self.pods:
            return _error(404, f'pods "{pod}" not found')
        if self.pods[pod]["status"]["phase"] == "Pending":
            return _error(400, "container is waiting to start")
        assert query.get("timestamps") == "True"
        lines = self.logs[pod][-int(query.get("tailLines", 0)) :]
        return 200, "".join(f"{line}\n" for line in lines)


def replicas(manifest: dict[str, Any]) -> list[tuple[str, int, dict[str, Any]]]:
    """(role, how many, pod template) of a TFJob or a JobSet."""
    spec = manifest["spec"]
    if manifest["kind"] == "TFJob":
        return [
            (r.lower(), s["replicas"], s["template"]) for r, s in spec["tfReplicaSpecs"].items()
        ]
    return [
        (j["name"], j["replicas"], j["template"]["spec"]["template"])
        for j in spec["replicatedJobs"]
    ]


def _error(code: int, message: str) -> tuple[int, Any]:
    return code, {"kind": "Status", "apiVersion": "v1", "code": code, "message": message}


def _handler(server: K8sServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            request = f"{self.command} {urlsplit(self.path).path}"
            server.requests.append(request)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            fault = server.take_fault(request)
            if fault and not fault.after:
                return self._break(fault)
            status, answer = server.handle(self.command, self.path, body)
            return self._break(fault) if fault else self._send(status, answer)

        do_POST = do_DELETE = do_PATCH = do_GET  # noqa: N815

        def log_message(self, *args: Any) -> None:
            pass

        def _break(self, fault: Fault) -> None:
            if fault.status:
                said = f"fault {fault.status}"
                if fault.status == 403:
                    said = 'User "system:serviceaccount:team:x" cannot do that: RBAC: not found'
                return self._send(*_error(fault.status, said))
            self.close_connection = True
            return self.connection.shutdown(socket.SHUT_RDWR)

        def _send(self, status: int, answer: Any) -> None:
            is_text = isinstance(answer, str)
            data = answer.encode() if is_text else json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain" if is_text else "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler


@contextmanager
def serve(server: K8sServer) -> Iterator[Any]:
    """A client of `server`, which listens on 127.0.0.1 until the block ends."""
    from kubernetes import client

    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    configuration = client.Configuration(host=f"http://127.0.0.1:{http.server_address[1]}")
    configuration.retries = False
    try:
        yield client.ApiClient(configuration)
    finally:
        http.shutdown()
        http.server_close()
        thread.join()
