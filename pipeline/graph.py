"""The one graph: local runs, Kubeflow and retraining all use it unchanged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tfx.components import ExampleValidator
from tfx.dsl.components.base.base_node import BaseNode
from tfx.orchestration.pipeline import Pipeline
from tfx.types import BaseChannel

from yt8m.components import storage
from yt8m.components.artifacts.run_outputs import OUTPUTS
from yt8m.components.baseline.component import Baseline
from yt8m.components.bulk_inferrer.component import BulkInferrer
from yt8m.components.declaration import Step
from yt8m.components.evaluator.component import Evaluator
from yt8m.components.evaluator.tfma_user_metrics import check_user_metrics
from yt8m.components.example_gen.component import ExampleGen
from yt8m.components.example_gen.config import SplitRoles
from yt8m.components.infra_check.component import InfraCheck
from yt8m.components.infra_check.config import ServingLimits
from yt8m.components.pusher.component import Pusher
from yt8m.components.report.component import Report
from yt8m.components.trainer.component import create_trainer, training_config
from yt8m.components.transform.component import create_transform
from yt8m.components.tuner.component import create_tuner
from yt8m.components.validation.component import StatisticsGen, ValidationGate, create_schema_gen
from yt8m.pipeline.beam import beam_arguments
from yt8m.pipeline.cache_keys import ExternalInputs
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.workspace import ARTIFACTS, CHECKPOINTS, SCORES, VERIFIED
from yt8m.schemas.config_tree import type_hints
from yt8m.schemas.roles import AfterGate, FilePath, ResultNeutral, on_record, own_modules, role_of

Channels = Mapping[str, BaseChannel]
_NAMES = {output: name for name, output in OUTPUTS.items()}


@dataclass(frozen=True)
class Subgraph:
    """Steps in their order; none where the configuration leaves a step out."""

    steps: Sequence[BaseNode] = ()

    def __add__(self, other: Subgraph) -> Subgraph:
        return Subgraph([*self.steps, *other.steps])

    @property
    def outputs(self) -> dict[str, BaseChannel]:
        """By their names in `run_outputs`; those that it does not list, by their own."""
        return {
            _NAMES.get((step.id, key), key): channel
            for step in self.steps
            for key, channel in step.outputs.items()
        }

    def inputs_of(self, step: type[Step]) -> dict[str, Any]:
        """The outputs that are named as inputs of `step`."""
        return {name: one for name, one in self.outputs.items() if name in step.SPEC_CLASS.INPUTS}


def create_pipeline(config: PipelineConfig, external: ExternalInputs) -> Pipeline:
    """From records to a pushed model and a report; `external` is what it depends on beyond them."""
    prepared = _data_steps(config, external)
    trained = prepared + _training_steps(config, external, prepared.outputs)
    shipped = trained + _shipping_steps(config, external, trained)
    report = Report(
        config=config.report,
        configuration=_nodes(config),
        pipeline=config.name,
        run_file=external.run_file,
        **shipped.inputs_of(Report),
    )
    return Pipeline(
        pipeline_name=config.name,
        pipeline_root=storage.join(config.root, ARTIFACTS),
        components=[*shipped.steps, report],
        enable_cache=True,
        beam_pipeline_args=beam_arguments(config.beam),
    )


def _data_steps(config: PipelineConfig, external: ExternalInputs) -> Subgraph:
    """From records to the transform graph; bad data end the run here."""
    baseline = Baseline(
        config=config.baseline,
        registry=config.registry,
        push_dir=config.pusher.push_dir,
        registry_digest=external.registry_digest,
    )
    example_gen = ExampleGen(
        config=config.data,
        features=config.features,
        roles=SplitRoles(
            train=config.trainer.train_split,
            validation=config.trainer.validation_split,
            judged=config.evaluator.split,
        ),
        cache_dir=storage.join(config.root, VERIFIED),
        source_digest=external.digest("data.root"),
    )
    schema_gen = create_schema_gen(config.data.level, config.features)
    sample, schema = example_gen.outputs["sample"], schema_gen.outputs["schema"]
    statistics_gen = StatisticsGen(examples=sample, schema=schema)
    statistics = statistics_gen.outputs["statistics"]
    validator = ExampleValidator(statistics=statistics, schema=schema)
    gate = ValidationGate(
        config=config.validation,
        statistics=statistics,
        schema=schema,
        anomalies=validator.outputs["anomalies"],
        baseline=baseline.outputs["model"],
    )
    examples = example_gen.outputs["examples"] if config.transform.materialize else sample
    transform = create_transform(
        config.transform, config.features, config.data.level, examples=examples, schema=schema
    )
    transform.add_upstream_node(gate)
    return Subgraph([baseline, example_gen, schema_gen, statistics_gen, validator, gate, transform])


def _training_steps(config: PipelineConfig, external: ExternalInputs, data: Channels) -> Subgraph:
    """The Trainer, and the Tuner before it where the configuration asks for one."""
    training = training_config(
        config.trainer,
        config.features,
        config.data.level,
        transform=config.transform.function,
        checkpoint_root=storage.join(config.root, CHECKPOINTS),
        vocabulary=config.evaluator.vocabulary,
        digests={path: d for path, d in external.digests.items() if path != "data.root"},
        searched_code=own_modules(config.tuner) if config.tuner else (),
    )
    inputs = {
        "examples": data["transformed_examples" if config.transform.materialize else "examples"],
        "transform_graph": data["transform_graph"],
        "schema": data["schema"],
        "base_model": data["baseline"],
    }
    tuner = _tuner(config, training, inputs)
    trainer = create_trainer(
        config.trainer,
        custom_config=training,
        **inputs,
        hyperparameters=tuner.outputs.get("best_hyperparameters"),
    )
    return tuner + Subgraph([trainer])


def _tuner(config: PipelineConfig, training: Mapping[str, Any], inputs: Channels) -> Subgraph:
    if config.tuner is None:
        return Subgraph()
    return Subgraph([create_tuner(config.tuner, config.trainer, custom_config=training, **inputs)])


def _shipping_steps(
    config: PipelineConfig, external: ExternalInputs, trained: Subgraph
) -> Subgraph:
    """The steps that judge the model and push it."""
    judged = Subgraph([_evaluator(config, external, trained.outputs)])
    checked = judged + _infra_check(config, trained + judged)
    pusher = Pusher(
        config=config.pusher,
        registry=config.registry,
        push_dir=config.pusher.push_dir,
        run_key=external.run_key,
        configuration=_nodes_on_record(config),
        **(trained + checked).inputs_of(Pusher),
    )
    return checked + Subgraph([pusher]) + _bulk_inferrer(config, trained + judged)


def _evaluator(config: PipelineConfig, external: ExternalInputs, trained: Channels) -> Evaluator:
    # A mistake shows before the run starts.
    check_user_metrics(config.evaluator, config.gate)
    return Evaluator(
        config=config.evaluator,
        # Nothing is scored again because a limit on serving has changed.
        gate=replace(config.gate, max_latency_ms=None, max_memory_mb=None),
        features=config.features,
        examples=trained["examples"],
        model=trained["model"],
        baseline_model=trained["baseline"],
        champion=trained["champion"],
        cache_dir=storage.join(config.root, SCORES),
        vocabulary_digest=external.digest("evaluator.vocabulary"),
    )


def _infra_check(config: PipelineConfig, judged: Subgraph) -> Subgraph:
    if not config.infra_check.enabled:
        return Subgraph()
    limits = ServingLimits(
        max_latency_ms=config.gate.max_latency_ms, max_memory_mb=config.gate.max_memory_mb
    )
    check = InfraCheck(
        config=config.infra_check,
        limits=limits,
        split=config.evaluator.split,
        **judged.inputs_of(InfraCheck),
    )
    return Subgraph([check])


def _bulk_inferrer(config: PipelineConfig, judged: Subgraph) -> Subgraph:
    if config.bulk_inferrer is None:
        return Subgraph()
    inputs = judged.inputs_of(BulkInferrer)
    return Subgraph([BulkInferrer(config=config.bulk_inferrer, **inputs)])


def _nodes(config: PipelineConfig) -> dict[str, Any]:
    """The configuration without steps that are off: they change no compiled pipeline."""
    return {name: node for name, node in on_record(config).items() if node is not None}


def _nodes_on_record(config: PipelineConfig) -> dict[str, Any]:
    """The nodes that decide which model comes out and whether it is blessed.

    Pusher does not run again because another one has changed.
    """
    hints = type_hints(PipelineConfig)
    others = (FilePath, ResultNeutral, AfterGate)
    return {
        name: node
        for name, node in _nodes(config).items()
        if not any(role_of(hints[name], role) for role in others)
    }
