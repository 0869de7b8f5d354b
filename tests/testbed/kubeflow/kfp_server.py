"""A double of the Kubeflow Pipelines v2beta1 API: a real HTTP server that keeps state.

Every request and every answer is checked (by the installed models, or by the OpenAPI document
handed in), and it can be told to fail. It runs no pipeline: a test moves its runs on.
"""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import yaml
from http_double import HttpDouble, respond
from kfp_schema import Check, check_by_models
from kubeflow_facts import NEWEST, VERSIONS
from werkzeug import Request, Response
from werkzeug.datastructures import FileStorage
from werkzeug.routing import Map, Rule

_API = "/apis/v2beta1"
_LIST_QUERY = {"namespace", "page_token", "page_size", "sort_by", "filter"}
# Of each store: its key in lists, its model, and the key of an id.
_STORES = {
    "pipelines": ("pipelines", "Pipeline", "pipeline_id"),
    "experiments": ("experiments", "Experiment", "experiment_id"),
    "runs": ("runs", "Run", "run_id"),
    "recurringruns": ("recurringRuns", "RecurringRun", "recurring_run_id"),
    "versions": ("pipeline_versions", "PipelineVersion", "pipeline_version_id"),
}
# Method, path and the method of the double that answers.
_ROUTES = """
GET    /healthz                                                     health
POST   /pipelines                                                   create_pipeline
POST   /pipelines/upload_version                                    upload_version
GET    /pipelines/<parent>/<any(versions):store>                    list_items
GET    /pipelines/<parent>/<any(versions):store>/<key>              get
DELETE /pipelines/<parent>/<any(versions):store>/<key>              delete
POST   /experiments                                                 create_experiment
POST   /runs                                                        create_run
GET    /<any(runs):store>/<key>                                     get
POST   /runs/<key>:terminate                                        terminate
POST   /runs/<key>:retry                                            retry
POST   /runs/<key>:<any(archive,unarchive):verb>                    archive
POST   /recurringruns                                               create_schedule
POST   /recurringruns/<key>:<any(enable,disable):verb>              switch
GET    /<any(pipelines,experiments,runs,recurringruns):store>       list_items
DELETE /<any(pipelines,experiments,runs,recurringruns):store>/<key> delete
"""


class KfpServer(HttpDouble):
    """The state, and the rules of the real server that matter to a client."""

    prefix = _API
    routes = Map(
        [
            Rule(_API + path, methods=[method], endpoint=endpoint)
            for method, path, endpoint in map(str.split, _ROUTES.strip().splitlines())
        ]
    )

    def __init__(
        self, check: Check = check_by_models, page_size: int = 2, version: str = NEWEST
    ) -> None:
        super().__init__()
        self.check, self.page_size = check, page_size
        self.facts, self.multi_user = VERSIONS[version], True
        # Made in the cluster, and shown by no list when the server then failed.
        self.workflows: list[str] = []
        self.token, self.cookie = "", ""
        self.stores: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in _STORES}
        self.pipelines, self.experiments = self.stores["pipelines"], self.stores["experiments"]
        self.runs, self.schedules = self.stores["runs"], self.stores["recurringruns"]
        self.versions = self.stores["versions"]
        self.violations: list[str] = []
        self._ticks = 0

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

    def now(self) -> str:
        self._ticks += 1
        at = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=self._ticks)
        return at.strftime("%Y-%m-%dT%H:%M:%SZ")

    def answer(self, request: Request) -> Response:
        if self.token and request.headers.get("Authorization") != f"Bearer {self.token}":
            what = {"error": "Unauthenticated", "code": 16, "message": "no identity"}
            return respond(what, 401)
        if self.cookie and request.headers.get("Cookie") != self.cookie:
            return Response(status=302, headers={"Location": "/dex/auth"})
        return super().answer(request)

    def error(self, status: int, message: str) -> Response:
        message += "\ngithub.com/kubeflow/pipelines/backend/src/stack.go:1"
        return respond({"error_message": message, "message": message}, status)

    def health(self, request: Request) -> Any:
        return {"multi_user": self.multi_user}

    def list_items(self, request: Request, store: str, parent: str = "") -> Any:
        query = request.args
        extra = {"experiment_id"} if store in ("runs", "recurringruns") else set()
        if unknown := query.keys() - _LIST_QUERY - extra:
            self.refuse(400, f"unknown query parameters {sorted(unknown)}")
        wanted = {"pipeline_id": parent, "experiment_id": query.get("experiment_id")}
        wanted = {key: value for key, value in wanted.items() if value}
        if store == "pipelines" and self.multi_user:  # without a namespace: the shared ones
            wanted["namespace"] = query.get("namespace", "")
        items = [
            item
            for item in self.stores[store].values()
            if all(item.get(key, "") == value for key, value in wanted.items())
        ]
        if query.get("sort_by", "").endswith("desc"):
            items.reverse()
        start = int(query.get("page_token") or 0)
        end = start + min(int(query.get("page_size") or 20), self.page_size)
        key, model, _ = _STORES[store]
        page: dict[str, Any] = {key: items[start:end], "total_size": len(items)}
        if end < len(items):
            page["next_page_token"] = str(end)
        return self._checked(f"V2beta1List{model}sResponse", page)

    def get(self, request: Request, store: str, key: str, parent: str = "") -> Any:
        return self._checked(f"V2beta1{_STORES[store][1]}", self._found(store, key))

    def delete(self, request: Request, store: str, key: str, parent: str = "") -> Any:
        self._found(store, key)
        del self.stores[store][key]
        return {}

    def create_pipeline(self, request: Request) -> Any:
        data = self._sent(request, "Pipeline")
        if not data.get("display_name"):
            self.refuse(400, "Invalid input error: pipeline name is empty")
        return self._create_named("pipelines", "pipeline", data, "namespace")

    def create_experiment(self, request: Request) -> Any:
        data = self._sent(request, "Experiment")
        return self._create_named("experiments", "experiment", data, "namespace")

    def _create_named(self, store: str, what: str, data: dict[str, Any], place: str) -> Any:
        """Something whose name nobody else has in that namespace or pipeline."""
        name = data.get("display_name", "")
        self._check_length(what, name)
        there = [(o["display_name"], o.get(place, "")) for o in self.stores[store].values()]
        if not name or (name, data.get(place, "")) in there:
            self.refuse(409, f"Already exist error: The name {name} already exist")
        return self._create(store, data)

    def _create(self, store: str, data: dict[str, Any]) -> Any:
        _, model, key = _STORES[store]
        made = {**data, key: str(uuid.uuid4()), "created_at": self.now()}
        self.stores[store][made[key]] = made
        return self._checked(f"V2beta1{model}", made)

    def upload_version(self, request: Request) -> Any:
        pipeline_id = request.args.get("pipelineid", "")
        if pipeline_id not in self.pipelines:
            self.refuse(404, f"ResourceNotFoundError: Pipeline {pipeline_id} not found")
        file = request.files.get("uploadfile")
        if file is None:
            self.refuse(400, "Failed to upload: no form file uploadfile")
        if not str(file.filename).endswith((".yaml", ".yml", ".zip", ".tar.gz")):
            self.refuse(400, "Unexpected pipeline file format. Support .zip, .tar.gz or YAML")
        data = {"pipeline_id": pipeline_id, "display_name": request.args.get("name", "")}
        data["description"] = request.args.get("description", "")
        data["pipeline_spec"] = self._uploaded(file)
        return self._create_named("versions", "version", data, "pipeline_id")

    def _uploaded(self, file: FileStorage) -> Any:
        spec, *more = yaml.safe_load_all(file.read())
        if not isinstance(spec, dict) or spec.get("schemaVersion") != "2.1.0":
            self.refuse(400, "Invalid input error: KFP only supports schema version 2.1.0")
        return {"pipeline_spec": spec, "platform_spec": more[0]} if more else spec

    def create_run(self, request: Request) -> Any:
        data = self._sent(request, "Run")
        self._check_launch(data)
        self.workflows.append(data["display_name"])
        self._check_length("run", data["display_name"])
        state = {"finished_at": "1970-01-01T00:00:00Z", "state": "PENDING"}
        return self._create("runs", {**data, **state})

    def create_schedule(self, request: Request) -> Any:
        data = self._sent(request, "RecurringRun")
        self._check_launch(data)
        if not 1 <= int(data.get("max_concurrency", 0)) <= 10:
            self.refuse(400, "Invalid input error: max concurrency must be 1 to 10")
        cron = data.get("trigger", {}).get("cron_schedule", {}).get("cron", "")
        if len(cron.split()) not in (5, 6):
            self.refuse(400, f"Invalid input error: cron {cron!r}")
        mode = data.get("mode")
        if mode not in ("ENABLE", "DISABLE"):
            self.refuse(400, "Invalid input error: mode")
        self.workflows.append(data["display_name"])
        self._check_length("schedule", data["display_name"])
        return self._create("recurringruns", {**data, "status": f"{mode}D"})

    def switch(self, request: Request, key: str, verb: str) -> Any:
        schedule = self._found("recurringruns", key)
        schedule |= {"status": f"{verb.upper()}D", "mode": verb.upper()}
        return {}

    def terminate(self, request: Request, key: str) -> Any:
        self._found("runs", key)
        self.set_state(key, "CANCELED")
        return {}

    def retry(self, request: Request, key: str) -> Any:
        if self._found("runs", key)["state"] not in ("FAILED", "CANCELED"):
            self.refuse(400, "Only failed/error runs can be retried")
        self.set_state(key, "RUNNING")
        return {}

    def archive(self, request: Request, key: str, verb: str) -> Any:
        self._found("runs", key)["storage_state"] = "ARCHIVED" if verb == "archive" else "AVAILABLE"
        return {}

    def _found(self, store: str, key: str) -> dict[str, Any]:
        if key not in self.stores[store]:
            self.refuse(404, f"ResourceNotFoundError: {key} not found")
        return self.stores[store][key]

    def _check_length(self, what: str, name: str) -> None:
        """A column that is too short is noticed by the database, as a 500."""
        if len(name) > self.facts.longest_name[what]:
            self.refuse(500, "InternalServerError: Data too long for column 'DisplayName'")

    def _check_launch(self, data: dict[str, Any]) -> None:
        if not data.get("display_name"):
            self.refuse(400, "Invalid input error: name is empty")
        if data.get("experiment_id") not in self.experiments:
            self.refuse(404, "ResourceNotFoundError: Experiment not found")
        reference = data.get("pipeline_version_reference", {})
        spec = self._found("versions", reference.get("pipeline_version_id", ""))["pipeline_spec"]
        spec = spec.get("pipeline_spec", spec)
        known = spec.get("root", {}).get("inputDefinitions", {}).get("parameters", {})
        given = data.get("runtime_config", {}).get("parameters", {})
        for name in given.keys() - known.keys():
            self.refuse(400, f"Invalid input error: parameter {name} is not in the spec")
        missing = [n for n, p in known.items() if n not in given and "defaultValue" not in p]
        if [n for n in missing if not known[n].get("isOptional")]:
            self.refuse(400, f"Invalid input error: missing parameters {missing}")

    def _sent(self, request: Request, model: str) -> dict[str, Any]:
        data: dict[str, Any] = request.get_json()
        if problems := self.check(f"V2beta1{model}", data):
            self.violations += problems
            self.refuse(400, "; ".join(problems))
        return data

    def _checked(self, model: str, data: Any) -> Any:
        self.violations += self.check(model, data)
        return data
