"""The hook: a command of the user's, called with the outcome of a run as JSON."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yt8m.schemas.config_tree import require


@dataclass(frozen=True, kw_only=True)
class NotifyConfig:
    """The notify node of the configuration."""

    command: tuple[str, ...] = ()  # gets the outcome as JSON on its standard input
    timeout_s: float = 60.0

    def __post_init__(self) -> None:
        require(self.timeout_s > 0, "timeout_s", self.timeout_s, "more than 0")


def notify(config: NotifyConfig, outcome: Mapping[str, Any]) -> str:
    """Call the hook; returns what went wrong, for a broken hook must not break a run."""
    if not config.command:
        return ""
    try:
        done = subprocess.run(
            config.command,
            input=json.dumps(outcome),
            text=True,
            timeout=config.timeout_s,
            capture_output=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"notify.command did not end within {config.timeout_s:g} s and was stopped"
    except OSError as error:
        return f"notify.command {config.command[0]}: {error.strerror}"
    if done.returncode:
        return f"notify.command ended with {done.returncode}: {done.stderr.strip()[-500:]}"
    return ""
