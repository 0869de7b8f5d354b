"""What differs by version of Kubeflow Pipelines and kind of training job: it sets the doubles.

Observed by running the projects' own drivers, launchers, API servers and controllers
(tests/golden/kubeflow/records); 2.0.5's API server was not run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
class Ended:
    """The condition of a job that is over."""

    type: str
    reason: str
    message: str  # of `job`


@dataclass(frozen=True, kw_only=True)
class Operator:
    """How a controller serves its kind of job, and what it makes of one."""

    version: str  # that was run, with Kubernetes 1.34.4
    plural: str
    group: str
    api: str
    pod: str  # what it calls the pod `index` of `role` in `job`
    name_label: str
    role_label: str
    index_label: str
    succeeded: Ended
    failed: Ended

    def pod_name(self, job: str, role: str, index: int) -> str:
        return self.pod.format(job=job, role=role, index=index)


OPERATORS: Mapping[str, Operator] = {
    "TFJob": Operator(
        version="1.8.1",
        plural="tfjobs",
        group="kubeflow.org",
        api="v1",
        pod="{job}-{role}-{index}",
        name_label="training.kubeflow.org/job-name",
        role_label="training.kubeflow.org/replica-type",
        index_label="training.kubeflow.org/replica-index",
        succeeded=Ended(
            type="Succeeded",
            reason="TFJobSucceeded",
            message="TFJob team/{job} successfully completed.",
        ),
        failed=Ended(
            type="Failed",
            reason="TFJobFailed",
            message="Job {job} has failed because it has reached the specified backoff limit",
        ),
    ),
    "JobSet": Operator(
        version="0.8.0",
        plural="jobsets",
        group="jobset.x-k8s.io",
        api="v1alpha2",
        pod="{job}-{role}-{index}-0-zfx7d",  # the Job's index in a set of one, and chance
        name_label="jobset.sigs.k8s.io/jobset-name",
        role_label="jobset.sigs.k8s.io/replicatedjob-name",
        index_label="jobset.sigs.k8s.io/job-index",
        succeeded=Ended(
            type="Completed", reason="AllJobsCompleted", message="jobset completed successfully"
        ),
        failed=Ended(
            type="Failed",
            reason="ReachedMaxRestarts",
            message="jobset failed due to reaching max number of restarts "
            "(first failed job: {job}-chief-0)",
        ),
    ),
}
