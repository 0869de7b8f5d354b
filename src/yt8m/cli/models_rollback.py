"""Action of `yt8m models rollback`."""

from __future__ import annotations

from yt8m.cli.arguments.models import ModelsRollbackArguments
from yt8m.components.console.console import Console
from yt8m.components.registry.config import RegistryConfig
from yt8m.components.registry.push import rollback
from yt8m.components.registry.signature import Trust, signer_of


def run(args: ModelsRollbackArguments, console: Console) -> None:
    """Push the old files again."""
    signer = signer_of(RegistryConfig(signing_key=args.signing_key))
    trust = Trust(key=args.key) if args.key else None
    version = rollback(args.push, args.version, signer=signer, trust=trust)
    value = {"version": version.number, "path": version.path, "rollback_to": args.version}
    if version.number == args.version:
        console.result(value, f"version {args.version} is the newest already; nothing changed")
        return
    console.result(
        value, f"version {version.number} is version {args.version} again: {version.path}"
    )
