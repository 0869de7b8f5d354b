"""Where a run's artifacts are, by the names of Report's inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class ReportInputs:
    """URIs of a run's artifacts; "" is what it did not come to."""

    baseline: str = ""
    examples: str = ""
    statistics: str = ""
    anomalies: str = ""
    validation: str = ""
    tuner_results: str = ""
    model: str = ""
    model_run: str = ""
    evaluation: str = ""
    model_blessing: str = ""
    infra_blessing: str = ""
    pushed_model: str = ""
    run_file: str = ""  # the runner's record of this run: components, times, memory
    configuration: dict[str, Any] = field(default_factory=dict)
    pipeline: str = "yt8m"

    @property
    def lineage(self) -> dict[str, str]:
        """The artifacts that there are."""
        others = ("run_file", "configuration", "pipeline")
        return {name: uri for name, uri in vars(self).items() if uri and name not in others}
