"""Where the facts of a run are: its artifacts, by the names that the components give them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Sources:
    """Addresses of what a run left; "" is what it did not come to."""

    examples: str = ""
    statistics: str = ""
    anomalies: str = ""
    validation: str = ""
    model: str = ""
    model_run: str = ""
    evaluation: str = ""
    model_blessing: str = ""
    pushed_model: str = ""
    baseline: str = ""
    run_file: str = ""  # the runner's record of this run: components, times, memory
    configuration: dict[str, Any] = field(default_factory=dict)
    pipeline: str = "yt8m"

    @property
    def lineage(self) -> dict[str, str]:
        """The artifacts that there are."""
        names = (
            "baseline",
            "examples",
            "statistics",
            "anomalies",
            "validation",
            "model",
            "model_run",
            "evaluation",
            "model_blessing",
            "pushed_model",
        )
        return {name: getattr(self, name) for name in names if getattr(self, name)}
