"""A double of the Kubeflow Pipelines v2beta1 API: a real HTTP server that keeps state.

Every request and every answer is checked (by the installed models, or by the OpenAPI document
handed in), and it can be told to fail. It runs no pipeline: a test moves its runs on.
"""

from __future__ import annotations

import email
import email.policy
import json
import re
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import yaml
from kfp_schema import Check, check_by_models
from kubeflow_facts import NEWEST, VERSIONS

_API = "/apis/v2beta1"
_LIST_QUERY = {"namespace", "page_token", "page_size", "sort_by", "filter"}


@dataclass
class Fault:
    """What to do to the next `times` requests whose "METHOD /path" matches.

    `status` answers with that code. `drop` closes the connection, `hang_s` keeps silent; with
    `after` the request is carried out first, which is the ambiguous case.
    """

    pattern: str
    status: int = 0
    drop: bool = False
    hang_s: float = 0.0
    after: bool = False
    times: int = 1
    headers: dict[str, str] = field(default_factory=dict)


class HttpError(Exception):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class KfpServer:
    """The state, and the rules of the real server that matter to a client."""

    def __init__(
        self, check: Check = check_by_models, page_size: int = 2, version: str = NEWEST
    ) -> None:
        self.check, self.page_size = check, page_size
        self.facts, self.multi_user = VERSIONS[version], True
        # Made in the cluster, and shown by no list when the server then failed.
        self.workflows: list[str] = []
        self.token, self.cookie = "", ""
        self.pipelines: dict[str, dict[str, Any]] = {}
        self.versions: dict[str, dict[str, Any]] = {}
        self.experiments: dict[str, dict[str, Any]] = {}
        self.runs: dict[str, dict[str, Any]] = {}
        self.schedules: dict[str, dict[str, Any]] = {}
        self.requests: list[str] = []
        self.violations: list[str] = []
        self.faults: list[Fault] = []
        self._ticks = 0
        self._lock = threading.Lock()

    def fail(self, pattern: str, **how: Any) -> None:
        self.faults.append(Fault(pattern, **how))

    def count(self, pattern: str) -> int:
        return sum(bool(re.search(pattern, request)) for request in self.requests)

    def set_state(
        self,
        run_id: str,
        state: str,
        tasks: dict[str, str] | None = None,
        *,
        explained: bool = False,
    ) -> None:
        """Move a run on, as the cluster would; the API has fields that no real server filled."""
        details: list[dict[str, Any]] = [
            {
                "run_id": run_id,
                "task_id": f"{run_id}-{name}",
                "display_name": name,
                "state": task_state,
                "start_time": self.now(),
                "child_tasks": [{"pod_name": f"{name.lower()}-node"}],
            }
            for name, task_state in (tasks or {}).items()
        ]
        for task in details if explained else ():
            task["pod_name"] = f"{task['display_name']}-pod".lower()
            if task["state"] == "FAILED":
                task["error"] = {"code": 13, "message": "exit code 1"}
        self.runs[run_id]["state"] = state
        if details:
            self.runs[run_id]["run_details"] = {"task_details": details}

    def take_fault(self, request: str) -> Fault | None:
        for fault in self.faults:
            if fault.times > 0 and re.search(fault.pattern, request):
                fault.times -= 1
                return fault
        return None

    def now(self) -> str:
        self._ticks += 1
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._ticks)
        return at.strftime("%Y-%m-%dT%H:%M:%SZ")

    def handle(self, method: str, path: str, query: dict[str, str], body: bytes, kind: str) -> Any:
        with self._lock:
            for pattern, verb, function in self._routes():
                match = re.fullmatch(pattern, path)
                if match and verb == method:
                    return function(query, body, kind, *(unquote(g) for g in match.groups()))
        raise HttpError(404, f"no such method: {method} {path}")

    def _routes(self) -> list[tuple[str, str, Callable[..., Any]]]:
        return [
            ("/healthz", "GET", lambda *_: {"multi_user": self.multi_user}),
            ("/pipelines", "GET", self._lister("pipelines", "Pipelines")),
            ("/pipelines", "POST", self._create_pipeline),
            ("/pipelines/upload_version", "POST", self._upload_version),
            ("/pipelines/([^/]+)/versions", "GET", self._list_versions),
            ("/pipelines/([^/]+)/versions/([^/]+)", "GET", self._get_version),
            ("/experiments", "GET", self._lister("experiments", "Experiments")),
            ("/experiments", "POST", self._create_experiment),
            ("/runs", "GET", self._lister("runs", "Runs")),
            ("/runs", "POST", self._create_run),
            ("/runs/([^/:]+)", "GET", self._get_run),
            ("/runs/([^/:]+):terminate", "POST", self._terminate),
            ("/runs/([^/:]+):retry", "POST", self._retry),
            ("/runs/([^/:]+):(archive|unarchive)", "POST", self._archive),
            ("/runs/([^/:]+)", "DELETE", self._deleter(self.runs)),
            ("/experiments/([^/:]+)", "DELETE", self._deleter(self.experiments)),
            ("/pipelines/([^/:]+)", "DELETE", self._deleter(self.pipelines)),
            ("/pipelines/[^/]+/versions/([^/]+)", "DELETE", self._deleter(self.versions)),
            ("/recurringruns", "GET", self._lister("schedules", "RecurringRuns")),
            ("/recurringruns", "POST", self._create_schedule),
            ("/recurringruns/([^/:]+):(enable|disable)", "POST", self._switch),
            ("/recurringruns/([^/:]+)", "DELETE", self._deleter(self.schedules)),
        ]

    def _lister(self, store: str, what: str) -> Callable[..., Any]:
        key = {"schedules": "recurringRuns"}.get(store, store)

        def answer(query: dict[str, str], body: bytes, kind: str) -> Any:
            items = list(getattr(self, store).values())
            if store == "pipelines" and self.multi_user:  # without a namespace: the shared ones
                asked = query.get("namespace", "")
                items = [i for i in items if i.get("namespace", "") == asked]
            if query.get("experiment_id"):
                items = [i for i in items if i["experiment_id"] == query["experiment_id"]]
            if query.get("sort_by", "").endswith("desc"):
                items.reverse()
            extra = {"experiment_id"} if store in ("runs", "schedules") else set()
            return self._page(items, query, key, what, extra)

        return answer

    def _page(
        self, items: list[Any], query: dict[str, str], key: str, what: str, extra: set[str]
    ) -> Any:
        unknown = query.keys() - _LIST_QUERY - extra
        if unknown:
            raise HttpError(400, f"unknown query parameters {sorted(unknown)}")
        start = int(query.get("page_token") or 0)
        size = min(int(query.get("page_size") or 20), self.page_size)
        page: dict[str, Any] = {key: items[start : start + size], "total_size": len(items)}
        if start + size < len(items):
            page["next_page_token"] = str(start + size)
        return self._answer(f"V2beta1List{what}Response", page)

    def _create_pipeline(self, query: dict[str, str], body: bytes, kind: str) -> Any:
        data = self._body("V2beta1Pipeline", body)
        name = data.get("display_name")
        if not name:
            raise HttpError(400, "Invalid input error: pipeline name is empty")
        self._check_length("pipeline", name)
        where = data.get("namespace", "")
        names = [(p["display_name"], p.get("namespace", "")) for p in self.pipelines.values()]
        if (name, where) in names:
            raise HttpError(409, f"Already exist error: The name {name} already exist")
        made = {**data, "pipeline_id": _id(), "created_at": self.now()}
        self.pipelines[made["pipeline_id"]] = made
        return self._answer("V2beta1Pipeline", made)

    def _upload_version(self, query: dict[str, str], body: bytes, kind: str) -> Any:
        pipeline_id, name = query.get("pipelineid", ""), query.get("name", "")
        if pipeline_id not in self.pipelines:
            raise HttpError(404, f"ResourceNotFoundError: Pipeline {pipeline_id} not found")
        if not re.search(rb'filename="[^"]+[.](yaml|yml|zip|tar[.]gz)"', body):
            raise HttpError(400, "Unexpected pipeline file format. Support .zip, .tar.gz or YAML")
        self._check_length("version", name)
        mine = [v for v in self.versions.values() if v["pipeline_id"] == pipeline_id]
        if not name or any(v["display_name"] == name for v in mine):
            raise HttpError(409, f"Already exist error: The name {name} already exist")
        made = {
            "pipeline_id": pipeline_id,
            "pipeline_version_id": _id(),
            "display_name": name,
            "description": query.get("description", ""),
            "created_at": self.now(),
            "pipeline_spec": _uploaded(body, kind),
        }
        self.versions[made["pipeline_version_id"]] = made
        return self._answer("V2beta1PipelineVersion", made)

    def _list_versions(self, query: dict[str, str], body: bytes, kind: str, pid: str) -> Any:
        mine = [v for v in self.versions.values() if v["pipeline_id"] == pid]
        return self._page(mine, query, "pipeline_versions", "PipelineVersions", set())

    def _get_version(
        self, query: dict[str, str], body: bytes, kind: str, pid: str, vid: str
    ) -> Any:
        return self._answer("V2beta1PipelineVersion", _found(self.versions, vid))

    def _create_experiment(self, query: dict[str, str], body: bytes, kind: str) -> Any:
        data = self._body("V2beta1Experiment", body)
        self._check_length("experiment", data["display_name"])
        if any(e["display_name"] == data["display_name"] for e in self.experiments.values()):
            raise HttpError(409, "Already exist error: experiment")
        made = {**data, "experiment_id": _id(), "created_at": self.now()}
        self.experiments[made["experiment_id"]] = made
        return self._answer("V2beta1Experiment", made)

    def _create_run(self, query: dict[str, str], body: bytes, kind: str) -> Any:
        data = self._body("V2beta1Run", body)
        self._check_launch(data)
        made = {
            **data,
            "run_id": _id(),
            "created_at": self.now(),
            "finished_at": "1970-01-01T00:00:00Z",
            "state": "PENDING",
        }
        self.workflows.append(data["display_name"])
        self._check_length("run", data["display_name"])
        self.runs[made["run_id"]] = made
        return self._answer("V2beta1Run", made)

    def _get_run(self, query: dict[str, str], body: bytes, kind: str, run_id: str) -> Any:
        return self._answer("V2beta1Run", _found(self.runs, run_id))

    def _create_schedule(self, query: dict[str, str], body: bytes, kind: str) -> Any:
        data = self._body("V2beta1RecurringRun", body)
        self._check_launch(data)
        if not 1 <= int(data.get("max_concurrency", 0)) <= 10:
            raise HttpError(400, "Invalid input error: max concurrency must be 1 to 10")
        cron = data.get("trigger", {}).get("cron_schedule", {}).get("cron", "")
        if len(cron.split()) not in (5, 6):
            raise HttpError(400, f"Invalid input error: cron {cron!r}")
        mode = data.get("mode")
        if mode not in ("ENABLE", "DISABLE"):
            raise HttpError(400, "Invalid input error: mode")
        self.workflows.append(data["display_name"])
        self._check_length("schedule", data["display_name"])
        made = {**data, "recurring_run_id": _id(), "created_at": self.now(), "status": f"{mode}D"}
        self.schedules[made["recurring_run_id"]] = made
        return self._answer("V2beta1RecurringRun", made)

    def _switch(self, query: dict[str, str], body: bytes, kind: str, sid: str, verb: str) -> Any:
        found = _found(self.schedules, sid)
        found |= {"status": f"{verb.upper()}D", "mode": verb.upper()}
        return {}

    def _deleter(self, store: dict[str, Any]) -> Callable[..., Any]:
        def delete(query: dict[str, str], body: bytes, kind: str, key: str) -> Any:
            _found(store, key)
            del store[key]
            return {}

        return delete

    def _terminate(self, query: dict[str, str], body: bytes, kind: str, run_id: str) -> Any:
        _found(self.runs, run_id)
        self.set_state(run_id, "CANCELED")
        return {}

    def _retry(self, query: dict[str, str], body: bytes, kind: str, run_id: str) -> Any:
        if _found(self.runs, run_id)["state"] not in ("FAILED", "CANCELED"):
            raise HttpError(400, "Only failed/error runs can be retried")
        self.set_state(run_id, "RUNNING")
        return {}

    def _archive(
        self, query: dict[str, str], body: bytes, kind: str, run_id: str, verb: str
    ) -> Any:
        state = "ARCHIVED" if verb == "archive" else "AVAILABLE"
        _found(self.runs, run_id)["storage_state"] = state
        return {}

    def _check_length(self, what: str, name: str) -> None:
        """A column that is too short is noticed by the database, as a 500."""
        if len(name) > self.facts.longest_name[what]:
            raise HttpError(500, "InternalServerError: Data too long for column 'DisplayName'")

    def _check_launch(self, data: dict[str, Any]) -> None:
        if not data.get("display_name"):
            raise HttpError(400, "Invalid input error: name is empty")
        if data.get("experiment_id") not in self.experiments:
            raise HttpError(404, "ResourceNotFoundError: Experiment not found")
        version = _found(
            self.versions, data.get("pipeline_version_reference", {}).get("pipeline_version_id", "")
        )
        spec = version["pipeline_spec"]
        spec = spec.get("pipeline_spec", spec)
        known = spec.get("root", {}).get("inputDefinitions", {}).get("parameters", {})
        given = data.get("runtime_config", {}).get("parameters", {})
        for name in given:
            if name not in known:
                raise HttpError(400, f"Invalid input error: parameter {name} is not in the spec")
        missing = [n for n, p in known.items() if n not in given and "defaultValue" not in p]
        if [n for n in missing if not known[n].get("isOptional")]:
            raise HttpError(400, f"Invalid input error: missing parameters {missing}")

    def _body(self, model: str, body: bytes) -> dict[str, Any]:
        data = json.loads(body)
        problems = self.check(model, data)
        if problems:
            self.violations += problems
            raise HttpError(400, "; ".join(problems))
        assert isinstance(data, dict)
        return data

    def _answer(self, model: str, data: Any) -> Any:
        self.violations += self.check(model, data)
        return data


def _uploaded(body: bytes, kind: str) -> Any:
    message = email.message_from_bytes(
        b"Content-Type: " + kind.encode() + b"\r\n\r\n" + body, policy=email.policy.default
    )
    parts = [
        p
        for p in message.iter_parts()
        if p.get_param("name", header="content-disposition") == "uploadfile"
    ]
    if len(parts) != 1:
        raise HttpError(400, "Failed to upload: no form file uploadfile")
    documents = list(yaml.safe_load_all(parts[0].get_payload(decode=True)))
    spec = documents[0]
    if not isinstance(spec, dict) or spec.get("schemaVersion") != "2.1.0":
        raise HttpError(400, "Invalid input error: KFP only supports schema version 2.1.0")
    if len(documents) > 1:
        return {"pipeline_spec": spec, "platform_spec": documents[1]}
    return spec


def _found(store: dict[str, dict[str, Any]], key: str) -> dict[str, Any]:
    if key not in store:
        raise HttpError(404, f"ResourceNotFoundError: {key} not found")
    return store[key]


def _id() -> str:
    return str(uuid.uuid4())


def _handler(server: KfpServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._serve()

        do_POST = do_DELETE = do_GET  # noqa: N815

        def log_message(self, *args: Any) -> None:
            pass

        def _serve(self) -> None:
            url = urlsplit(self.path)
            request = f"{self.command} {url.path.removeprefix(_API)}"
            server.requests.append(request)
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            fault = server.take_fault(request)
            if fault and not fault.after:
                return self._break(fault)
            status, answer = self._carry_out(url.path, url.query, body)
            if fault:
                return self._break(fault)
            return self._send(status, answer)

        def _carry_out(self, path: str, query: str, body: bytes) -> tuple[int, Any]:
            if server.token and self.headers.get("Authorization") != f"Bearer {server.token}":
                return 401, {"error": "Unauthenticated", "code": 16, "message": "no identity"}
            if server.cookie and self.headers.get("Cookie") != server.cookie:
                return 302, "/dex/auth"
            pairs = {k: v[0] for k, v in parse_qs(query).items()}
            kind = self.headers.get("Content-Type", "")
            try:
                return 200, server.handle(self.command, path.removeprefix(_API), pairs, body, kind)
            except HttpError as error:
                message = f"{error}\ngithub.com/kubeflow/pipelines/backend/src/stack.go:1"
                return error.status, {"error_message": message, "message": message}

        def _break(self, fault: Fault) -> None:
            if fault.hang_s:
                time.sleep(fault.hang_s)
            if fault.drop or fault.hang_s:
                self.close_connection = True
                self.connection.shutdown(socket.SHUT_RDWR)
                return
            self._send(fault.status, {"message": f"fault {fault.status}"}, fault.headers)

        def _send(self, status: int, answer: Any, headers: dict[str, str] | None = None) -> None:
            data = json.dumps(answer).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", answer)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    return Handler


@contextmanager
def serve(server: KfpServer, context: ssl.SSLContext | None = None) -> Iterator[str]:
    """The address of `server`, listening on 127.0.0.1 until the block ends."""
    http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))
    if context is not None:
        http.socket = context.wrap_socket(http.socket, server_side=True)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http{'s' if context else ''}://127.0.0.1:{http.server_address[1]}"
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


@contextmanager
def serve_tls(server: KfpServer) -> Iterator[str]:
    """The same over TLS, with a certificate that nobody has signed."""
    with tempfile.TemporaryDirectory() as directory:
        key, certificate = f"{directory}/key.pem", f"{directory}/certificate.pem"
        command = [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "1",
            "-subj",
            "/CN=127.0.0.1",
        ]
        subprocess.run(
            [*command, "-keyout", key, "-out", certificate], check=True, capture_output=True
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        with serve(server, context) as address:
            yield address
