"""Action of `yt8m config show`."""

from __future__ import annotations

import yaml

from yt8m.cli.arguments.config import ConfigShowArguments
from yt8m.components.console.console import Console
from yt8m.pipeline.presets import changed_values
from yt8m.schemas.config_tree import to_dict


def run(args: ConfigShowArguments, console: Console) -> None:
    """Print the resolved configuration, or its values that differ from the defaults."""
    config = args.load()
    plain = changed_values(config) if args.changed else to_dict(config)
    text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, default_flow_style=None)
    console.result(plain, text.rstrip())
