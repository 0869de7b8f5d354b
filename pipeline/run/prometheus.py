"""`retrain.prom`: a root's schedule and newest retraining as metrics for Prometheus.

Every series has the labels `pipeline` and `root`. What is not known is left out.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from yt8m.components import storage
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.components.registry.versions import in_service, load_record
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.run.retrain_status import RetrainOutcome, RetrainStatus, read_status
from yt8m.pipeline.run_record import newest_retraining, read_run_records
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.errors import Yt8mError

_ESCAPED = {"\\": r"\\", '"': r"\"", "\n": r"\n"}
_ROOT_LABEL = re.compile(r'[{,]root="((?:[^"\\]|\\.)*)"')
Samples = Iterator[tuple[Mapping[str, str], float | None]]  # further labels, and the value


@dataclass(frozen=True, kw_only=True)
class ServedModel:
    """The version in service, as of the last look."""

    version: int
    pushed: float | None = None  # seconds since the epoch; None for another maker's model


def find_served(push_dir: str) -> ServedModel | None:
    """Look into the registry; None where there is none, or it cannot be read now."""
    if not push_dir:
        return None
    try:
        served = in_service(push_dir)
        if not served:
            return ServedModel(version=0)
        if served.foreign:
            return ServedModel(version=served.version)
        created = load_record(push_dir, served.version).created
        pushed = datetime.datetime.fromisoformat(created).timestamp() if created else None
        return ServedModel(version=served.version, pushed=pushed)
    except (Yt8mError, OSError, ValueError):
        return None


def write_metrics(
    config: PipelineConfig,
    *,
    status: RetrainStatus | None = None,
    served: ServedModel | None = None,
) -> None:
    """Replace the file. What is not given is read from the root, and from the registry."""
    layout = Layout(_root_of(config))
    text = metrics_text(
        {"pipeline": config.name, "root": layout.root},
        status or read_status(layout),
        _newest_run(layout),
        served or find_served(config.pusher.push_dir),
    )
    storage.write_text(config.retrain.metrics_file or layout.schedule_metrics, text)


def _newest_run(layout: Layout) -> RunRecord | None:
    """The newest retraining: an experiment may be on other data, or against another baseline.

    On a root without retrainings, the newest run.
    """
    newest = next(read_run_records(layout), None)
    return newest_retraining(read_run_records(layout)) or newest


def other_root(config: PipelineConfig) -> str:
    """The other root that `retrain.metrics_file` belongs to; empty where there is none."""
    try:
        text = storage.read_text(config.retrain.metrics_file) if config.retrain.metrics_file else ""
    except FileNotFoundError:
        return ""
    own = storage.real_name(config.root)
    roots = map(_unescaped, _ROOT_LABEL.findall(text))
    return next((root for root in roots if storage.real_name(root) != own), "")


def _root_of(config: PipelineConfig) -> str:
    return storage.absolute(config.root)


def metrics_text(
    labels: Mapping[str, str],
    status: RetrainStatus | None,
    run: RunRecord | None,
    served: ServedModel | None,
) -> str:
    """The whole file, in Prometheus' text format."""
    families = [
        *(_of_schedule(status) if status else ()),
        *(_of_run(run) if run else ()),
        *(_of_service(served) if served else ()),
    ]
    return "".join(_family(f"yt8m_{name}", help_, labels, s) for name, help_, s in families)


def _of_schedule(status: RetrainStatus) -> Iterator[tuple[str, str, Samples]]:
    for name, help_, value in (
        ("heartbeat_timestamp_seconds", "Time of the schedule's last heartbeat", status.alive),
        ("period_seconds", "Longest time between two scheduled runs", status.period),
        ("schedule_started_timestamp_seconds", "Start of the schedule", status.started),
        ("last_run_timestamp_seconds", "Start of the last retraining", status.last_run),
        ("last_end_timestamp_seconds", "End of the last retraining", status.last_end),
        ("next_run_timestamp_seconds", "When the next retraining is due", status.next_run),
        (
            "last_success_timestamp_seconds",
            "End of the last retraining that did not fail",
            status.last_success,
        ),
        ("last_push_timestamp_seconds", "End of the last retraining that pushed", status.last_push),
        (
            "last_exit_code",
            "Exit code: 0 pushed, 3 rejected, 4 nothing new",
            status.last_exit_code,
        ),
        ("failures_in_a_row", "Failed retrainings since one did not fail", status.failures),
        ("rejected_in_a_row", "Models rejected since one was pushed", status.rejected),
    ):
        yield f"retrain_{name}", help_, _single(value)
    yield (
        "retrain_runs_total",
        "Retrainings by outcome; retries are part of one",
        (({"outcome": o.value}, status.outcomes.get(o.value, 0)) for o in RetrainOutcome),
    )


def _of_run(run: RunRecord) -> Iterator[tuple[str, str, Samples]]:
    ended = None if run.verdict is Verdict.RUNNING else run.exit_code
    yield "run_start_timestamp_seconds", "Start of the newest retraining", _single(run.started)
    yield "run_seconds", "Duration of the newest retraining", _single(run.seconds or None)
    yield "run_exit_code", "Exit code: 0 pushed, 3 rejected; others failed", _single(ended)
    yield (
        "run_version",
        "Version that the newest retraining pushed; 0 is none",
        _single(run.version),
    )
    yield (
        "run_step_seconds",
        "Duration of each step of the newest retraining",
        (({"step": node.name}, node.seconds or None) for node in run.nodes),
    )
    yield "run_records", "Records read, by split", _by("split", run.records)
    yield "run_records_left_out", "Bad records left out, by split", _by("split", run.left_out)
    yield "run_metric", "Metrics of the newest retraining's model", _by("metric", run.metrics)
    yield (
        "run_metric_difference",
        "Metrics of the newest retraining's model minus the baseline's",
        _by("metric", run.differences),
    )
    yield from _estimates(
        "baseline_metric",
        "metric of the baseline on the newest retraining's evaluation records",
        [({"metric": name}, estimate) for name, estimate in run.baseline_metrics.items()],
    )
    yield from _estimates(
        "gate_margin",
        "distance to a threshold of the gate, positive where it is kept",
        [
            ({"metric": c.metric, "slice": c.slice, "threshold": c.needed}, c.margin)
            for c in run.checks
            if c.applied
        ],
    )


def _of_service(served: ServedModel) -> Iterator[tuple[str, str, Samples]]:
    yield "served_version", "Version in service; 0 is none", _single(served.version)
    yield (
        "served_version_pushed_timestamp_seconds",
        "When the version in service was pushed",
        _single(served.pushed),
    )


def _estimates(
    name: str, help_: str, rows: list[tuple[dict[str, str], Estimate]]
) -> Iterator[tuple[str, str, Samples]]:
    """A family of values, and one each of the bounds of their intervals."""
    yield name, f"The {help_}", ((labels, e.value) for labels, e in rows)
    yield f"{name}_lower", f"Lower bound of the {help_}", ((labels, e.lower) for labels, e in rows)
    yield f"{name}_upper", f"Upper bound of the {help_}", ((labels, e.upper) for labels, e in rows)


def _single(value: float | None) -> Samples:
    yield {}, value


def _by(label: str, values: Mapping[str, float]) -> Samples:
    return (({label: name}, value) for name, value in values.items())


def _family(name: str, help_: str, labels: Mapping[str, str], samples: Samples) -> str:
    # Of two samples with the same labels the last: the collector refuses a file that repeats one.
    values = {_labels({**labels, **more}): value for more, value in samples if value is not None}
    lines = [f"{name}{{{text}}} {_number(value)}\n" for text, value in values.items()]
    kind = "counter" if name.endswith("_total") else "gauge"
    return f"# HELP {name} {help_}\n# TYPE {name} {kind}\n{''.join(lines)}" if lines else ""


def _labels(labels: Mapping[str, str]) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(text: str) -> str:
    return re.sub(r'[\\"\n]', lambda match: _ESCAPED[match[0]], text)


def _unescaped(text: str) -> str:
    meant = {escaped: character for character, escaped in _ESCAPED.items()}
    return re.sub(r"\\.", lambda match: meant.get(match[0], match[0]), text)


def _number(value: float) -> str:
    return f"{value:.6f}".rstrip("0").rstrip(".")
