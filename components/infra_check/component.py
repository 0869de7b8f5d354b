"""The declaration of InfraCheck."""

from __future__ import annotations

from tfx.types import standard_artifacts

from yt8m.components.declaration import Input, Output, Step
from yt8m.components.infra_check.config import InfraCheckConfig, ServingLimits
from yt8m.components.infra_check.executor import Executor


class InfraCheck(Step, executor=Executor):
    """TFX's InfraValidator without Docker: outputs `infra_blessing`, which Pusher reads."""

    config: InfraCheckConfig
    limits: ServingLimits
    split: str = "eval"  # whose records are sent, beside the model's own warm-up requests
    model: Input[standard_artifacts.Model]
    examples: Input[standard_artifacts.Examples] | None = None
    # A model that the gate has rejected already is not served at all.
    model_blessing: Input[standard_artifacts.ModelBlessing] | None = None

    infra_blessing = Output(standard_artifacts.InfraBlessing)
