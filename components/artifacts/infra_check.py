"""Measurements and result of the infra check: `infra_check.json` in its blessing."""

from __future__ import annotations

from dataclasses import dataclass

from yt8m.schemas.json_file import JsonFile

FILE_NAME = "infra_check.json"


@dataclass(frozen=True, kw_only=True)
class Latency:
    """Latency of requests of one size, sent one after the other."""

    batch_size: int  # records a request
    requests: int  # that were measured
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True, kw_only=True)
class Serving:
    """Time and memory that a process with TensorFlow alone took to serve a model."""

    load_s: float
    first_answer_s: float  # what clients would wait for without warm-up
    latencies: tuple[Latency, ...] = ()
    tensorflow_mb: float = 0.0  # the process before it loaded the model
    memory_mb: float = 0.0  # at its peak
    processors: int = 0
    tensorflow: str = ""  # its version


@dataclass(frozen=True, kw_only=True)
class ServingCheck:
    """One limit and what was observed."""

    name: str  # of the limit in the configuration
    limit: float
    observed: float
    passed: bool


@dataclass(frozen=True, kw_only=True)
class InfraCheckResult(JsonFile):
    """Whether the model can be served, and how well."""

    blessed: bool
    reason: str
    skipped: bool = False  # the gate had rejected the model
    rows: int = 0  # whose answers were compared with the Evaluator's scores
    largest_difference: float = 0.0  # of a score
    serving: Serving | None = None
    checks: tuple[ServingCheck, ...] = ()
