"""Action of `yt8m config list`."""

from __future__ import annotations

from yt8m.cli.arguments.config import ConfigListArguments
from yt8m.components.console.console import Console
from yt8m.pipeline.presets import list_presets


def run(args: ConfigListArguments, console: Console) -> None:
    """Print the table of presets."""
    presets = list_presets()
    console.result(
        {"presets": [{"name": p.name, "summary": p.summary} for p in presets]},
        console.table(("preset", "what it is"), [(p.name, p.summary) for p in presets]),
    )
