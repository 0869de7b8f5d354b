"""Record of a version, gathered from the artifacts that it was made from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yt8m.components.artifacts import export_info
from yt8m.components.artifacts.evaluation import Evaluation
from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.artifacts.read import read_if_present
from yt8m.components.artifacts.run_outputs import RunOutputs
from yt8m.components.artifacts.version_record import DataRecord, SliceRecord, VersionRecord
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.json_file import fields_of


def create_record(
    *,
    model_dir: str,
    outputs: RunOutputs,
    configuration: Mapping[str, Any],
    blessed: bool,
    run_key: str,
    code: str,
    licence: str = "",
) -> VersionRecord:
    """The record of the model in `model_dir`; inputs that are not there leave their part empty.

    Without a configuration, the one that was exported with the model goes on record.
    """
    decision, serving, baseline = outputs.decision, outputs.infra_check, outputs.baseline
    # Of an export the configuration alone: it need not be one that this yt8m could load.
    info = read_if_present(model_dir, export_info.FILE_NAME, fields_of) or {}
    exported = info.get("config", {})
    unserved = serving is not None and not serving.blessed and not serving.skipped
    judge = serving if unserved else decision
    return VersionRecord(
        run_key=run_key,
        blessed=blessed,
        reason=judge.reason if judge else "",
        baseline_version=baseline.version if baseline else 0,
        baseline_digest=baseline.model_digest if baseline else "",
        champion_digest=decision.champion_digest if decision else "",
        metrics=decision.metrics if decision else {},
        slices=_slices(outputs.evaluation) if outputs.evaluation else {},
        decision=to_dict(decision) if decision else {},
        infra_check=to_dict(serving) if serving else {},
        data=_data(outputs.manifest) if outputs.manifest else DataRecord(),
        configuration=export_info.trained_configuration(configuration, exported) or dict(exported),
        code_version=code,
        license=licence,
        lineage={name: uri for name, uri in outputs.uris.items() if uri},
    )


def _slices(evaluation: Evaluation) -> dict[str, SliceRecord]:
    return {
        part.name: SliceRecord(videos=part.videos, metrics=part.candidate)
        for part in evaluation.slices
    }


def _data(manifest: Manifest) -> DataRecord:
    return DataRecord(
        level=manifest.level.value,
        manifest_digest=manifest.digest,
        spans=manifest.spans,
        examples={split: manifest.examples(split) for split in manifest.split_names},
    )
