"""The declaration of InfraCheck."""

from __future__ import annotations

from tfx import types
from tfx.dsl.components.base import base_component, executor_spec
from tfx.types import standard_artifacts

from yt8m.components.declaration import Declaration, channels, parameters
from yt8m.components.infra_check.config import InfraCheckConfig, ServingLimits
from yt8m.components.infra_check.executor import Executor
from yt8m.schemas.code_digest import code_digest
from yt8m.schemas.config_tree import to_parameter


class InfraCheckSpec(Declaration):
    """What passes in and out."""

    PARAMETERS = parameters("config", "limits", "split", "code_version")
    INPUTS = channels(model=standard_artifacts.Model) | channels(
        optional=True,
        examples=standard_artifacts.Examples,
        model_blessing=standard_artifacts.ModelBlessing,
    )
    OUTPUTS = channels(infra_blessing=standard_artifacts.InfraBlessing)


class InfraCheck(base_component.BaseComponent):
    """TFX's InfraValidator without Docker: outputs `infra_blessing`, which Pusher reads."""

    SPEC_CLASS = InfraCheckSpec
    EXECUTOR_SPEC = executor_spec.ExecutorClassSpec(Executor)

    def __init__(
        self,
        config: InfraCheckConfig,
        limits: ServingLimits,
        *,
        model: types.BaseChannel,
        examples: types.BaseChannel | None = None,
        split: str = "eval",
        model_blessing: types.BaseChannel | None = None,
    ) -> None:
        """examples, split: whose records are sent beside the model's own warm-up requests.

        model_blessing: a model that the gate has held back already is not served at all.
        """
        super().__init__(
            InfraCheckSpec(
                config=to_parameter(config),
                limits=to_parameter(limits),
                split=split,
                code_version=code_digest(Executor.__module__),
                model=model,
                examples=examples,
                model_blessing=model_blessing,
            )
        )
