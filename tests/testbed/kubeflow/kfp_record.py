"""What a run of the whole left behind, as files that other tests read.

tests/golden/kubeflow/records/whole is one; its README has the command that makes it again.
"""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

WORKFLOW, TASKS, WAIT, SECONDS = "workflow.json.gz", "tasks.json", "wait.txt", "seconds.json"
PIPELINE = "pipeline.yaml"
_NOT_KEPT = ("managedFields",)


def compact(value: Any) -> str:
    """As Kubernetes stores an object."""
    return json.dumps(value, separators=(",", ":"))


def write_record(
    place: Path,
    *,
    pipeline: Path,
    workflow: dict[str, Any],
    run: dict[str, Any],
    said: str,
    seconds: dict[str, float],
) -> None:
    """Of the first run: what ran, the Workflow as stored, the server's tasks, `wait`'s words."""
    place.mkdir(parents=True, exist_ok=True)
    (place / PIPELINE).write_bytes(pipeline.read_bytes())
    kept = {key: value for key, value in workflow["metadata"].items() if key not in _NOT_KEPT}
    text = compact({**workflow, "metadata": kept}).encode()
    (place / WORKFLOW).write_bytes(gzip.compress(text, mtime=0))
    details = run["run_details"]["task_details"]
    (place / TASKS).write_text(json.dumps(details, indent=1) + "\n")
    (place / WAIT).write_text(said)
    rounded = {what: round(taken) for what, taken in seconds.items()}
    (place / SECONDS).write_text(json.dumps(rounded, indent=1) + "\n")


def steps_that_succeeded(said: str) -> list[str]:
    """In the table that `yt8m kubeflow wait` ends with."""
    return sorted(re.findall(r"^(\w+) +SUCCEEDED\b", said, flags=re.MULTILINE))


def read_workflow(place: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(gzip.decompress((place / WORKFLOW).read_bytes()))
    return found
