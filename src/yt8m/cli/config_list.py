"""List the presets, one line each.

A preset is a named configuration; `yt8m config show NAME` shows all of its values.

examples:
  yt8m config list
  yt8m config list --json
"""

from __future__ import annotations

import argparse

from yt8m.components.console.console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None beside the general ones."""


def run(args: argparse.Namespace, console: Console) -> None:
    """Print the table of presets."""
    from yt8m.pipeline.presets import list_presets

    presets = list_presets()
    console.result(
        {"presets": [{"name": p.name, "summary": p.summary} for p in presets]},
        console.table(("preset", "what it is"), [(p.name, p.summary) for p in presets]),
    )
