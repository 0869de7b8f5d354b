"""What differs between the versions of Kubeflow Pipelines: one table, which sets the doubles.

Observed by running the project's own drivers, launchers and API servers
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
