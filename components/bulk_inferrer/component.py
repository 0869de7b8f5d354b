"""The declaration of BulkInferrer: TFX's channels, and an action for our records and signatures."""

from __future__ import annotations

from tfx import types
from tfx.dsl.components.base import base_beam_component, executor_spec
from tfx.types import standard_artifacts

from yt8m.components.bulk_inferrer.config import BulkInferrerConfig
from yt8m.components.bulk_inferrer.executor import Executor
from yt8m.components.declaration import Declaration, channels, parameters
from yt8m.schemas.code_digest import code_digest
from yt8m.schemas.config_tree import to_parameter


class BulkInferrerSpec(Declaration):
    """What passes in and out, by the names of TFX's BulkInferrer."""

    PARAMETERS = parameters("config", "code_version")
    INPUTS = channels(
        examples=standard_artifacts.Examples,
        model=standard_artifacts.Model,
        model_blessing=standard_artifacts.ModelBlessing,
    )
    OUTPUTS = channels(inference_result=standard_artifacts.InferenceResult)


class BulkInferrer(base_beam_component.BaseBeamComponent):
    """Outputs `inference_result`: one file, or nothing where the model is not blessed."""

    SPEC_CLASS = BulkInferrerSpec
    EXECUTOR_SPEC = executor_spec.BeamExecutorSpec(Executor)

    def __init__(
        self,
        config: BulkInferrerConfig,
        *,
        examples: types.BaseChannel,
        model: types.BaseChannel,
        model_blessing: types.BaseChannel,
    ) -> None:
        super().__init__(
            BulkInferrerSpec(
                config=to_parameter(config),
                code_version=code_digest(Executor.__module__),
                examples=examples,
                model=model,
                model_blessing=model_blessing,
            )
        )
