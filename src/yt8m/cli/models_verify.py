"""Action of `yt8m models verify`."""

from __future__ import annotations

from typing import Any

from yt8m.cli.arguments.models import ModelsVerifyArguments
from yt8m.components.console.console import Console
from yt8m.components.registry.signature import Trust
from yt8m.components.registry.verify import Verification, verify_version
from yt8m.components.registry.versions import (
    list_baselines,
    list_versions,
    require_registry,
    require_version,
)
from yt8m.schemas.errors import EXIT_DONE, EXIT_USER


def run(args: ModelsVerifyArguments, console: Console) -> int:
    """Print a line for each version and each problem."""
    require_registry(args.push)
    numbers = [*list_versions(args.push), *list_baselines(args.push)]
    if args.version is not None:
        require_version(args.push, args.version)
        numbers = [args.version]
    trust = Trust(key=args.key) if args.key else None
    verifications = [verify_version(args.push, number, trust) for number in numbers]
    value = {"push_dir": args.push, "versions": [_value(one) for one in verifications]}
    text = "\n".join(_text(one) for one in verifications) or f"no versions in {args.push}"
    console.result(value, text)
    return EXIT_USER if any(one.problems or one.newer for one in verifications) else EXIT_DONE


def _value(verification: Verification) -> dict[str, Any]:
    return {
        "version": verification.number,
        "state": _state(verification),
        "signed": verification.signed,
        "problems": [*filter(None, (verification.newer,)), *verification.problems],
        "unchecked": list(verification.unchecked),
    }


def _state(verification: Verification) -> str:
    if verification.foreign:
        return "foreign"
    if verification.newer:
        return "newer"
    return "damaged" if verification.problems else "verified"


def _text(verification: Verification) -> str:
    signed = ", signed" if verification.signed else ""
    lines = [f"version {verification.number}: {_state(verification)}{signed}"]
    lines += [f"  {problem}" for problem in (verification.newer, *verification.problems) if problem]
    lines += [f"  not compared: {text}" for text in verification.unchecked]
    return "\n".join(lines)
