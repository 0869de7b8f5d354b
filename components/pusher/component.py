"""The declaration of Pusher: TFX's, with the inputs that a record is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from tfx.types import standard_artifacts

from yt8m.components.declaration import Input, Output, RunTime, Step
from yt8m.components.pusher.config import PusherConfig
from yt8m.components.pusher.executor import Executor
from yt8m.components.registry.config import RegistryConfig


class Pusher(Step, executor=Executor):
    """Pushes a blessed model; one that is not blessed is a success with `pushed` 0.

    The optional inputs go on record with the model.
    """

    config: PusherConfig
    registry: RegistryConfig = RegistryConfig()
    push_dir: Annotated[str, RunTime()] = ""  # the registry; "": as configured
    run_key: str = ""  # names the run: versions that it pushed itself do not block it
    configuration: Mapping[str, Any] = {}  # the nodes that go on record
    model: Input[standard_artifacts.Model]
    model_blessing: Input[standard_artifacts.ModelBlessing]
    # What the model was compared with: nothing else in service is replaced.
    baseline: Input[standard_artifacts.Model] | None = None
    examples: Input[standard_artifacts.Examples] | None = None
    # Pushed with the model: the next run measures its drift against them.
    statistics: Input[standard_artifacts.ExampleStatistics] | None = None
    evaluation: Input[standard_artifacts.ModelEvaluation] | None = None
    # Whether the model can be served, and how well; without it nobody has checked.
    infra_blessing: Input[standard_artifacts.InfraBlessing] | None = None

    pushed_model = Output(standard_artifacts.PushedModel)
