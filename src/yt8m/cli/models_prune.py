"""Remove damaged versions: nothing else ever does. Says what would go; --yes removes it.

A version is damaged when it has a record of yt8m's and is not what that says. Other makers' models
have none and are never removed. A damaged version that could be restored from a backup is better
restored: `yt8m models verify` says which of its files are wrong.

examples:
  yt8m models prune --push /srv/models
  yt8m models prune --push /srv/models --yes
"""

from __future__ import annotations

import argparse

from yt8m.cli.shared_arguments import add_push_argument
from yt8m.components.console.console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    add_push_argument(parser)
    parser.add_argument("--yes", action="store_true", help="remove them, do not only say which")


def run(args: argparse.Namespace, console: Console) -> None:
    """Say which versions are damaged, and remove them on request."""
    from yt8m.components.registry.push import find_damaged, remove_damaged
    from yt8m.components.registry.versions import require_registry

    require_registry(args.push)
    damaged = remove_damaged(args.push) if args.yes else find_damaged(args.push)
    value = {"push_dir": args.push, "damaged": list(damaged), "removed": args.yes}
    if not damaged:
        console.result(value, f"no damaged version in {args.push}")
        return
    lines = list(damaged.values())
    numbers = ", ".join(map(str, damaged))
    said = f"removed: {numbers}" if args.yes else f"--yes would remove: {numbers}"
    console.result(value, "\n".join([*lines, said]))
