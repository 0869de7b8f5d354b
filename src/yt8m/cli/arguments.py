"""Arguments that several commands share: which configuration is meant, and which root."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.presets import load_config
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.errors import UserError

if TYPE_CHECKING:
    from yt8m.components.artifacts.run_record import RunRecord


# Argument to the configuration's path that it sets.
_PATHS = {
    "data": "data.root",
    "root": "root",
    "push": "pusher.push_dir",
    "beam_runner": "beam.runner",
    "beam_option": "beam.options",
    "timezone": "retrain.timezone",  # of `yt8m retrain`
}
DEFAULT_CONFIG = "smoke"


def add_config_argument(parser: argparse.ArgumentParser, *, required: bool = False) -> None:
    """`PRESET|FILE` and `--set`: how every command is given its configuration."""
    what = "a preset, a YAML file, or `defaults`"
    if required:
        parser.add_argument("config", metavar="PRESET|FILE", help=what)
    else:
        parser.add_argument(
            "config",
            nargs="?",
            default=DEFAULT_CONFIG,
            metavar="PRESET|FILE",
            help=f"{what} (default: {DEFAULT_CONFIG})",
        )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        help="any value of the configuration, e.g. trainer.max_steps=200; may be repeated",
    )


def add_run_config_arguments(parser: argparse.ArgumentParser, *, push: bool = True) -> None:
    """`[PRESET|FILE] --set`, and options for what most runs set: places, and Beam's engine."""
    add_config_argument(parser)
    parser.add_argument("--data", metavar="DIR", help="the records (data.root)")
    parser.add_argument("--root", metavar="DIR", help="artifacts, metadata, logs (root)")
    if push:
        parser.add_argument(
            "--push", metavar="DIR", help="the registry of models (pusher.push_dir)"
        )
    parser.add_argument("--beam-runner", help="local, flink, spark or dataflow (beam.runner)")
    parser.add_argument(
        "--beam-option",
        action="append",
        metavar="=--OPTION",
        help="an option passed to Beam, e.g. --beam-option=--parallelism=4; may be repeated",
    )


def config_of(args: argparse.Namespace) -> PipelineConfig:
    """The configuration that the arguments mean."""
    settings = [
        f"{path}={_yaml(value)}"
        for name, path in _PATHS.items()
        if (value := getattr(args, name, None)) is not None
    ]
    return load_config(args.config, [*args.set, *settings])


def _yaml(value: Any) -> str:
    """A value that --set reads back as it is: JSON is YAML."""
    import json

    return json.dumps(value)


def add_root_arguments(parser: argparse.ArgumentParser) -> None:
    """`--root`, and where its metadata are when they are not in it."""
    parser.add_argument("--root", required=True, metavar="DIR", help="as given to `yt8m run`")


def add_run_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", nargs="?", default="", metavar="RUN", help="default: the newest")


def layout_of(args: argparse.Namespace) -> Layout:
    """The layout of a root that exists."""
    layout = Layout(Path(args.root).absolute())
    if not layout.runs.is_dir():
        raise UserError(f"{layout.root}: no run was started there; give the --root of `yt8m run`")
    return layout


def record_of(args: argparse.Namespace) -> RunRecord:
    """The record of the run that was named, or of the newest."""
    return record_named(layout_of(args), args.run)


def record_named(layout: Layout, name: str) -> RunRecord:
    """The record of run `name`, of the newest where it is empty."""
    from yt8m.pipeline.run_record import list_runs

    records = list_runs(layout)
    for record in records:
        if name in ("", record.run_id):
            return record
    known = ", ".join(record.run_id for record in records[:5]) or "none"
    raise UserError(f"no run {name} in {layout.root}; the newest are {known}")
