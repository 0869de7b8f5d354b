"""Values that a person gives a run: checked before it starts, and again in its first pod.

Kubeflow's own form takes any text, so the command's check is not the only one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yt8m.components.evaluator.config import GateConfig
from yt8m.components.evaluator.thresholds import check_gate, resolve_gate
from yt8m.schemas.errors import ConfigError

GATE_PARAMETERS = ("gap_threshold", "gap_change_threshold")


@dataclass(frozen=True)
class CompiledValue:
    """The place of a value of the configuration in a compiled pipeline."""

    task: str
    node: str  # the task's parameter that holds the node of the configuration
    key: str


# The default of a run's parameter; `push_dir` is compiled as a parameter of its own.
COMPILED_VALUES: Mapping[str, CompiledValue] = {
    "data_root": CompiledValue("ExampleGen", "config", "root"),
    "span": CompiledValue("ExampleGen", "config", "span"),
    **{name: CompiledValue("Evaluator", "gate", name) for name in GATE_PARAMETERS},
}


def check_gate_parameters(parameters: Mapping[str, Any]) -> None:
    """ConfigError where a threshold is no number, or is none that can be reached."""
    given = {name: str(parameters[name]) for name in GATE_PARAMETERS if name in parameters}
    if problems := check_gate(resolve_gate(GateConfig(gap_threshold=0.5), **given)):
        raise ConfigError(problems)


def with_texts(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Write the gate's numbers as texts, which are what our components declare."""
    return {
        name: str(value) if name in GATE_PARAMETERS else value for name, value in parameters.items()
    }
