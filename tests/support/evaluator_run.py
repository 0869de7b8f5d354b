"""The evaluator's executor on real artifacts: tiny records, real exported models, no runner."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from exported_models import SIZES, fitted_weights, write_model
from records import make_dataset, shard_of
from tfx.dsl.components.base import base_beam_executor
from tfx.types import Artifact, standard_artifacts

from yt8m.components.artifacts.decision import Decision
from yt8m.components.artifacts.evaluation import Evaluation
from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.evaluator.config import EvaluatorConfig, GateConfig
from yt8m.components.evaluator.executor import Executor
from yt8m.pipeline.beam import beam_arguments
from yt8m.pipeline.config import BeamConfig
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.features import FeatureConfig, Level

CLASSES = 20
IN_PROCESS = tuple(beam_arguments(BeamConfig()))
FEATURES = FeatureConfig(
    names=tuple(SIZES), sizes=tuple(SIZES.values()), num_classes=CLASSES, max_frames=12
)


# Tiny data, and models that are compared only where the test asks for it.
SMALL_GATE = {"gap_change_threshold": None, "min_examples": 1}


@dataclass(frozen=True, kw_only=True)
class World:
    """Records, and weights that fit them."""

    root: Path
    data: Path
    level: Level
    weights: np.ndarray
    features: FeatureConfig = FEATURES

    def model(self, name: str, **how: Any) -> Path:
        """An exported model under `name`, as `write_model` makes it; made once."""
        path = self.root / name / "Format-Serving"
        if not path.exists():
            write_model(path, self.weights, frames=self.level.is_sequence, **how)
        return path.parent


def create_world(root: Path, level: Level = Level.VIDEO, *, videos: int = 300) -> World:
    """Train and eval records of `level` below `root`."""
    data = make_dataset(
        root / "data",
        level=level.value,
        train=400,
        eval=videos,
        classes=CLASSES,
        shards=3,
        sizes=SIZES,
    )
    weights = fitted_weights(sorted(data.glob("train*.tfrecord")), CLASSES)
    return World(root=root, data=data, level=level, weights=weights)


def write_examples(
    out: Path, shards: list[Path], level: Level, *, spans: list[int | None] | None = None
) -> Artifact:
    """An Examples artifact as ExampleGen leaves it: a manifest that names the shards."""
    out.mkdir(parents=True)
    rows = tuple(
        shard_of(path, "eval", span=span)
        for path, span in zip(shards, spans or [None] * len(shards), strict=True)
    )
    (out / "manifest.json").write_text(Manifest(level=level, shards=rows).to_json())
    return _artifact(standard_artifacts.Examples, out)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the executor left."""

    evaluation_dir: Path
    blessing_dir: Path
    blessing: Artifact
    decision: Decision
    evaluation: Evaluation

    @property
    def blessed(self) -> bool:
        """As Pusher sees it."""
        return bool(self.blessing.get_int_custom_property("blessed") == 1)


def run_evaluator(  # noqa: PLR0913  (tests give few of them)
    world: World,
    out: Path,
    *,
    model: Path,
    gate: dict[str, Any],
    baseline: Path | None = None,
    champion: Path | None = None,
    config: dict[str, Any] | None = None,
    examples: Artifact | None = None,
    beam: Sequence[str] = IN_PROCESS,
    **parameters: str,
) -> Outcome:
    """Evaluate `model` on the world's eval records, or on `examples`."""
    shards = sorted(world.data.glob("validate*.tfrecord"))
    inputs = {
        "examples": [examples or write_examples(out / "examples", shards, world.level)],
        "model": [_artifact(standard_artifacts.Model, model)],
    }
    for name, path in (("baseline_model", baseline), ("champion", champion)):
        if path is not None:
            inputs[name] = [_artifact(standard_artifacts.Model, path)]
    outputs = {
        "evaluation": [_artifact(standard_artifacts.ModelEvaluation, out / "evaluation")],
        "blessing": [_artifact(standard_artifacts.ModelBlessing, out / "blessing")],
    }
    properties = {
        "config": json.dumps(to_dict(from_dict(EvaluatorConfig, config or {}))),
        "gate": json.dumps(to_dict(from_dict(GateConfig, {**SMALL_GATE, **gate}))),
        "features": json.dumps(to_dict(world.features)),
        "gap_threshold": "",
        "gap_change_threshold": "",
        "code_version": "test",
        **parameters,
    }
    context = base_beam_executor.BaseBeamExecutor.Context(
        beam_pipeline_args=list(beam),
        tmp_dir=str(out / "tmp"),
        unique_id="1",
    )
    Executor(context).Do(inputs, outputs, properties)
    return Outcome(
        evaluation_dir=out / "evaluation",
        blessing_dir=out / "blessing",
        blessing=outputs["blessing"][0],
        decision=Decision.from_json((out / "blessing" / "decision.json").read_text()),
        evaluation=Evaluation.from_json((out / "evaluation" / "metrics.json").read_text()),
    )


def _artifact(kind: type[Artifact], path: Path) -> Artifact:
    path.mkdir(parents=True, exist_ok=True)
    artifact = kind()
    artifact.uri = str(path)
    return artifact
