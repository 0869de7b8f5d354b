"""Make an older version the newest: its files are pushed again under a new number.

Model servers load the highest number, so numbers only grow and nothing is removed. The next run
takes the new version for its baseline.

examples:
  yt8m models rollback 3 --push /srv/models
"""

from __future__ import annotations

import argparse

from yt8m.cli.shared_arguments import add_push_argument
from yt8m.components.console.console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("version", type=int, metavar="V", help="the version to go back to")
    add_push_argument(parser)


def run(args: argparse.Namespace, console: Console) -> None:
    """Push the old files again."""
    from yt8m.components.registry.push import rollback

    version = rollback(args.push, args.version)
    value = {"version": version.number, "path": version.path, "rollback_to": args.version}
    if version.number == args.version:
        console.result(value, f"version {args.version} is the newest already; nothing changed")
        return
    console.result(
        value, f"version {version.number} is version {args.version} again: {version.path}"
    )
