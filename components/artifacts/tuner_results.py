"""What a search has tried: `tuner_results.json`, as TFX's Tuner writes it, the best trial first."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

FILE_NAME = "tuner_results.json"
_OWN = "trainer."  # begins the values; searches keep notes of theirs beside them


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
            values={path: value for path, value in row.items() if path.startswith(_OWN)},
        )
        for row in json.loads(text)
    )
