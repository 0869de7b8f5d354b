"""The declaration of BulkInferrer: TFX's channels, and an action for our records and signatures."""

from __future__ import annotations

from tfx.types import standard_artifacts

from yt8m.components.bulk_inferrer.config import BulkInferrerConfig
from yt8m.components.bulk_inferrer.executor import Executor
from yt8m.components.declaration import Input, Output, Step


class BulkInferrer(Step, executor=Executor):
    """Outputs `inference_result`: one file, or nothing where the model is not blessed."""

    config: BulkInferrerConfig
    examples: Input[standard_artifacts.Examples]
    model: Input[standard_artifacts.Model]
    model_blessing: Input[standard_artifacts.ModelBlessing]

    inference_result = Output(standard_artifacts.InferenceResult)
