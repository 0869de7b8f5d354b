"""The declaration of Baseline: a component of our own, since Kubeflow has no resolvers."""

from __future__ import annotations

from typing import Annotated

from tfx.types import standard_artifacts

from yt8m.components.baseline.config import BaselineConfig
from yt8m.components.baseline.executor import Executor
from yt8m.components.declaration import Output, Outside, RunTime, Step
from yt8m.components.registry.config import RegistryConfig


class Baseline(Step, executor=Executor):
    """Outputs `model`: the chosen version, or an empty artifact whose property `version` is 0.

    `champion` is the best version so far: its record, and its model where `model` is another one.
    """

    config: BaselineConfig
    registry: RegistryConfig = RegistryConfig()
    push_dir: Annotated[str, RunTime()]
    # As `registry.registry_digest` computes it; "" is unknown.
    registry_digest: Annotated[str, Outside()] = ""

    model = Output(standard_artifacts.Model)
    champion = Output(standard_artifacts.Model)
