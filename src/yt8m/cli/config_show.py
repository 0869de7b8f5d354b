"""Show a configuration as a run would use it, every value resolved.

Values come from the code's defaults, then from the preset or file, then from --set. The output is
YAML and can be saved and given back as a file.

examples:
  yt8m config show smoke
  yt8m config show video_mlp --set trainer.max_steps=500 --set gate.gap_threshold=0.6
  yt8m config show my_run.yaml --json
"""

from __future__ import annotations

import argparse

from yt8m.cli.arguments import add_config_argument, config_of
from yt8m.components.console.console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config_argument(parser, required=True)


def run(args: argparse.Namespace, console: Console) -> None:
    """Print the resolved configuration."""
    import yaml

    from yt8m.schemas.config_tree import to_dict

    plain = to_dict(config_of(args))
    text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, default_flow_style=None)
    console.result(plain, text.rstrip())
