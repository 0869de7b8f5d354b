"""Settings of the infra check: its requests, and the limits that a model must keep."""

from __future__ import annotations

from dataclasses import dataclass

from yt8m.schemas.config_tree import ConfigNode, require
from yt8m.schemas.limits import NonNegativeInt, PositiveFloat, PositiveInt


@dataclass(frozen=True, kw_only=True)
class InfraCheckConfig(ConfigNode):
    """The infra check: a fresh process loads and queries the model before the Pusher."""

    enabled: bool = True  # Check that the model can be loaded and queried before it is pushed
    # Number of records of the evaluated split sent in addition to the warm-up requests.
    records: NonNegativeInt = 8
    # Batch sizes whose latency is measured, ascending.
    batch_sizes: tuple[PositiveInt, ...] = (1, 8, 64)
    requests: PositiveInt = 100  # Number of requests per batch size
    # Seconds after which a batch size is done, once it had five requests.
    seconds: PositiveFloat = 2.0
    # Run the check on GPUs, which a concurrent training may need; false: on the CPU.
    uses_gpu: bool = False
    # Seconds that the whole check may take; a slower model is not blessed.
    timeout_s: PositiveFloat = 600.0

    def __post_init__(self) -> None:
        super().__post_init__()
        sizes = self.batch_sizes
        rising = sizes[:1] == (1,) and list(sizes) == sorted(set(sizes))
        require(rising, "batch_sizes", sizes, "ascending and begin with 1, e.g. [1, 8, 64]")


@dataclass(frozen=True, kw_only=True)
class ServingLimits(ConfigNode):
    """The gate's limits for serving a model."""

    # Upper limit of the 99th percentile latency of one-record requests.
    max_latency_ms: PositiveFloat | None = None
    max_memory_mb: PositiveFloat | None = None  # Upper limit of the serving process's peak memory
