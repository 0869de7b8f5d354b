"""TFX's own Evaluator executor, with our metric, on the same models and records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from google.protobuf import json_format, text_format
from tensorflow_model_analysis.proto import config_pb2
from tfx.components.evaluator.executor import Executor
from tfx.dsl.components.base import base_beam_executor
from tfx.types import Artifact, artifact_utils, standard_artifacts

from yt8m.pipeline.beam import beam_arguments
from yt8m.pipeline.config import BeamConfig


def eval_config(
    num_classes: int, *, has_baseline: bool, thresholds: str = ""
) -> config_pb2.EvalConfig:
    """Our metric on the `scores` signature; `thresholds` are protobuf text of a MetricsSpec."""
    models = [("", False)] if not has_baseline else [("candidate", False), ("baseline", True)]
    specs = "".join(
        f'model_specs {{ name: "{name}" signature_name: "scores" prediction_key: "scores" '
        f'label_key: "labels" is_baseline: {str(is_baseline).lower()} }}'
        for name, is_baseline in models
    )
    return text_format.Parse(
        specs
        + f"""
        slicing_specs {{}}
        metrics_specs {{ metrics {{
          class_name: "VideoMetrics" module: "video_metrics"
          config: '"num_classes": {num_classes}' }} {thresholds} }}
        options {{ include_default_metrics {{ value: false }} }}""",
        config_pb2.EvalConfig(),
    )


def run_stock_evaluator(
    out: Path,
    shards: list[Path],
    *,
    model: Path,
    config: config_pb2.EvalConfig,
    baseline: Path | None = None,
) -> Path:
    """The evaluation directory that TFX's Evaluator leaves, beside its `blessing`.

    `model` holds Format-Serving.
    """
    split = out / "examples" / "Split-eval"
    split.mkdir(parents=True)
    for shard in shards:  # file by file: TFX removes directories it follows a link into
        (split / f"{shard.name}-00000-of-00001").symlink_to(shard.resolve())
    examples = _artifact(standard_artifacts.Examples, out / "examples")
    examples.split_names = artifact_utils.encode_split_names(["eval"])
    inputs = {"examples": [examples], "model": [_artifact(standard_artifacts.Model, model)]}
    if baseline is not None:
        inputs["baseline_model"] = [_artifact(standard_artifacts.Model, baseline)]
    outputs = {
        "evaluation": [_artifact(standard_artifacts.ModelEvaluation, out / "evaluation")],
        "blessing": [_artifact(standard_artifacts.ModelBlessing, out / "blessing")],
    }
    context = base_beam_executor.BaseBeamExecutor.Context(
        beam_pipeline_args=beam_arguments(BeamConfig()), tmp_dir=str(out / "tmp"), unique_id="1"
    )
    properties = {
        "eval_config": json_format.MessageToJson(config),
        "example_splits": '["eval"]',
        "fairness_indicator_thresholds": "null",
    }
    Executor(context).Do(inputs, outputs, properties)
    return out / "evaluation"


def _artifact(kind: type[Artifact], path: Path) -> Any:
    artifact = kind()
    artifact.uri = str(path)
    return artifact
