"""The arguments that say which configuration is meant, shared by the commands that run one."""

from __future__ import annotations

import argparse
from typing import Any

from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.presets import load_config

# Argument to the configuration's path that it sets.
_PATHS = {
    "data": "data.root",
    "root": "root",
    "push": "pusher.push_dir",
    "beam_runner": "beam.runner",
    "beam_option": "beam.options",
}


def add_config_arguments(parser: argparse.ArgumentParser) -> None:
    """`[PRESET|FILE] --data --root --push --set`, and Beam's."""
    parser.add_argument(
        "config", nargs="?", default="smoke", metavar="PRESET|FILE", help="default: %(default)s"
    )
    parser.add_argument("--data", metavar="DIR", help="the records (data.root)")
    parser.add_argument("--root", metavar="DIR", help="artifacts, metadata, logs (root)")
    parser.add_argument("--push", metavar="DIR", help="the registry of models (pusher.push_dir)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PATH=VALUE",
        help="any value of the configuration, e.g. trainer.max_steps=200; may be repeated",
    )
    parser.add_argument("--beam-runner", help="local, flink, spark or dataflow (beam.runner)")
    parser.add_argument(
        "--beam-option",
        action="append",
        metavar="=--OPTION",
        help="an option handed to Beam, e.g. --beam-option=--parallelism=4; may be repeated",
    )


def configured(args: argparse.Namespace) -> PipelineConfig:
    """The configuration that the arguments mean."""
    settings = [
        f"{path}={_yaml(value)}"
        for name, path in _PATHS.items()
        if (value := getattr(args, name)) is not None
    ]
    return load_config(args.config, [*args.set, *settings])


def _yaml(value: Any) -> str:
    """A value that --set reads back as it is: JSON is YAML."""
    import json

    return json.dumps(value)
