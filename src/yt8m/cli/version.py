"""Action of `yt8m version`."""

from __future__ import annotations

import platform
from importlib.metadata import version

from yt8m.cli.arguments.about import VersionArguments
from yt8m.components.console.console import Console


def run(args: VersionArguments, console: Console) -> None:
    """Print both; what else is installed is pip's to say."""
    facts = {"version": version("yt8m-pipeline"), "python": platform.python_version()}
    console.result(facts, f"yt8m {facts['version']} (Python {facts['python']})")
