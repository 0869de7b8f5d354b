"""Runs a few TFX components for real, in this process, and looks at what they published."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ml_metadata.metadata_store import metadata_store
from ml_metadata.proto import metadata_store_pb2
from tfx.components import ExampleValidator
from tfx.dsl.components.base.base_node import BaseNode
from tfx.orchestration import metadata, pipeline
from tfx.orchestration.local.local_dag_runner import LocalDagRunner

from yt8m.components.example_gen.component import ExampleGen
from yt8m.components.example_gen.config import DataConfig
from yt8m.components.transform.component import create_transform
from yt8m.components.transform.config import TransformConfig
from yt8m.components.validation.component import (
    StatisticsGen,
    ValidationGate,
    create_schema_gen,
)
from yt8m.components.validation.config import ValidationConfig
from yt8m.pipeline.beam import beam_arguments
from yt8m.pipeline.config import BeamConfig
from yt8m.schemas.features import FeatureConfig


def create_data_path(
    data: DataConfig,
    features: FeatureConfig,
    *,
    validation: ValidationConfig | None = None,
    cache_dir: str = "",
) -> list[BaseNode]:
    """From records to the transform graph, wired as the pipeline wires it."""
    examples = ExampleGen(config=data, features=features, cache_dir=cache_dir)
    schema_gen = create_schema_gen(data.level, features)
    sample, schema = examples.outputs["sample"], schema_gen.outputs["schema"]
    statistics_gen = StatisticsGen(examples=sample, schema=schema)
    statistics = statistics_gen.outputs["statistics"]
    validator = ExampleValidator(statistics=statistics, schema=schema)
    gate = ValidationGate(
        config=validation or ValidationConfig(),
        statistics=statistics,
        schema=schema,
        anomalies=validator.outputs["anomalies"],
    )
    transform = create_transform(
        TransformConfig(), features, data.level, examples=sample, schema=schema
    )
    transform.add_upstream_node(gate)
    return [examples, schema_gen, statistics_gen, validator, gate, transform]


def run(components: Sequence[BaseNode], root: Path, *, enable_cache: bool = False) -> None:
    """One run of `components`; an executor's error comes out as it does for a user."""
    LocalDagRunner().run(
        pipeline.Pipeline(
            pipeline_name="trial",
            pipeline_root=str(root / "pipeline"),
            components=list(components),
            enable_cache=enable_cache,
            metadata_connection_config=metadata.sqlite_metadata_connection_config(
                str(root / "metadata.sqlite")
            ),
            beam_pipeline_args=beam_arguments(BeamConfig()),
        )
    )


def published(root: Path, node: str) -> list[dict[str, Any]]:
    """What `node` published, newest last: its uri, properties and custom properties."""
    store = _store(root)
    found = []
    for execution in store.get_executions():
        if execution.type_id and _node(store, execution) == node:
            for event in store.get_events_by_execution_ids([execution.id]):
                if event.type == metadata_store_pb2.Event.OUTPUT:
                    (artifact,) = store.get_artifacts_by_id([event.artifact_id])
                    found.append({"name": event.path.steps[0].key, **_as_dict(artifact)})
    return found


def output(root: Path, node: str, name: str) -> dict[str, Any]:
    """The newest published artifact of one output."""
    return [artifact for artifact in published(root, node) if artifact["name"] == name][-1]


def states(root: Path, node: str) -> list[str]:
    """How each execution of `node` ended."""
    store = _store(root)
    return [
        metadata_store_pb2.Execution.State.Name(execution.last_known_state)
        for execution in store.get_executions()
        if _node(store, execution) == node
    ]


def _store(root: Path) -> metadata_store.MetadataStore:
    return metadata_store.MetadataStore(
        metadata.sqlite_metadata_connection_config(str(root / "metadata.sqlite"))
    )


def _node(store: metadata_store.MetadataStore, execution: metadata_store_pb2.Execution) -> str:
    (kind,) = store.get_execution_types_by_id([execution.type_id])
    return str(kind.name).rpartition(".")[2]


def _as_dict(artifact: metadata_store_pb2.Artifact) -> dict[str, Any]:
    values = {**dict(artifact.properties), **dict(artifact.custom_properties)}
    plain = {key: getattr(value, value.WhichOneof("value")) for key, value in values.items()}
    return {"uri": artifact.uri, **plain}
