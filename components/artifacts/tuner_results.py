"""Trials of a search: `tuner_results.json`, as TFX's Tuner writes it, the best trial first."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

FILE_NAME = "tuner_results.json"
NODE = "trainer"  # of the configuration, with which a value's path begins


@dataclass(frozen=True, kw_only=True)
class TrialResult:
    """One trial that came to its end."""

    trial_id: str
    score: float
    values: dict[str, Any]  # by dotted path


def parse_trials(text: str) -> tuple[TrialResult, ...]:
    """The rows of the file."""
    return tuple(
        TrialResult(
            trial_id=row["trial_id"],
            score=row["score"],
            values=tuned_values(row),
        )
        for row in json.loads(text)
    )


def tuned_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the trainer; searches keep notes of theirs beside them (`tuner/epochs`)."""
    return {path: value for path, value in values.items() if path.startswith(f"{NODE}.")}
