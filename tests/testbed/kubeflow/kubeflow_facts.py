"""What differs by version of Kubeflow Pipelines and kind of training job: it sets the doubles.

Observed by running the projects' own drivers, launchers, API servers and controllers
(tests/golden/kubeflow/records); 2.0.5's API server was not run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_RECORDS = Path(__file__).parents[2] / "golden" / "kubeflow" / "records"
_JOBS = json.loads((_RECORDS / "training_jobs.json").read_text(encoding="utf-8"))
_SHORT = {"pipeline": 128, "experiment": 128, "version": 127, "run": 255, "schedule": 255}


@dataclass(frozen=True, kw_only=True)
class Facts:
    """One version of driver, launcher and API server."""

    executor_logs: bool  # an output of every task, unless PUBLISH_LOGS is "false"
    logs_after_failure: bool = False  # uploaded then too
    output_file_in_task_root: bool = False  # before: one path below /tmp
    named_outputs: bool = False  # output artifacts carry their key as name
    salted_uris: bool = True  # one UUID for all outputs of a task
    store_session_info: bool = True  # in the metadata of inputs
    pull_options: bool = True  # imagePullPolicy and imagePullSecret in the platform document
    longest_name: Mapping[str, int] = field(default_factory=lambda: dict.fromkeys(_SHORT, 255))


VERSIONS: Mapping[str, Facts] = {
    "2.0.5": Facts(
        executor_logs=False, salted_uris=False, store_session_info=False, pull_options=False
    ),
    "2.5.0": Facts(executor_logs=True),
    "2.17.0": Facts(
        executor_logs=True,
        logs_after_failure=True,
        output_file_in_task_root=True,
        named_outputs=True,
        longest_name=_SHORT,
    ),
}
NEWEST = "2.17.0"


@dataclass(frozen=True, kw_only=True)
class Operator:
    """How a controller serves its kind of job: as recorded of one, with Kubernetes 1.34.4."""

    kind: str
    name_label: str
    role_label: str
    index_label: str

    @property
    def record(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = _JOBS[self.kind]
        return found

    @property
    def collection(self) -> tuple[str, str, str]:
        """Group, version and plural."""
        group, _, version = self.record["succeeded"]["apiVersion"].partition("/")
        return group, version, f"{self.kind.lower()}s"

    def pod_name(self, job: str, role: str, index: int) -> str:
        """As of the recorded chief; what Kubernetes appends by chance stays the same."""
        name = next(iter(self.record["pods"])).replace(self.record["succeeded"]["name"], job)
        return str(name).replace("-chief-0", f"-{role}-{index}", 1)

    def condition(self, job: str, *, succeeded: bool) -> dict[str, str]:
        """What a job that is over has for its last condition."""
        ended = self.record["succeeded" if succeeded else "failed"]
        last = ended["conditions"][-1]
        return {**last, "message": last["message"].replace(ended["name"], job)}


OPERATORS: Mapping[str, Operator] = {
    "TFJob": Operator(
        kind="TFJob",
        name_label="training.kubeflow.org/job-name",
        role_label="training.kubeflow.org/replica-type",
        index_label="training.kubeflow.org/replica-index",
    ),
    "JobSet": Operator(
        kind="JobSet",
        name_label="jobset.sigs.k8s.io/jobset-name",
        role_label="jobset.sigs.k8s.io/replicatedjob-name",
        index_label="jobset.sigs.k8s.io/job-index",
    ),
}
