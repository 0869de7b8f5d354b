"""What the infra check asks of a model, and the limits that it must keep."""

from __future__ import annotations

from dataclasses import dataclass

from yt8m.schemas.config_tree import ConfigNode, require
from yt8m.schemas.limits import NonNegativeInt, PositiveFloat, PositiveInt


@dataclass(frozen=True, kw_only=True)
class InfraCheckConfig(ConfigNode):
    """A fresh process with TensorFlow alone loads the model and answers, before Pusher."""

    enabled: bool = True  # without it nothing of this is known before the model is in service
    records: NonNegativeInt = 8  # of the evaluated split, beside the model's warm-up requests
    batch_sizes: tuple[PositiveInt, ...] = (1, 8, 64)  # whose latency is measured, ascending
    requests: PositiveInt = 100  # of each batch size
    seconds: PositiveFloat = 2.0  # after which a batch size has had enough of them, five or more
    # Use of GPUs, which a training beside it may need; false: the check runs on the CPU.
    uses_gpu: bool = False
    timeout_s: PositiveFloat = 600.0  # for all of it; a model that takes longer is held back

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = self.batch_sizes
        rising = sizes[:1] == (1,) and list(sizes) == sorted(set(sizes))
        require(rising, "batch_sizes", sizes, "ascending and begin with 1, e.g. [1, 8, 64]")


@dataclass(frozen=True, kw_only=True)
class ServingLimits(ConfigNode):
    """What a model must keep to be pushed; the gate's."""

    max_latency_ms: PositiveFloat | None = None  # p99 of requests of one record
    max_memory_mb: PositiveFloat | None = None  # of the process at its peak
