"""Show which version of yt8m is installed, and with which Python.

examples:
  yt8m version
  yt8m version --json
"""

from __future__ import annotations

import argparse

from yt8m.components.console.console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """None beside the general ones."""


def run(args: argparse.Namespace, console: Console) -> None:
    """Print both; what else is installed is pip's to say."""
    import platform
    from importlib.metadata import version

    found = {"version": version("yt8m-pipeline"), "python": platform.python_version()}
    console.result(found, f"yt8m {found['version']} (Python {found['python']})")
