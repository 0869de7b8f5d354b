"""The declaration of Evaluator."""

from __future__ import annotations

from typing import Annotated

from tfx.types import standard_artifacts

from yt8m.components.declaration import Input, Output, Outside, RunTime, Step
from yt8m.components.evaluator.config import EvaluatorConfig, GateConfig
from yt8m.components.evaluator.executor import Executor
from yt8m.schemas.features import FeatureConfig


class Evaluator(Step, executor=Executor):
    """Outputs `evaluation`, which TFMA reads, and `blessing`, which Pusher reads."""

    config: EvaluatorConfig
    gate: GateConfig
    features: FeatureConfig
    # Both win over the gate's; "": as configured there.
    gap_threshold: Annotated[str, RunTime()] = ""
    gap_change_threshold: Annotated[str, RunTime()] = ""
    cache_dir: str = ""  # keeps the champion's scores between runs
    vocabulary_digest: Annotated[str, Outside()] = ""
    examples: Input[standard_artifacts.Examples]
    model: Input[standard_artifacts.Model]
    baseline_model: Input[standard_artifacts.Model] | None = None
    champion: Input[standard_artifacts.Model] | None = None  # the best version so far

    evaluation = Output(standard_artifacts.ModelEvaluation)
    blessing = Output(standard_artifacts.ModelBlessing)
