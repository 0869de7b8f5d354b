"""What a run or a version came to: configuration, figures, curves, wherever they lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from yt8m.components import storage
from yt8m.components.artifacts import decision as decision_file
from yt8m.components.artifacts import evaluation as evaluation_file
from yt8m.components.artifacts.decision import Decision
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.evaluation import Evaluation
from yt8m.components.artifacts.read import read_if_present
from yt8m.components.artifacts.run_record import RunRecord
from yt8m.components.artifacts.training_curve import EVALUATION, TRAINING, read_curve
from yt8m.components.registry.versions import load_version
from yt8m.pipeline.config import MetadataConfig
from yt8m.pipeline.metadata import ExecutionFacts, Lineage, open_store
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.config_tree import from_dict


@dataclass(frozen=True, kw_only=True)
class ModelResults:
    """One run or version; what it did not come to, or what was removed since, is empty."""

    name: str
    configuration: Mapping[str, Any]
    version: int = 0  # that it is, or that the run has pushed
    uris: Mapping[str, str] = field(default_factory=dict)  # of artifacts, by Report's names
    recorded: Mapping[str, Estimate] = field(default_factory=dict)  # where no file is left
    spans: tuple[int, ...] = ()  # of the data that it was made from

    @cached_property
    def evaluation(self) -> Evaluation | None:
        place = self.uris.get("evaluation", "")
        return read_if_present(place, evaluation_file.FILE_NAME, Evaluation.from_json)

    @cached_property
    def decision(self) -> Decision | None:
        place = self.uris.get("model_blessing", "")
        return read_if_present(place, decision_file.FILE_NAME, Decision.from_json)

    @property
    def metrics(self) -> Mapping[str, Estimate]:
        """With their intervals."""
        if self.evaluation is not None:
            return self.evaluation.overall.candidate
        return self.decision.metrics if self.decision else self.recorded

    @cached_property
    def curve(self) -> list[dict[str, Any]]:
        """The rows of the training curve and of continuous evaluation."""
        place = self.uris.get("model_run", "")
        names = (TRAINING, EVALUATION) if place else ()
        return [row for name in names for row in read_curve(storage.join(place, name))]


# Of a component's outputs, by the names of the report's inputs, which a version's record has too.
_OUTPUTS = {
    ("ExampleGen", "examples"): "examples",
    ("Trainer", "model"): "model",
    ("Trainer", "model_run"): "model_run",
    ("Evaluator", "evaluation"): "evaluation",
    ("Evaluator", "blessing"): "model_blessing",
}


def results_of_run(layout: Layout, record: RunRecord) -> ModelResults:
    """What a run of this root came to."""
    by_name = {
        _OUTPUTS[execution.node, output.key]: output.uri
        for execution in executions_of(layout, record)
        for output in execution.outputs
        if (execution.node, output.key) in _OUTPUTS
    }
    return ModelResults(
        name=f"run {record.run_id}",
        configuration=record.config,
        version=record.version,
        uris=by_name,
        recorded={"gap": Estimate(value=record.gap)} if record.gap is not None else {},
        spans=record.spans,
    )


def results_of_version(push_dir: str, number: int) -> ModelResults:
    """What a pushed version came to; its evaluation as long as its run's root is kept."""
    record = load_version(push_dir, number).record
    return ModelResults(
        name=f"version {number}",
        configuration=record.configuration,
        version=number,
        uris=record.lineage,
        recorded=record.metrics,
        spans=record.data.spans,
    )


def lineage_of(layout: Layout, record: RunRecord) -> Lineage | None:
    """MLMD, where `record`'s run kept it; None where no run came so far as to make it."""
    config = from_dict(MetadataConfig, record.config.get("metadata", {}), path="metadata")
    if config.mysql is None and not layout.database.exists():
        return None
    return Lineage(open_store(config, layout.database))


def executions_of(layout: Layout, record: RunRecord) -> list[ExecutionFacts]:
    """The components of the run in their order, with what they put out."""
    lineage = lineage_of(layout, record)
    return lineage.executions(record.run_id) if lineage else []
