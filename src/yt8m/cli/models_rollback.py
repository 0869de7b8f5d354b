"""Action of `yt8m models rollback`."""

from __future__ import annotations

from yt8m.cli.arguments.models import ModelsRollbackArguments
from yt8m.components.console.console import Console
from yt8m.components.registry.push import rollback


def run(args: ModelsRollbackArguments, console: Console) -> None:
    """Push the old files again."""
    version = rollback(args.push, args.version)
    value = {"version": version.number, "path": version.path, "rollback_to": args.version}
    if version.number == args.version:
        console.result(value, f"version {args.version} is the newest already; nothing changed")
        return
    console.result(
        value, f"version {version.number} is version {args.version} again: {version.path}"
    )
