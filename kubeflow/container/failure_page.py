"""The report of a run that a failed task has ended, on the volume that all pods share.

Report does not run after a failed task. The exit handler of Kubeflow needs all steps in a nested
pipeline, and its task cannot take the artifacts of steps, of which the failed one has none
(docs/decisions/0104). So the pod that fails writes the page, from its inputs and from what it has
begun to write.
"""

from __future__ import annotations

import json
import logging
import re
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from yt8m.components.artifacts.run_outputs import OUTPUTS, RunOutputs
from yt8m.components.artifacts.run_record import NodeRecord, RunRecord, State, Verdict
from yt8m.kubeflow.container.references import forget_unused
from yt8m.kubeflow.parameter_text import restored

_log = logging.getLogger(__name__)
_FOLDER = "failed"
# <pipeline>/<run>/<task>/ in the URI of each of a task's outputs.
_PLACE = re.compile(
    r"/(?P<pipeline>[^/\"]+)/(?P<run>[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/(?P<task>[^/\"]+)/"
)
_NAMES = {output: name for name, output in OUTPUTS.items()}
# Inputs of steps that are called otherwise than in `OUTPUTS`.
_INPUTS = {"baseline_model": "baseline", "base_model": "baseline"}


def leave_failure_page(
    error: str, invocation: str, environ: Mapping[str, str], *, started: float
) -> str:
    """Write the page and return its path; "" without a work directory.

    invocation: the driver's ExecutorInput. Once the inputs are prepared, it has their places in
    this pod. Whatever fails here is logged, for the task's own error is what counts.
    """
    work_dir = environ.get("YT8M_WORK_DIR", "")
    if not work_dir:
        return ""
    failed = Path(work_dir, _FOLDER)
    try:
        executor_input = json.loads(invocation)
        place = _PLACE.search(json.dumps(executor_input.get("outputs", {})))
        if place is None:
            return ""
        page = _write(error, executor_input, place, failed / place["run"], started)
        forget_unused(failed)
    except Exception:
        _log.warning("the page of the failed run could not be written", exc_info=True)
        return ""
    return page


def _write(
    error: str,
    executor_input: Mapping[str, Any],
    place: re.Match[str],
    directory: Path,
    started: float,
) -> str:
    # Imported where it is needed: no task that succeeds makes a page.
    from yt8m.components.report.collect import collect
    from yt8m.components.report.page import write_report

    parameters = executor_input.get("inputs", {}).get("parameterValues", {})
    node = NodeRecord(
        name=place["task"],
        state=State.FAILED,
        started=started,
        seconds=time.time() - started,
        error=error,
    )
    record = RunRecord(
        run_id=place["run"], started=started, verdict=Verdict.FAILED, reason=error, nodes=(node,)
    )
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        file.write(record.to_json())
        file.flush()
        report = collect(
            RunOutputs(dict(_artifacts(executor_input, place["task"]))),
            configuration=json.loads(restored(parameters.get("configuration") or "{}")),
            pipeline=place["pipeline"],
            run_file=file.name,
        )
    return write_report(report, str(directory))


def _artifacts(executor_input: Mapping[str, Any], task: str) -> Iterator[tuple[str, str]]:
    """Name and local directory of each artifact that this pod has."""
    for side in ("inputs", "outputs"):
        for key, listed in executor_input.get(side, {}).get("artifacts", {}).items():
            is_output = side == "outputs"
            name = (_NAMES.get((task, key)) if is_output else _INPUTS.get(key, key)) or ""
            for artifact in listed.get("artifacts", []):
                if name in OUTPUTS and Path(artifact["uri"]).is_dir():
                    yield name, artifact["uri"]
