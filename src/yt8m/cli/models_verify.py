"""Compare every version with its record: what was pushed, decided, configured and trained on.

Every file is read and its SHA-256 compared; so are the record's own checksum, the model that the
gate decided about, the configuration that the model carries, and the manifest of its data where
that still is. Other makers' models have no record and are only named. Ends with 2 where a version
is not as its record says.

examples:
  yt8m models verify --push /srv/models
  yt8m models verify 3 --push /srv/models --json
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from yt8m.cli.shared_arguments import add_push_argument
from yt8m.components.console.console import Console
from yt8m.schemas.errors import EXIT_DONE, EXIT_USER

if TYPE_CHECKING:
    from yt8m.components.registry.verify import Verification


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's arguments."""
    parser.add_argument("version", type=int, nargs="?", metavar="V", help="this one alone")
    add_push_argument(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    """Print a line for each version and each problem."""
    from yt8m.components.registry.verify import verify_version
    from yt8m.components.registry.versions import (
        list_baselines,
        list_versions,
        require_registry,
        require_version,
    )

    require_registry(args.push)
    numbers = [*list_versions(args.push), *list_baselines(args.push)]
    if args.version is not None:
        require_version(args.push, args.version)
        numbers = [args.version]
    found = [verify_version(args.push, number) for number in numbers]
    value = {"push_dir": args.push, "versions": [_value(one) for one in found]}
    text = "\n".join(_text(one) for one in found) or f"no versions in {args.push}"
    console.result(value, text)
    return EXIT_USER if any(one.problems for one in found) else EXIT_DONE


def _value(found: Verification) -> dict[str, Any]:
    return {
        "version": found.number,
        "state": _state(found),
        "problems": list(found.problems),
        "unchecked": list(found.unchecked),
    }


def _state(found: Verification) -> str:
    if found.foreign:
        return "foreign"
    return "damaged" if found.problems else "verified"


def _text(found: Verification) -> str:
    lines = [f"version {found.number}: {_state(found)}"]
    lines += [f"  {problem}" for problem in found.problems]
    lines += [f"  not compared: {text}" for text in found.unchecked]
    return "\n".join(lines)
