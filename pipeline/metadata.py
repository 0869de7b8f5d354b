"""The metadata store (MLMD): a SQLite file below the root, or a MySQL/MariaDB server."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yt8m.pipeline.config import MetadataConfig
from yt8m.schemas.errors import UserError

_SQLITE_HEADER = b"SQLite format 3\0"
_VERSION_TABLE = "MLMDEnv"


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
    """What must appear nowhere."""
    password = environ.get(config.mysql.password_env, "") if config.mysql else ""
    return (password,) if password else ()


def check_metadata(config: MetadataConfig, database: Path) -> list[str]:
    """What keeps the metadata store from being used; nothing is changed by looking."""
    if config.mysql is not None:
        return _check_server(config, database)
    if not database.exists():
        return []
    problem = _check_file(database)
    return [] if problem is None else [problem]


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
        connection = sqlite3.connect(f"file:{database}?mode={mode}", uri=True)
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
