"""Show a configuration as a run would use it, every value resolved.

NAME is a preset, the path of a YAML file, or `defaults`. Values come from the code's defaults,
then from NAME, then from --set. The output is YAML and can be saved and given back as a file.

examples:
  yt8m config show smoke
  yt8m config show video_mlp --set trainer.max_steps=500 --set gate.gap_threshold=0.6
  yt8m config show my_run.yaml --json
"""

from __future__ import annotations

import argparse

from yt8m.components.console.console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The configuration's name and what is set in it."""
    parser.add_argument("name", metavar="NAME", help="a preset, a YAML file, or `defaults`")
    parser.add_argument(
        "--set",
        metavar="A.B=VALUE",
        action="append",
        default=[],
        dest="overrides",
        help="set one value, read as YAML; may be given again",
    )


def run(args: argparse.Namespace, console: Console) -> None:
    """Print the resolved configuration."""
    import yaml

    from yt8m.pipeline.presets import load_config
    from yt8m.schemas.config_tree import to_dict

    plain = to_dict(load_config(args.name, args.overrides))
    text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, default_flow_style=None)
    console.result(plain, text.rstrip())
