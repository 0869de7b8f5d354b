"""The choice of a backend, and what each needs to know."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from yt8m.components.trainer.kubernetes_config import JobSetBackend, TFJobBackend
from yt8m.components.trainer.tf_config import find_processes_problem
from yt8m.schemas.config_tree import ConfigNode, require
from yt8m.schemas.limits import NonNegativeInt


@dataclass(frozen=True, kw_only=True)
class InProcessBackend(ConfigNode):
    """Training in the calling process; TF_CONFIG makes it part of a cluster."""

    name: Literal["in_process"] = "in_process"


@dataclass(frozen=True, kw_only=True)
class LocalProcessesBackend(ConfigNode):
    """A cluster of processes on this machine, over loopback."""

    name: Literal["local"] = "local"
    processes: str = "chief=1,worker=1"  # Number of processes per role, e.g. chief=1,worker=2
    restarts: NonNegativeInt = 3  # Number of restarts without a new checkpoint in between

    def __post_init__(self) -> None:
        super().__post_init__()
        problem = find_processes_problem(self.processes)
        require(not problem, "processes", self.processes, f"as in chief=1,worker=2 ({problem})")


BackendConfig = InProcessBackend | LocalProcessesBackend | TFJobBackend | JobSetBackend
