"""The metadata store (MLMD), a SQLite file below the root or a MySQL/MariaDB server: the one module
that knows ml_metadata. `MlmdLineage` is the lineage in it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from yt8m.pipeline.config import MetadataConfig
from yt8m.pipeline.lineage import ArtifactFacts, ExecutionFacts, Lineage
from yt8m.schemas.errors import UserError

_SQLITE_HEADER = b"SQLite format 3\0"
_VERSION_TABLE = "MLMDEnv"
RUN_CONTEXT = "pipeline_run"  # TFX's name for the context of one run
_NOTE_PREFIX = "yt8m_"
_UNFINISHED = ("NEW", "RUNNING")


def connection_config(
    config: MetadataConfig, database: Path, environ: Mapping[str, str] = os.environ
) -> Any:  # ml_metadata's ConnectionConfig: a generated class without types
    """How TFX and MLMD's tools connect."""
    from ml_metadata.proto import metadata_store_pb2

    connection = metadata_store_pb2.ConnectionConfig()
    if config.mysql is None:
        connection.sqlite.filename_uri = str(database)
        connection.sqlite.connection_mode = (
            metadata_store_pb2.SqliteMetadataSourceConfig.READWRITE_OPENCREATE
        )
        return connection
    server = config.mysql
    connection.mysql.host = server.host
    connection.mysql.port = server.port
    connection.mysql.database = server.database
    connection.mysql.user = server.user
    connection.mysql.password = environ.get(server.password_env, "")
    return connection


def secrets(config: MetadataConfig, environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """Texts that must appear nowhere."""
    password = environ.get(config.mysql.password_env, "") if config.mysql else ""
    return (password,) if password else ()


def check_metadata(config: MetadataConfig, database: Path) -> list[str]:
    """List why the metadata store cannot be used; looking changes nothing."""
    if config.mysql is not None:
        return _check_server(config, database)
    if not database.exists():
        return []
    problem = _check_file(database)
    return [] if problem is None else [problem]


def create_lineage(config: MetadataConfig, database: Path) -> Lineage:
    """The lineage of a root, in a store that is made where it is not there yet."""
    from ml_metadata import MetadataStore

    return MlmdLineage(MetadataStore(connection_config(config, database)))


def open_lineage(config: MetadataConfig, database: Path) -> Lineage:
    """The lineage of the existing store; UserError when there is none, or it cannot be used."""
    return MlmdLineage(open_store(config, database))


def open_store(config: MetadataConfig, database: Path) -> Any:  # ml_metadata.MetadataStore
    """A connection to the existing store; UserError when there is none, or it cannot be used."""
    if config.mysql is None and not database.exists():
        raise UserError(f"{database}: no such file, so no run was started on this root yet")
    problems = check_metadata(config, database)
    if problems:
        raise UserError("\n".join(problems))
    from ml_metadata import MetadataStore

    return MetadataStore(connection_config(config, database))


def _check_file(database: Path) -> str | None:
    with database.open("rb") as file:
        header = file.read(len(_SQLITE_HEADER))
    if not header:
        return None  # made by a run that was killed before it wrote anything
    advice = "it was left as it is; restore it from a copy, or use another --root"
    if header != _SQLITE_HEADER:
        return f"{database} is not a SQLite database: {advice}"
    # A hot journal of a killed run must be rolled back, and that needs a writable connection.
    mode = "rw" if Path(f"{database}-journal").exists() else "ro"
    try:
        address = database.absolute().as_uri()  # in which % and # of the path are escaped
        connection = sqlite3.connect(f"{address}?mode={mode}", uri=True)
        try:
            return _check_content(connection, database, advice)
        finally:
            connection.close()
    except sqlite3.Error as error:
        return f"{database} is damaged ({error}): {advice}"


def _check_content(connection: sqlite3.Connection, database: Path, advice: str) -> str | None:
    (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if state != "ok":
        return f"{database} is damaged ({state}): {advice}"
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    if tables and _VERSION_TABLE not in tables:
        shown = ", ".join(sorted(tables)[:3])
        return f"{database} belongs to another program (tables {shown}): {advice}"
    return None


def _check_server(config: MetadataConfig, database: Path) -> list[str]:
    from ml_metadata import MetadataStore

    server = config.mysql
    assert server is not None  # the caller has checked
    try:
        MetadataStore(connection_config(config, database))
    except Exception as error:  # its client raises many kinds, all of them about this connection
        return [
            f"metadata.mysql: {server.user}@{server.host}:{server.port}/{server.database} cannot "
            f"be used ({_first_line(error)}); is the server up, does the database exist, and is "
            f"the password in ${server.password_env}?"
        ]
    return []


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__


class MlmdLineage:
    """A `Lineage` in an MLMD store. `store` is an `ml_metadata.MetadataStore`, without types."""

    def __init__(self, store: Any) -> None:
        self._store = store

    def executions(self, run_id: str) -> list[ExecutionFacts]:
        """The executions of a run, in their order, with what they put out."""
        context = self._store.get_context_by_type_and_name(RUN_CONTEXT, run_id)
        if context is None:
            return []
        by_id = sorted(self._store.get_executions_by_context(context.id), key=lambda e: e.id)
        return [self._execution(execution) for execution in by_id]

    def inputs(self, execution_ids: Iterable[int]) -> tuple[ArtifactFacts, ...]:
        """List the artifacts that these executions read."""
        return self._artifacts(execution_ids, "INPUT")

    def outputs(self, execution_ids: Iterable[int]) -> tuple[ArtifactFacts, ...]:
        """List the artifacts that these executions put out, reused ones too."""
        return self._artifacts(execution_ids, "OUTPUT")

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
        contexts = self._store.get_contexts_by_type(RUN_CONTEXT)
        for context in sorted(contexts, key=lambda c: c.name, reverse=True):
            values = _values(context.custom_properties)
            notes = {
                name.removeprefix(_NOTE_PREFIX): value
                for name, value in values.items()
                if name.startswith(_NOTE_PREFIX)
            }
            if notes:
                yield context.name, notes

    def _artifacts(self, execution_ids: Iterable[int], kind: str) -> tuple[ArtifactFacts, ...]:
        events = [
            event
            for event in self._store.get_events_by_execution_ids(list(execution_ids))
            if event.type == event.Type.Value(kind)
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
