"""From what a person says (`--param span=3`) to what a run starts with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from yt8m.components.evaluator.config import GateConfig
from yt8m.components.evaluator.thresholds import resolve_gate
from yt8m.kubeflow.client import Launch, PipelineClient, find_pipeline, newest_version
from yt8m.kubeflow.spec_file import Spec, server_spec
from yt8m.schemas.errors import UserError

DEFAULT_EXPERIMENT = "yt8m"
_NEEDED = ("data_root", "push_dir")


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """A run or a schedule as asked for."""

    pipeline: str
    name: str
    version: str = ""
    experiment: str = DEFAULT_EXPERIMENT
    root: str = ""
    parameters: Sequence[str] = ()
    service_account: str = ""


def resolve(client: PipelineClient, wanted: Wanted, *, dry_run: bool = False) -> Launch:
    """Look up pipeline, version and experiment, and check the parameters against the spec."""
    pipeline = find_pipeline(client, wanted.pipeline)
    if pipeline is None:
        known = ", ".join(sorted(p.name for p in client.pipelines())) or "none"
        raise UserError(
            f"no pipeline {wanted.pipeline!r} on the server (there: {known}); "
            "`yt8m kubeflow upload pipeline.yaml` puts it there"
        )
    version = newest_version(client, pipeline, wanted.version)
    spec = server_spec(version.spec)
    root = wanted.root or spec.root
    if not root:
        raise UserError(
            "no pipeline root: give --root s3://bucket/path (a compiled YAML cannot carry it "
            "to the server unless it was compiled with --root)"
        )
    parameters = spec.parse_parameters(wanted.parameters)
    _check_values(spec, parameters)
    return Launch(
        name=wanted.name,
        pipeline_id=pipeline.id,
        version_id=version.id,
        experiment_id=client.experiment_id(wanted.experiment, create=not dry_run),
        pipeline_root=root,
        parameters=parameters,
        service_account=wanted.service_account,
    )


def _check_values(spec: Spec, parameters: Mapping[str, Any]) -> None:
    """What the pipeline's components would refuse, some of them only after the training."""
    for name in _NEEDED:
        default = spec.parameters.get(name, {}).get("defaultValue")
        if name in spec.parameters and not (parameters.get(name) or default):
            raise UserError(f"--param {name}=...: give one, for none was compiled into {spec.name}")
    thresholds = {
        name: str(parameters[name])
        for name in ("gap_threshold", "gap_change_threshold")
        if name in parameters
    }
    resolve_gate(GateConfig(), **thresholds)
