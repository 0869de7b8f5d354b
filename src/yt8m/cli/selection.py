"""What arguments name: a configuration, a root, a run, a server."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

from yt8m.cli.arguments.kubeflow import ConnectionArguments
from yt8m.cli.arguments.options import settings_of
from yt8m.cli.arguments.shared import NamedConfigArguments
from yt8m.components.artifacts.run_record import RunRecord
from yt8m.kubeflow.server.connection import Connection, load_connection
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.presets import load_config
from yt8m.pipeline.run_record import list_runs
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.config_layers import overrides_of
from yt8m.schemas.errors import UserError


def config_of(arguments: NamedConfigArguments) -> PipelineConfig:
    """The configuration that the arguments mean; an option of its own is above --set."""
    settings = [*arguments.set, *overrides_of(settings_of(arguments))]
    return load_config([arguments.config, *arguments.layers], settings)


def layout_of(root: str) -> Layout:
    """The layout of a root that exists."""
    layout = Layout(Path(root).absolute())
    if not layout.runs.is_dir():
        raise UserError(f"{layout.root}: no run was started there; give the --root of `yt8m run`")
    return layout


def record_named(layout: Layout, name: str) -> RunRecord:
    """The record of run `name`, of the newest where it is empty."""
    records = list_runs(layout)
    for record in records:
        if name in ("", record.run_id):
            return record
    known = ", ".join(record.run_id for record in records[:5]) or "none"
    raise UserError(f"no run {name} in {layout.root}; the newest are {known}")


def connection_of(arguments: ConnectionArguments) -> Connection:
    """The server, and how to log in: by options, environment and file."""
    names = [field.name for field in dataclasses.fields(Connection)]
    options = {name: getattr(arguments, name, None) for name in names}
    return load_connection(options, os.environ, arguments.connection)
