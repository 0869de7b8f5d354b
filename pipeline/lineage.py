"""Lineage of runs and artifacts: the one interface to any store.

TFX keeps it in ML Metadata, which `pipeline/metadata.py` reads; nothing else knows ml_metadata.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True, kw_only=True)
class ArtifactFacts:
    """One artifact of an execution."""

    artifact_id: int
    key: str  # the component's name for it
    type_name: str
    uri: str
    properties: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ExecutionFacts:
    """One execution of a component."""

    execution_id: int
    node: str
    state: str
    started: float
    ended: float
    outputs: tuple[ArtifactFacts, ...] = ()


class Lineage(Protocol):
    """A store of lineage."""

    def executions(self, run_id: str) -> list[ExecutionFacts]:
        """List the executions of a run, in their order, with their outputs."""
        ...

    def inputs(self, execution_ids: Iterable[int]) -> tuple[ArtifactFacts, ...]:
        """List the artifacts that these executions read."""
        ...

    def outputs(self, execution_ids: Iterable[int]) -> tuple[ArtifactFacts, ...]:
        """List the artifacts that these executions put out, reused ones too."""
        ...

    def mark_ended(self, run_id: str) -> int:
        """Mark what a dead run left unfinished as failed; return the number of executions."""
        ...

    def mark_deleted(self, artifact_ids: Iterable[int]) -> None:
        """Record that these artifacts are gone, so that no run reuses them."""
        ...

    def note(self, run_id: str, values: Mapping[str, str | int | float | None]) -> None:
        """Write `values` beside the run."""
        ...

    def notes(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield each run that has notes, the newest first."""
        ...
