"""Action of `yt8m models prune`."""

from __future__ import annotations

from yt8m.cli.arguments.models import ModelsPruneArguments
from yt8m.components.console.console import Console
from yt8m.components.registry.push import find_damaged, remove_damaged
from yt8m.components.registry.versions import require_registry


def run(args: ModelsPruneArguments, console: Console) -> None:
    """Say which versions are damaged, and remove them on request."""
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
