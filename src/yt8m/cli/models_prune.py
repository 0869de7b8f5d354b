"""Action of `yt8m models prune`."""

from __future__ import annotations

from yt8m.cli.arguments.models import ModelsPruneArguments
from yt8m.components.console.console import Console
from yt8m.components.registry.push import find_damaged, remove_damaged
from yt8m.components.registry.versions import require_registry
from yt8m.schemas.errors import Yt8mError


def run(args: ModelsPruneArguments, console: Console) -> None:
    """Say which versions are damaged, and remove them on request."""
    require_registry(args.push)
    if not args.yes:
        damaged = find_damaged(args.push)
        value = {"push_dir": args.push, "damaged": list(damaged), "removed": False}
        lines = [*damaged.values(), f"--yes would remove: {', '.join(map(str, damaged))}"]
        console.result(value, "\n".join(lines) if damaged else _none(args.push))
        return
    done = remove_damaged(args.push)
    if done.failed:
        removed = ", ".join(map(str, done.removed)) or "none"
        reasons = "; ".join(f"version {number}: {text}" for number, text in done.failed.items())
        raise Yt8mError(f"removed: {removed}; not removed: {reasons}")
    value = {"push_dir": args.push, "damaged": list(done.removed), "removed": True}
    lines = [*done.removed.values(), f"removed: {', '.join(map(str, done.removed))}"]
    lines += [f"  version {number} is in {path} for a week" for number, path in done.aside.items()]
    console.result(value, "\n".join(lines) if done.removed else _none(args.push))


def _none(push_dir: str) -> str:
    return f"no damaged version in {push_dir}"
