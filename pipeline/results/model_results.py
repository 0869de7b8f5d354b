"""Results of a run or a version: configuration, figures, curves, wherever they lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.run_outputs import RunOutputs
from yt8m.components.artifacts.run_record import RunRecord
from yt8m.components.registry.versions import load_version
from yt8m.pipeline.config import MetadataConfig
from yt8m.pipeline.lineage import ExecutionFacts, Lineage
from yt8m.pipeline.metadata import open_lineage
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.config_tree import from_dict


@dataclass(frozen=True, kw_only=True)
class ModelResults:
    """One run or version; what it did not come to, or what was removed since, is empty."""

    name: str
    configuration: Mapping[str, Any]
    version: int = 0  # that it is, or that the run has pushed
    outputs: RunOutputs = field(default_factory=RunOutputs)
    recorded: Mapping[str, Estimate] = field(default_factory=dict)  # where no file is left
    spans: tuple[int, ...] = ()  # of the data that it was made from

    @property
    def metrics(self) -> Mapping[str, Estimate]:
        """With their intervals."""
        if (evaluation := self.outputs.evaluation) is not None:
            return evaluation.overall.candidate
        return decision.metrics if (decision := self.outputs.decision) else self.recorded


def results_of_run(
    layout: Layout, record: RunRecord, lineage: Lineage | None = None
) -> ModelResults:
    """The results of a run of this root; `lineage` where it is open already."""
    executions = executions_of(layout, record, lineage)
    uris = {
        (execution.node, output.key): output.uri
        for execution in executions
        for output in execution.outputs
    }
    return ModelResults(
        name=f"run {record.run_id}",
        configuration=record.config,
        version=record.version,
        outputs=RunOutputs.from_components(uris),
        recorded={name: Estimate(value=value) for name, value in record.metrics.items()},
        spans=record.spans,
    )


def results_of_version(push_dir: str, number: int) -> ModelResults:
    """The results of a pushed version; its evaluation as long as its run's root is kept."""
    record = load_version(push_dir, number).record
    return ModelResults(
        name=f"version {number}",
        configuration=record.configuration,
        version=number,
        outputs=RunOutputs(record.lineage),
        recorded=record.metrics,
        spans=record.data.spans,
    )


def lineage_of(layout: Layout, record: RunRecord) -> Lineage | None:
    """MLMD, where `record`'s run kept it; None where no run came so far as to make it."""
    config = from_dict(MetadataConfig, record.config.get("metadata", {}), path="metadata")
    if config.mysql is None and not layout.database.exists():
        return None
    return open_lineage(config, layout.database)


def executions_of(
    layout: Layout, record: RunRecord, lineage: Lineage | None = None
) -> list[ExecutionFacts]:
    """The components of the run in their order, with the places of their outputs in this root."""
    lineage = lineage or lineage_of(layout, record)
    return [
        replace(
            execution,
            outputs=tuple(
                replace(output, uri=record.place_in(layout.root, output.uri))
                for output in execution.outputs
            ),
        )
        for execution in (lineage.executions(record.run_id) if lineage else ())
    ]
