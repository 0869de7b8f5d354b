"""The declaration of Baseline: a component of our own, since Kubeflow has no resolvers."""

from __future__ import annotations

import json

from tfx import types
from tfx.dsl.components.base import base_component, executor_spec
from tfx.orchestration import data_types
from tfx.types import component_spec, standard_artifacts

from yt8m.components.baseline.config import BaselineConfig
from yt8m.components.baseline.executor import Executor
from yt8m.schemas.code_version import code_version
from yt8m.schemas.config_tree import to_dict


class BaselineSpec(component_spec.ComponentSpec):
    """What passes in and out."""

    PARAMETERS = {  # noqa: RUF012  (TFX's way)
        "push_dir": component_spec.ExecutionParameter(type=str),
        "config": component_spec.ExecutionParameter(type=str),
        "registry_digest": component_spec.ExecutionParameter(type=str),
        "code_version": component_spec.ExecutionParameter(type=str),
    }
    INPUTS: dict[str, component_spec.ChannelParameter] = {}  # noqa: RUF012
    OUTPUTS = {  # noqa: RUF012
        "model": component_spec.ChannelParameter(type=standard_artifacts.Model),
    }


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
                config=json.dumps(to_dict(config), sort_keys=True),
                registry_digest=registry_digest,
                code_version=code_version(Executor.__module__),
                model=types.Channel(type=standard_artifacts.Model),
            )
        )
