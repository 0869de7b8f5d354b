"""Values that a person gives a run: checked before it starts, and again in its first pod.

Kubeflow's own form takes any text, so the command's check is not the only one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from yt8m.components.evaluator.config import GateConfig
from yt8m.components.evaluator.thresholds import check_gate, resolve_gate
from yt8m.schemas.errors import ConfigError

GATE_PARAMETERS = ("gap_threshold", "gap_change_threshold")


def check_gate_parameters(parameters: Mapping[str, Any]) -> None:
    """ConfigError where a threshold is no number, or is none that can be reached."""
    given = {name: str(parameters[name]) for name in GATE_PARAMETERS if name in parameters}
    if problems := check_gate(resolve_gate(GateConfig(gap_threshold=0.5), **given)):
        raise ConfigError(problems)
