"""How our own TFX components declare what passes in and out."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from tfx import types
from tfx.types.component_spec import ChannelParameter, ComponentSpec, ExecutionParameter

Artifacts = dict[str, list[types.Artifact]]  # what an executor is given for inputs and outputs


class Declaration(ComponentSpec):
    """TFX's ComponentSpec, which makes the channels of its outputs itself."""

    PARAMETERS: Mapping[str, ExecutionParameter] = MappingProxyType({})
    INPUTS: Mapping[str, ChannelParameter] = MappingProxyType({})
    OUTPUTS: Mapping[str, ChannelParameter] = MappingProxyType({})

    def __init__(self, **given: Any) -> None:
        outputs = {name: types.Channel(type=made.type) for name, made in self.OUTPUTS.items()}
        super().__init__(**given, **outputs)


def parameters(*names: str, optional: bool = False) -> dict[str, ExecutionParameter]:
    """Execution parameters. All are texts: a node of the configuration is given as JSON."""
    return {name: ExecutionParameter(type=str, optional=optional) for name in names}


def channels(
    *, optional: bool = False, **artifact_types: type[types.Artifact]
) -> dict[str, ChannelParameter]:
    """Inputs or outputs by their names, each with the type of its artifacts."""
    return {k: ChannelParameter(type=v, optional=optional) for k, v in artifact_types.items()}
