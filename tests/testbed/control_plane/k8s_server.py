"""A double of the Kubernetes API server for TFJobs, JobSets and their pods.

It keeps state, can be told to fail, and leaves the work of the operator to the test:
`K8sServer.start_pods` makes pods. What the real operators call and say is in kubeflow_facts.py.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from http_double import HttpDouble, listening, respond
from kubeflow_facts import OPERATORS
from werkzeug import Request, Response
from werkzeug.routing import Map, Rule

_FORBIDDEN = 'User "system:serviceaccount:team:x" cannot do that'
_REVIEWS = "/apis/authorization.k8s.io/v1"
_CORE = "/api/v1/namespaces/<space>"
_JOBS = "/apis/<group>/<version>/namespaces/<space>/<any(tfjobs, jobsets):plural>"


class K8sServer(HttpDouble):
    """Jobs by name, pods by name, logs by pod."""

    routes = Map(
        [
            Rule(
                f"{_REVIEWS}/<any(selfsubjectaccessreviews, subjectaccessreviews):_>",
                endpoint="review",
            ),
            Rule(
                f"{_CORE}/<any(persistentvolumeclaims, secrets, configmaps):kind>/<name>",
                endpoint="get_named",
            ),
            Rule(f"{_CORE}/events", endpoint="list_events", methods=["GET"]),
            Rule(f"{_CORE}/pods", endpoint="list_pods", methods=["GET"]),
            Rule(f"{_CORE}/pods/<name>", endpoint="get_pod", methods=["GET"]),
            Rule(f"{_CORE}/pods/<name>/log", endpoint="log", methods=["GET"]),
            Rule(_JOBS, endpoint="create_job", methods=["POST"]),
            Rule(f"{_JOBS}/<name>", endpoint="job"),
        ]
    )

    def __init__(self) -> None:
        super().__init__()
        self.served = {operator.collection for operator in OPERATORS.values()}
        self.jobs: dict[str, dict[str, Any]] = {}
        self.pods: dict[str, dict[str, Any]] = {}
        self.logs: dict[str, list[str]] = {}
        self.events: list[dict[str, Any]] = []
        # By kind and name: what somebody has put into the namespace.
        self.named: dict[str, dict[str, dict[str, Any]]] = {
            "persistentvolumeclaims": {},
            "secrets": {},
            "configmaps": {},
        }
        self.unknown: set[str] = set()  # fields that the installed operator does not know yet
        self.denied: set[tuple[str, str]] = set()  # (verb, resource), as reviews answer
        self.reviewed: list[str] = []  # whose permissions were asked for; empty: the caller's
        self.forbidden = ""  # a pattern of requests that the service account may not make
        self._stamp = 0
        self._versions = itertools.count(1)

    def lack_roles(self, pattern: str, *, times: int) -> None:
        """Answer as an API server that has not read its roles yet."""
        self.fail(pattern, status=403, message=f"{_FORBIDDEN}: RBAC: not found", times=times)

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
        condition = OPERATORS[self.jobs[job]["kind"]].condition(job, succeeded=succeeded)
        condition |= {"message": message or condition["message"]}
        self.jobs[job]["status"] = {"conditions": [condition]}
        self._change(job)

    def pod_name(self, job: str, role: str, index: int = 0) -> str:
        return OPERATORS[self.jobs[job]["kind"]].pod_name(job, role, index)

    def _set_container(self, pod: str, state: dict[str, Any]) -> None:
        self.pods[pod]["status"]["containerStatuses"] = [
            {"name": "tensorflow", "image": "i", "imageID": "", "ready": False,
             "restartCount": 0, "state": state}
        ]  # fmt: skip

    def answer(self, request: Request) -> Response:
        if self.forbidden and re.search(self.forbidden, f"{request.method} {request.path}"):
            return self.error(403, _FORBIDDEN)
        return super().answer(request)

    def error(self, status: int, message: str) -> Response:
        what = {"kind": "Status", "apiVersion": "v1", "code": status, "message": message}
        return respond(what, status)

    def create_job(
        self, request: Request, group: str, version: str, space: str, plural: str
    ) -> Any:
        self._check_served(group, version, plural)
        manifest = _without(request.get_json(), self.unknown)
        name = manifest["metadata"]["name"]
        if name in self.jobs:
            self.refuse(409, f'{manifest["kind"]} "{name}" already exists')
        if request.args.get("dryRun") == "All":
            return respond(manifest, 201)
        self.jobs[name] = {**manifest, "status": {}}
        self.jobs[name]["metadata"] |= {"uid": f"uid-{next(self._versions)}"}
        self._change(name)
        return respond(self.jobs[name], 201)

    def job(
        self, request: Request, group: str, version: str, space: str, plural: str, name: str
    ) -> Any:
        self._check_served(group, version, plural)
        job = self._found(self.jobs, name)
        metadata = job["metadata"]
        sent = request.get_json(force=True) if request.content_length else {}
        if request.method == "DELETE":
            if sent.get("preconditions", {}).get("uid", metadata["uid"]) != metadata["uid"]:
                self.refuse(409, "Precondition failed: UID in precondition")
            del self.jobs[name]
            for pod in [n for n in self.pods if n.startswith(f"{name}-")]:
                del self.pods[pod]
        if request.method == "PATCH":
            changes = sent["metadata"]
            version = changes.pop("resourceVersion", metadata["resourceVersion"])
            if version != metadata["resourceVersion"]:
                self.refuse(409, "the object has been modified")
            annotations = {**metadata.get("annotations", {}), **changes.pop("annotations", {})}
            metadata |= {**changes, "annotations": annotations}
            self._change(name)
        return job

    def _change(self, name: str) -> None:
        self.jobs[name]["metadata"]["resourceVersion"] = str(next(self._versions))

    def _check_served(self, *collection: str) -> None:
        if collection not in self.served:
            self.refuse(404, "the server could not find the requested resource")

    def _found(self, store: dict[str, Any], name: str) -> Any:
        return store[name] if name in store else self.refuse(404, f'"{name}" not found')

    def review(self, request: Request, **_: str) -> Any:
        review = request.get_json()
        asked = review["spec"]["resourceAttributes"]
        resource = "/".join(filter(None, (asked["resource"], asked.get("subresource"))))
        self.reviewed.append(review["spec"].get("user", ""))
        status = {"allowed": (asked["verb"], resource) not in self.denied}
        return respond({**review, "status": status}, 201)

    def get_named(self, request: Request, space: str, kind: str, name: str) -> Any:
        return self._found(self.named[kind], name)

    def get_pod(self, request: Request, space: str, name: str) -> Any:
        return self._found(self.pods, name)

    def list_pods(self, request: Request, space: str) -> Any:
        key, _, value = request.args.get("labelSelector", "").partition("=")
        items = [p for p in self.pods.values() if p["metadata"]["labels"].get(key) == value]
        return {"apiVersion": "v1", "kind": "PodList", "metadata": {}, "items": items}

    def list_events(self, request: Request, space: str) -> Any:
        items = [e for e in self.events if f"type={e['type']}" == request.args["fieldSelector"]]
        return {"apiVersion": "v1", "kind": "EventList", "metadata": {}, "items": items}

    def log(self, request: Request, space: str, name: str) -> Any:
        if self._found(self.pods, name)["status"]["phase"] == "Pending":
            self.refuse(400, "container is waiting to start")
        assert request.args.get("timestamps") == "True"
        lines = self.logs[name][-int(request.args.get("tailLines", 0)) :]
        return "".join(f"{line}\n" for line in lines)


def _without(value: Any, fields: Collection[str]) -> Any:
    """As an API server stores what a definition does not know."""
    if isinstance(value, dict):
        return {k: _without(below, fields) for k, below in value.items() if k not in fields}
    return [_without(below, fields) for below in value] if isinstance(value, list) else value


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


@contextmanager
def serve(server: K8sServer) -> Iterator[Any]:
    """A client of `server`, which listens on 127.0.0.1 until the block ends."""
    from kubernetes import client

    with listening(server) as url:
        configuration = client.Configuration(host=url)
        configuration.retries = False
        yield client.ApiClient(configuration)
