"""The one graph: local runs, Kubeflow and retraining all use it unchanged."""

from __future__ import annotations

from dataclasses import replace

from tfx.orchestration.pipeline import Pipeline

from yt8m.components import storage
from yt8m.components.baseline.component import Baseline
from yt8m.components.bulk_inferrer.component import BulkInferrer
from yt8m.components.evaluator.component import Evaluator
from yt8m.components.example_gen.component import ExampleGen
from yt8m.components.infra_check.component import InfraCheck
from yt8m.components.infra_check.config import ServingLimits
from yt8m.components.pusher.component import Pusher
from yt8m.components.report.component import Report
from yt8m.components.trainer.component import create_trainer, training_config
from yt8m.components.transform.component import create_transform
from yt8m.components.tuner.component import create_tuner
from yt8m.components.validation.component import (
    SchemaGen,
    StatisticsGen,
    ValidationGate,
    create_example_validator,
)
from yt8m.pipeline.beam import beam_arguments
from yt8m.pipeline.cache_keys import ExternalInputs
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.workspace import ARTIFACTS, CHECKPOINTS, VERIFIED
from yt8m.schemas.config_tree import to_dict


def create_pipeline(config: PipelineConfig, external: ExternalInputs) -> Pipeline:
    """From records to a pushed model and a report; `external` is what it depends on beyond them."""
    level, features, push_dir = config.data.level, config.features, config.pusher.push_dir
    vocabulary = config.evaluator.vocabulary

    baseline = Baseline(
        config.baseline, push_dir=push_dir, registry_digest=external.registry_digest
    )
    examples = ExampleGen(
        config.data,
        features,
        cache_dir=storage.join(config.root, VERIFIED),
        source_digest=external.source_digest,
    )
    schema = SchemaGen(level, features)
    statistics = StatisticsGen(examples.outputs["sample"], schema.outputs["schema"])
    anomalies = create_example_validator(statistics.outputs["statistics"], schema.outputs["schema"])
    gate = ValidationGate(
        config.validation,
        statistics=statistics.outputs["statistics"],
        schema=schema.outputs["schema"],
        anomalies=anomalies.outputs["anomalies"],
        baseline=baseline.outputs["model"],
    )
    transform = create_transform(
        config.transform,
        features,
        level,
        sample=examples.outputs["sample"],
        schema=schema.outputs["schema"],
    )
    transform.add_upstream_node(gate)
    training = training_config(
        config.trainer,
        features,
        level,
        transform=config.transform.function,
        checkpoint_root=storage.join(config.root, CHECKPOINTS),
        vocabulary=vocabulary,
        vocabulary_digest=external.vocabulary_digest,
        warm_start_digest=external.warm_start_digest,
        teacher_digest=external.teacher_digest,
    )
    trained_from = {
        "examples": examples.outputs["examples"],
        "transform_graph": transform.outputs["transform_graph"],
        "schema": schema.outputs["schema"],
        "base_model": baseline.outputs["model"],
    }
    tuner = None
    if config.tuner is not None:
        tuner = create_tuner(config.tuner, config.trainer, custom_config=training, **trained_from)
    trainer = create_trainer(
        config.trainer,
        custom_config=training,
        **trained_from,
        hyperparameters=tuner.outputs["best_hyperparameters"] if tuner else None,
    )
    evaluator = Evaluator(
        config.evaluator,
        # Nothing is scored again because a limit on serving has changed.
        replace(config.gate, max_latency_ms=None, max_memory_mb=None),
        features=features,
        examples=examples.outputs["examples"],
        model=trainer.outputs["model"],
        baseline_model=baseline.outputs["model"],
        vocabulary_digest=external.vocabulary_digest,
    )
    infra_check = None
    if config.infra_check.enabled:
        infra_check = InfraCheck(
            config.infra_check,
            ServingLimits(
                max_latency_ms=config.gate.max_latency_ms, max_memory_mb=config.gate.max_memory_mb
            ),
            model=trainer.outputs["model"],
            examples=examples.outputs["examples"],
            split=config.evaluator.split,
            model_blessing=evaluator.outputs["blessing"],
        )
    served = {"infra_blessing": infra_check.outputs["infra_blessing"]} if infra_check else {}
    pusher = Pusher(
        config.pusher,
        push_dir=push_dir,
        run_key=external.run_key,
        configuration=to_dict(config),
        model=trainer.outputs["model"],
        model_blessing=evaluator.outputs["blessing"],
        baseline=baseline.outputs["model"],
        examples=examples.outputs["examples"],
        statistics=statistics.outputs["statistics"],
        evaluation=evaluator.outputs["evaluation"],
        **served,
    )
    optional = []
    if config.bulk_inferrer is not None:
        bulk_inferrer = BulkInferrer(
            config.bulk_inferrer,
            examples=examples.outputs["examples"],
            model=trainer.outputs["model"],
            model_blessing=evaluator.outputs["blessing"],
        )
        optional.append(bulk_inferrer)
    # Of a step that is off nothing is said, so that it changes no compiled pipeline.
    configuration = {name: node for name, node in to_dict(config).items() if node is not None}
    report = Report(
        config.report,
        configuration=configuration,
        pipeline=config.name,
        run_file=external.run_file,
        examples=examples.outputs["examples"],
        statistics=statistics.outputs["statistics"],
        anomalies=anomalies.outputs["anomalies"],
        validation=gate.outputs["validation"],
        model=trainer.outputs["model"],
        model_run=trainer.outputs["model_run"],
        evaluation=evaluator.outputs["evaluation"],
        model_blessing=evaluator.outputs["blessing"],
        pushed_model=pusher.outputs["pushed_model"],
        baseline=baseline.outputs["model"],
        tuner_results=tuner.outputs["tuner_results"] if tuner else None,
        **served,
    )
    return Pipeline(
        pipeline_name=config.name,
        pipeline_root=storage.join(config.root, ARTIFACTS),
        components=[
            baseline,
            examples,
            schema,
            statistics,
            anomalies,
            gate,
            transform,
            *([tuner] if tuner else []),
            trainer,
            evaluator,
            *([infra_check] if infra_check else []),
            pusher,
            *optional,
            report,
        ],
        enable_cache=True,
        beam_pipeline_args=beam_arguments(config.beam),
    )
