"""Steps: TFX components of our own, each declared once, by the attributes of its class.

    class InfraCheck(Step, executor=Executor):
        config: InfraCheckConfig
        split: str = "eval"
        model: Input[standard_artifacts.Model]
        examples: Input[standard_artifacts.Examples] | None = None

        infra_blessing = Output(standard_artifacts.InfraBlessing)

An attribute with a type is what the constructor takes by that name: a channel, or a parameter. Of
all of them `Step` makes what TFX reads, with one parameter more: `code_version`, the digest of the
executor's code and of the user's own that the configuration names.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, dataclass_transform

from tfx import types
from tfx.dsl.components.base import (
    base_beam_executor,
    base_component,
    base_executor,
    executor_spec,
)
from tfx.types.component_spec import ChannelParameter, ComponentSpec, ExecutionParameter

from yt8m.schemas.code_digest import code_digest
from yt8m.schemas.config_tree import ConfigNode, is_union, to_dict, to_parameter
from yt8m.schemas.roles import KeyRole, own_modules, role_of

Input = types.BaseChannel  # Input[Model]: a channel with artifacts of type Model
Artifacts = dict[str, list[types.Artifact]]  # what an executor is given for inputs and outputs


@dataclass(frozen=True)
class Output:
    """An output. The step makes its channel."""

    type: type[types.Artifact]


@dataclass(frozen=True)
class RunTime(KeyRole):
    """A parameter that each run may set without compiling the pipeline again; "": as configured."""


@dataclass(frozen=True)
class Outside(KeyRole):
    """A digest of what a step reads from outside the pipeline, for TFX's cache.

    The local runner computes it before the run. On Kubeflow it is empty, so the step is not cached.
    """


@dataclass_transform(kw_only_default=True)
class Step(base_component.BaseComponent):
    """Base of the steps: a TFX component whose class says its parameters, inputs and outputs."""

    PARAMETERS: ClassVar[Mapping[str, Any]]  # types by name

    def __init_subclass__(cls, *, executor: type[base_executor.BaseExecutor]) -> None:
        super().__init_subclass__()
        _refuse_twin(cls)
        hints = inspect.get_annotations(cls, eval_str=True)
        inputs = {name: kind for name, hint in hints.items() if (kind := _input_type(hint))}
        outputs = {name: made.type for name, made in vars(cls).items() if isinstance(made, Output)}
        defaults = {name: vars(cls)[name] for name in hints if name in vars(cls)}
        for name in (*outputs, *defaults):  # channels are in `.outputs`, values in the parameters
            delattr(cls, name)
        cls.PARAMETERS = {name: hint for name, hint in hints.items() if name not in inputs}
        cls.SPEC_CLASS = _spec_class(cls.__name__, [*cls.PARAMETERS], inputs, outputs, {*defaults})
        uses_beam = issubclass(executor, base_beam_executor.BaseBeamExecutor)
        spec = executor_spec.BeamExecutorSpec if uses_beam else executor_spec.ExecutorClassSpec
        cls.EXECUTOR_SPEC = spec(executor)
        keyword, none = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
        cls.__signature__ = inspect.Signature(
            [inspect.Parameter(n, keyword, default=defaults.get(n, none)) for n in hints]
        )

    def __init__(self, **arguments: Any) -> None:
        bound = self.__signature__.bind(**arguments)
        bound.apply_defaults()
        values, spec = bound.arguments, self.SPEC_CLASS
        code = code_digest(self.EXECUTOR_SPEC.executor_class.__module__, *_own_modules(values))
        super().__init__(
            spec(
                code_version=code,
                **{name: to_parameter(values[name]) for name in self.PARAMETERS},
                **{name: values[name] for name in spec.INPUTS if values[name] is not None},
                **{name: types.Channel(type=made.type) for name, made in spec.OUTPUTS.items()},
            )
        )

    @classmethod
    def parameters_with(cls, role: type[KeyRole]) -> list[str]:
        """List the parameters that have `role`."""
        return [name for name, hint in cls.PARAMETERS.items() if role_of(hint, role)]


def custom_config(*code: str, **values: Any) -> dict[str, Any]:
    """Compose the `custom_config` of one of TFX's components, whose functions are dotted paths.

    TFX's cache sees a path as text; `code_version` makes it see the code at the paths `code`. They
    are listed, too: where another machine runs the code, it takes the digest again.
    """
    plain: dict[str, Any] = to_dict(values)
    paths = sorted({path for path in (*code, *_own_modules(values)) if path})
    return {**plain, "code": paths, "code_version": code_digest(*paths)}


def _own_modules(values: Mapping[str, Any]) -> list[str]:
    """List the modules of the user's own code that nodes of the configuration name."""
    nodes = [value for value in values.values() if isinstance(value, ConfigNode)]
    return [module for node in nodes for module in own_modules(node)]


def _spec_class(
    name: str,
    parameters: list[str],
    inputs: Mapping[str, type[types.Artifact]],
    outputs: Mapping[str, type[types.Artifact]],
    optional: set[str],
) -> type[ComponentSpec]:
    content = {
        "PARAMETERS": {p: ExecutionParameter(type=str) for p in [*parameters, "code_version"]},
        "INPUTS": {
            key: ChannelParameter(type=kind, optional=key in optional)
            for key, kind in inputs.items()
        },
        "OUTPUTS": {key: ChannelParameter(type=kind) for key, kind in outputs.items()},
    }
    return type(f"{name}Spec", (ComponentSpec,), content)


def _input_type(hint: Any) -> type[types.Artifact] | None:
    """The type of an input's artifacts; None where the hint is a parameter's."""
    options = typing.get_args(hint) if is_union(hint) else (hint,)
    kinds = (typing.get_args(option) for option in options if typing.get_origin(option) is Input)
    return next((kind for (kind,) in kinds), None)


def _refuse_twin(cls: type[Step]) -> None:
    """A step's name is its id in every pipeline."""
    for step in Step.__subclasses__():
        if step.__name__ == cls.__name__ and step.__module__ != cls.__module__:
            where = f"is declared in {step.__module__} already"
            raise TypeError(f"{cls.__module__}: the step {cls.__name__} {where}")
