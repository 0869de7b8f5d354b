"""The declaration of Baseline: a component of our own, since Kubeflow has no resolvers."""

from __future__ import annotations

from tfx.dsl.components.base import base_component, executor_spec
from tfx.orchestration import data_types
from tfx.types import standard_artifacts

from yt8m.components.baseline.config import BaselineConfig
from yt8m.components.baseline.executor import Executor
from yt8m.components.declaration import Declaration, channels, parameters
from yt8m.schemas.code_digest import code_digest
from yt8m.schemas.config_tree import to_parameter


class BaselineSpec(Declaration):
    """What passes in and out."""

    PARAMETERS = parameters("push_dir", "config", "registry_digest", "code_version")
    INPUTS = channels()
    OUTPUTS = channels(model=standard_artifacts.Model)


class Baseline(base_component.BaseComponent):
    """Outputs `model`: the chosen version, or an empty artifact whose property `version` is 0."""

    SPEC_CLASS = BaselineSpec
    EXECUTOR_SPEC = executor_spec.ExecutorClassSpec(Executor)

    def __init__(
        self,
        config: BaselineConfig,
        *,
        push_dir: str | data_types.RuntimeParameter,
        registry_digest: str = "",
    ) -> None:
        """`registry_digest` as `registry.versions.registry_digest` gives it; "" is unknown."""
        super().__init__(
            BaselineSpec(
                push_dir=push_dir,
                config=to_parameter(config),
                registry_digest=registry_digest,
                code_version=code_digest(Executor.__module__),
            )
        )
