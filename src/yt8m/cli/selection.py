"""The server that arguments name."""

from __future__ import annotations

import dataclasses
import os

from yt8m.cli.arguments.kubeflow import ConnectionArguments
from yt8m.kubeflow.server.connection import Connection, load_connection


def connection_of(arguments: ConnectionArguments) -> Connection:
    """The server, and how to log in: by options, environment and file."""
    names = [field.name for field in dataclasses.fields(Connection)]
    options = {name: getattr(arguments, name, None) for name in names}
    return load_connection(options, os.environ, arguments.connection)
