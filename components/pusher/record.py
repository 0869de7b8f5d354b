"""What goes on record with a version, gathered from the artifacts that it was made from."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from yt8m.components.artifacts import decision as decision_file
from yt8m.components.artifacts import export_info, infra_check, manifest
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.read import read_if_present
from yt8m.components.artifacts.version_record import DataRecord, VersionRecord
from yt8m.components.registry.baseline_artifact import baseline_record


def create_record(
    *,
    model_dir: str,
    uri_by_input: Mapping[str, str],
    configuration: Mapping[str, Any],
    blessed: bool,
    run_key: str,
    code: str,
) -> VersionRecord:
    """The record of the model in `model_dir`; inputs that are not there leave their part empty.

    Without a configuration, the one that was exported with the model goes on record.
    """
    decision = read_json(uri_by_input.get("model_blessing"), decision_file.FILE_NAME)
    exported = read_json(model_dir, export_info.FILE_NAME).get("config", {})
    serving = read_json(uri_by_input.get("infra_blessing"), infra_check.FILE_NAME)
    baseline = uri_by_input.get("baseline")
    compared = baseline_record(baseline) if baseline else None
    return VersionRecord(
        run_key=run_key,
        blessed=blessed,
        reason=_reason(decision, serving),
        baseline_version=compared.version if compared else 0,
        metrics=metric_records(decision.get("metrics", {})),
        decision=decision,
        infra_check=serving,
        data=_data(uri_by_input.get("examples")),
        configuration=export_info.trained_configuration(configuration, exported) or dict(exported),
        code_version=code,
        lineage={name: uri for name, uri in uri_by_input.items() if uri},
    )


def _reason(decision: Mapping[str, Any], serving: Mapping[str, Any]) -> str:
    """The gate's, unless it has blessed what cannot be served."""
    held_back = serving and not serving.get("blessed") and not serving.get("skipped")
    return str((serving if held_back else decision).get("reason", ""))


def metric_records(metrics: Mapping[str, Any]) -> dict[str, Estimate]:
    """Metrics by name, each a number or a mapping with `value`, `lower` and `upper`."""
    found = {}
    for name, metric in metrics.items():
        parts = metric if isinstance(metric, Mapping) else {"value": metric}
        found[name] = Estimate(
            **{key: _finite(parts.get(key)) for key in ("value", "lower", "upper")}
        )
    return found


def read_json(directory: str | None, name: str) -> dict[str, Any]:
    """A JSON object with what JSON cannot hold (NaN) as None; empty where there is no file."""
    found = read_if_present(
        directory, name, lambda text: dict(json.loads(text, parse_constant=lambda _: None))
    )
    return found or {}


def _data(examples_uri: str | None) -> DataRecord:
    found = read_if_present(examples_uri, manifest.FILE_NAME, manifest.Manifest.from_json)
    if found is None:
        return DataRecord()
    spans = {shard.span for shard in found.shards if shard.span is not None}
    return DataRecord(
        level=found.level.value,
        manifest_digest=found.digest,
        spans=tuple(sorted(spans)),
        examples={split: found.examples(split) for split in found.split_names},
    )


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
