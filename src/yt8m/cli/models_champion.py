"""Action of `yt8m models champion`."""

from __future__ import annotations

from yt8m.cli.arguments.models import ModelsChampionArguments
from yt8m.components.console.console import Console
from yt8m.components.registry.champion import find_champion
from yt8m.components.registry.push import set_champion
from yt8m.components.registry.versions import require_registry


def run(args: ModelsChampionArguments, console: Console) -> None:
    """Say which version is the champion, or choose it."""
    require_registry(args.push)
    if args.set is not None:
        version = set_champion(args.push, args.set)
        value = {"champion": version.number, "path": version.path, "chosen": True}
        console.result(value, f"version {version.number} is the champion: {version.path}")
        return
    champion = find_champion(args.push)
    if champion is None:
        console.result({"champion": None}, f"no champion in {args.push}: nothing was pushed yet")
        return
    gap = champion.record.metrics.get("gap")
    value = {
        "champion": champion.number,
        "path": champion.path,
        "gap": gap.value if gap else None,
        "chosen": False,
    }
    said = f", GAP {gap.value:.4f} when it was pushed" if gap and gap.value is not None else ""
    console.result(value, f"version {champion.number}: {champion.path}{said}")
