"""What MLMD knows of runs: their executions, artifacts, and what we note beside them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

RUN_CONTEXT = "pipeline_run"  # TFX's name for the context of one run
_NOTE_PREFIX = "yt8m_"
_UNFINISHED = ("NEW", "RUNNING")


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


class Lineage:
    """Questions to an MLMD store. `store` is an `ml_metadata.MetadataStore`, which has no types."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def executions(self, run_id: str) -> list[ExecutionFacts]:
        """The executions of a run, in their order, with what they put out."""
        context = self._store.get_context_by_type_and_name(RUN_CONTEXT, run_id)
        if context is None:
            return []
        found = sorted(self._store.get_executions_by_context(context.id), key=lambda e: e.id)
        return [self._execution(execution) for execution in found]

    def outputs(self, execution_ids: Iterable[int]) -> tuple[ArtifactFacts, ...]:
        """What these executions put out, reused artifacts too."""
        events = [
            event
            for event in self._store.get_events_by_execution_ids(list(execution_ids))
            if event.type == event.OUTPUT
        ]
        keys = {event.artifact_id: _key(event) for event in events}
        artifacts = self._store.get_artifacts_by_id(list(keys))
        return tuple(
            ArtifactFacts(
                artifact_id=artifact.id,
                key=keys[artifact.id],
                type_name=artifact.type,
                uri=artifact.uri,
                properties=_values(artifact.properties) | _values(artifact.custom_properties),
            )
            for artifact in artifacts
        )

    def mark_ended(self, run_id: str) -> int:
        """Call what a dead run left unfinished FAILED; returns how many executions that were."""
        context = self._store.get_context_by_type_and_name(RUN_CONTEXT, run_id)
        if context is None:
            return 0
        dead = [
            execution
            for execution in self._store.get_executions_by_context(context.id)
            if _state(execution) in _UNFINISHED
        ]
        for execution in dead:
            execution.last_known_state = execution.FAILED
        if dead:
            self._store.put_executions(dead)
        return len(dead)

    def mark_deleted(self, artifact_ids: Iterable[int]) -> None:
        """Tell MLMD, and with it TFX's cache, that these artifacts are gone."""
        artifacts = self._store.get_artifacts_by_id(list(artifact_ids))
        for artifact in artifacts:
            artifact.state = artifact.DELETED
        if artifacts:
            self._store.put_artifacts(artifacts)

    def note(self, run_id: str, values: Mapping[str, str | int | float | None]) -> None:
        """Write `values` beside the run, where MLMD's own tools show them."""
        context = self._store.get_context_by_type_and_name(RUN_CONTEXT, run_id)
        if context is None:
            return  # it ended before its first component
        for name, value in values.items():
            if value is None:
                continue
            slot = context.custom_properties[f"{_NOTE_PREFIX}{name}"]
            if isinstance(value, str):
                slot.string_value = value
            elif isinstance(value, int):
                slot.int_value = value
            else:
                slot.double_value = value
        self._store.put_contexts([context])

    def notes(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Each run that has notes, the newest first."""
        for context in sorted(self._contexts(), key=lambda c: c.name, reverse=True):
            values = _values(context.custom_properties)
            notes = {
                name.removeprefix(_NOTE_PREFIX): value
                for name, value in values.items()
                if name.startswith(_NOTE_PREFIX)
            }
            if notes:
                yield context.name, notes

    def _contexts(self) -> list[Any]:
        return list(self._store.get_contexts_by_type(RUN_CONTEXT))

    def _execution(self, execution: Any) -> ExecutionFacts:
        contexts = self._store.get_contexts_by_execution(execution.id)
        nodes = [context.name for context in contexts if context.type == "node"]
        return ExecutionFacts(
            execution_id=execution.id,
            node=nodes[0].rpartition(".")[2] if nodes else execution.type,
            state=_state(execution),
            started=execution.create_time_since_epoch / 1000,
            ended=execution.last_update_time_since_epoch / 1000,
            outputs=self.outputs([execution.id]),
        )


def _state(execution: Any) -> str:
    return str(execution.State.Name(execution.last_known_state))


def _key(event: Any) -> str:
    return next((step.key for step in event.path.steps if step.key), "")


def _values(properties: Any) -> dict[str, Any]:
    return {
        name: getattr(value, value.WhichOneof("value"))
        for name, value in properties.items()
        if value.WhichOneof("value")
    }
