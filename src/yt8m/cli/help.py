"""Explain a command, as its --help does; without one, list them.

examples:
  yt8m help
  yt8m help run
  yt8m help config explain
"""

from __future__ import annotations

import argparse

from yt8m.components.console.console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's words."""
    parser.add_argument("command", nargs="*", metavar="COMMAND", help="e.g. run, or config show")


def run(args: argparse.Namespace, console: Console) -> int:
    """Hand over to `--help`, whose errors and nearest names are those of the command line."""
    code: int = args.command_line.run([*args.command, "--help"])
    return code
