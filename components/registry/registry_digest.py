"""Digest of everything in the registry that a run depends on, for TFX's cache."""

from __future__ import annotations

import hashlib

from yt8m.components.registry.champion import find_champion
from yt8m.components.registry.versions import NO_VERSION, in_service, newest


def registry_digest(push_dir: str, exclude_run_key: str = "") -> str:
    """Changes when the version that `newest` finds does, and begins with its number.

    Of all else only what is in service counts, and the champion, where these are others: retention
    may remove older versions without a rerun. Every byte is read, as Baseline does: a version
    passed over as damaged counts again once its files are restored.
    """
    version = newest(push_dir, exclude_run_key=exclude_run_key, verify=True)
    served = in_service(push_dir, exclude_run_key=exclude_run_key)
    champion = find_champion(
        push_dir, exclude_run_key=exclude_run_key, verify=True, verified=version
    )
    number = version.number if version else NO_VERSION
    parts = [version.record.checksum] if version else []
    if served and (version is None or served.version != version.number):
        parts.append(f"{served.version} {served.digest}")
    if champion is not None:
        best = champion.record.model_digest
        if version is None or version.record.champion_digest != best:
            parts.append(f"champion {best}")
    if not parts:
        return NO_VERSION
    return f"{number}-{hashlib.sha256(''.join(parts).encode()).hexdigest()[:16]}"


def digest_version(digest: str) -> int | None:
    """The version that a registry digest speaks of; None when it speaks of none."""
    number = digest.partition("-")[0]
    return int(number) if number.isdecimal() else None
