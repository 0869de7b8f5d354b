"""Runs of a root as MLflow's, so that they outlive its metadata and its artifacts.

A run is found again by its id, a tag. One that is complete is left alone; one that an
export left unfinished is deleted and written again, so that no point of a curve is there twice.
"""

from __future__ import annotations

import json
import logging
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.pipeline.results.model_results import executions_of, results_of_run
from yt8m.pipeline.run_record import display_status
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.config_tree import flatten
from yt8m.schemas.errors import UserError, Yt8mError

RUN_ID = "yt8m.run_id"
_INSTALL = "`make mlflow` in a checkout, or install yt8m-pipeline[mlflow]"
# MLflow's own limits.
_LONGEST_VALUE = {"params": 6000, "tags": 5000}
_BATCH = {"params": 100, "tags": 100, "metrics": 1000}
_STATUS = {
    Verdict.PUSHED: "FINISHED",
    Verdict.REJECTED: "FINISHED",
    Verdict.UP_TO_DATE: "FINISHED",
    Verdict.FAILED: "FAILED",
}
_KILLED = "KILLED"  # interrupted, terminated, killed
# What of a curve's row is no value: its place, and its time.
_NO_VALUES = ("kind", "step", "seconds")


def connect(uri: str) -> Any:
    """An MlflowClient of the store at `uri`; UserError where there is no MLflow, or no store."""
    for noisy in ("mlflow", "alembic", "urllib3.connectionpool"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    os.environ.setdefault("MLFLOW_LOGGING_LEVEL", "ERROR")
    os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
    os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "2")  # its seven take minutes
    try:
        from mlflow.exceptions import MlflowException
        from mlflow.tracking import MlflowClient
    except ImportError as error:
        raise UserError(f"--mlflow: MLflow's client is missing ({error}); {_INSTALL}") from error
    try:
        client = MlflowClient(tracking_uri=uri)
        client.search_experiments(max_results=1)
    except (MlflowException, ImportError) as error:
        raise UserError(f"--mlflow {uri}: {_first_line(error)}") from error
    return client


def export_runs(
    client: Any, layout: Layout, records: Sequence[RunRecord], experiment: str = ""
) -> Iterator[tuple[RunRecord, str]]:
    """Write what is not there yet, the oldest first; each run with its id in MLflow.

    The experiment is the pipeline's name unless `experiment` gives another. A run that is under
    way is left for the next time.
    """
    from mlflow.exceptions import MlflowException

    for record in sorted(records, key=lambda r: r.run_id):
        if record.verdict is Verdict.RUNNING:
            continue
        name = experiment or str(record.config.get("name") or "yt8m")
        try:
            known = _known(client, name, record)
            yield record, known or _write(client, _experiment(client, name), layout, record)
        except MlflowException as error:
            raise Yt8mError(f"MLflow, run {record.run_id}: {_first_line(error)}") from error


def _known(client: Any, experiment: str, record: RunRecord) -> str:
    """The run in MLflow, "" where it is not; what an export left unfinished goes."""
    known = client.get_experiment_by_name(experiment)
    if known is None:
        return ""
    whole = ""
    query = f"tags.`{RUN_ID}` = '{record.run_id}'"
    for run in client.search_runs([known.experiment_id], query):
        if run.info.status == "RUNNING":
            client.delete_run(run.info.run_id)
        else:
            whole = str(run.info.run_id)
    return whole


def _experiment(client: Any, name: str) -> str:
    known = client.get_experiment_by_name(name)
    return str(client.create_experiment(name) if known is None else known.experiment_id)


def _write(client: Any, experiment: str, layout: Layout, record: RunRecord) -> str:
    started = int(record.started * 1000)
    run = client.create_run(
        experiment, start_time=started, run_name=record.run_id, tags={RUN_ID: record.run_id}
    )
    run_id = str(run.info.run_id)
    _log(client, run_id, "params", flatten(record.config))
    _log(client, run_id, "tags", _tags(layout, record))
    _log_metrics(client, run_id, _metrics(layout, record), started)
    ended = int((record.started + record.seconds) * 1000)
    client.set_terminated(run_id, _STATUS.get(record.verdict, _KILLED), ended)
    return run_id


def _tags(layout: Layout, record: RunRecord) -> dict[str, Any]:
    """Tags with the run's identity and the places of its artifacts."""
    noted = {
        "verdict": record.verdict.value,
        "reason": record.reason,
        "version": record.version or None,
        "push_dir": record.push_dir,
        "baseline_version": record.baseline_version or None,
        "spans": ",".join(map(str, record.spans)),
        "retraining": record.retraining or None,
        "run_key": record.run_key,
        "fingerprint": record.fingerprint,
        "source_digest": record.source_digest,
        "root": layout.root,
        "report": record.report,
        "code": version("yt8m-pipeline"),
        **{
            f"artifact.{execution.node}.{output.key}": output.uri
            for execution in executions_of(layout, record)
            for output in execution.outputs
        },
    }
    tags = {f"yt8m.{name}": value for name, value in noted.items() if value not in (None, "")}
    return {**tags, "mlflow.note.content": display_status(record.verdict.value, record.reason)}


def _metrics(layout: Layout, record: RunRecord) -> Iterator[tuple[str, Any, int]]:
    """Name, value and step: the evaluation with its intervals, each component, the curve."""
    results = results_of_run(layout, record)
    decision = results.outputs.decision
    differences = decision.differences if decision else {}
    for suffix, estimates in (("", results.metrics), ("_difference", differences)):
        for name, one in estimates.items():
            yield f"{name}{suffix}", one.value, 0
            yield f"{name}{suffix}_lower", one.lower, 0
            yield f"{name}{suffix}_upper", one.upper, 0
    yield "seconds", record.seconds, 0
    for node in record.nodes:
        yield f"components/{node.name}/seconds", node.seconds or None, 0
        yield f"components/{node.name}/peak_mib", node.peak_mib or None, 0
    for row in results.outputs.curve:
        for name, value in row.items():
            if name not in _NO_VALUES:
                yield f"{row['kind']}/{name}", value, row["step"]


def _log(client: Any, run_id: str, kind: str, values: Mapping[str, Any]) -> None:
    from mlflow.entities import Param, RunTag

    make = Param if kind == "params" else RunTag
    entries = [make(name, _text(value, _LONGEST_VALUE[kind])) for name, value in values.items()]
    for begin in range(0, len(entries), _BATCH[kind]):
        client.log_batch(run_id, **{kind: entries[begin : begin + _BATCH[kind]]})


def _log_metrics(
    client: Any, run_id: str, metrics: Iterator[tuple[str, Any, int]], at: int
) -> None:
    """Numbers alone: what is undefined is left out, as MLflow's stores differ in what they take."""
    from mlflow.entities import Metric

    entries = [
        Metric(name, float(value), at, step)
        for name, value, step in metrics
        if isinstance(value, int | float) and math.isfinite(value)
    ]
    for begin in range(0, len(entries), _BATCH["metrics"]):
        client.log_batch(run_id, metrics=entries[begin : begin + _BATCH["metrics"]])


def _text(value: Any, longest: int) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
