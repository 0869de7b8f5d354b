"""What a run leaves: where each artifact is, and the files in it, read on first use.

Report, comparisons, MLflow's export, `import yt8m` and Pusher's record read a run through this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from yt8m.components import storage
from yt8m.components.artifacts import (
    comparisons,
    decision,
    evaluation,
    export_info,
    infra_check,
    manifest,
    push_outcome,
    tuner_results,
    version_record,
)
from yt8m.components.artifacts.comparisons import Comparisons
from yt8m.components.artifacts.decision import Decision
from yt8m.components.artifacts.evaluation import Evaluation
from yt8m.components.artifacts.export_info import ExportInfo
from yt8m.components.artifacts.infra_check import InfraCheckResult
from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.artifacts.push_outcome import PushOutcome
from yt8m.components.artifacts.read import read_if_present
from yt8m.components.artifacts.report import PAGE_FILE
from yt8m.components.artifacts.saved_model import SERVING_DIR
from yt8m.components.artifacts.training_curve import EVALUATION, TRAINING, read_curve
from yt8m.components.artifacts.tuner_results import TrialResult
from yt8m.components.artifacts.version_record import VersionRecord

T = TypeVar("T")
# The component and its output, by the name that an artifact has as an input of Report and of
# Pusher, and so in the lineage of a version's record.
OUTPUTS: Mapping[str, tuple[str, str]] = {
    "baseline": ("Baseline", "model"),
    "examples": ("ExampleGen", "examples"),
    "statistics": ("StatisticsGen", "statistics"),
    "anomalies": ("ExampleValidator", "anomalies"),
    "validation": ("ValidationGate", "validation"),
    "tuner_results": ("Tuner", "tuner_results"),
    "model": ("Trainer", "model"),
    "model_run": ("Trainer", "model_run"),
    "evaluation": ("Evaluator", "evaluation"),
    "model_blessing": ("Evaluator", "blessing"),
    "infra_blessing": ("InfraCheck", "infra_blessing"),
    "pushed_model": ("Pusher", "pushed_model"),
    "report": ("Report", "report"),
}


@dataclass(frozen=True)
class RunOutputs:
    """Artifacts of one run; what it did not reach, or what was removed since, is None or empty."""

    uris: Mapping[str, str] = field(default_factory=dict)  # by the names of `OUTPUTS`

    @classmethod
    def from_components(cls, uris: Mapping[tuple[str, str], str]) -> RunOutputs:
        """From the URIs by component and output; others than those of `OUTPUTS` are left out."""
        return cls({name: uris[output] for name, output in OUTPUTS.items() if output in uris})

    def uri(self, name: str) -> str:
        """The artifact of that name, or ""."""
        return self.uris.get(name, "")

    @cached_property
    def baseline(self) -> VersionRecord | None:
        """The record of the version that Baseline chose."""
        file = storage.join(SERVING_DIR, version_record.RECORD_FILE)
        return self._read("baseline", file, version_record.parse_record)

    @cached_property
    def manifest(self) -> Manifest | None:
        return self._read("examples", manifest.FILE_NAME, Manifest.from_json)

    @cached_property
    def comparisons(self) -> Comparisons | None:
        return self._read("validation", comparisons.FILE_NAME, Comparisons.from_json)

    @cached_property
    def trials(self) -> tuple[TrialResult, ...]:
        """The Tuner's, the best first."""
        file = tuner_results.FILE_NAME
        return self._read("tuner_results", file, tuner_results.parse_trials) or ()

    @cached_property
    def export(self) -> ExportInfo | None:
        """What the trained model says of itself."""
        file = storage.join(SERVING_DIR, export_info.FILE_NAME)
        return self._read("model", file, ExportInfo.from_json)

    @cached_property
    def curve(self) -> list[dict[str, Any]]:
        """The rows of the training curve and of continuous evaluation."""
        directory = self.uri("model_run")
        files = (TRAINING, EVALUATION) if directory else ()
        return [row for file in files for row in read_curve(storage.join(directory, file))]

    @cached_property
    def evaluation(self) -> Evaluation | None:
        return self._read("evaluation", evaluation.FILE_NAME, Evaluation.from_json)

    @cached_property
    def decision(self) -> Decision | None:
        return self._read("model_blessing", decision.FILE_NAME, Decision.from_json)

    @cached_property
    def infra_check(self) -> InfraCheckResult | None:
        return self._read("infra_blessing", infra_check.FILE_NAME, InfraCheckResult.from_json)

    @cached_property
    def push(self) -> PushOutcome | None:
        return self._read("pushed_model", push_outcome.FILE_NAME, PushOutcome.from_json)

    @property
    def page(self) -> str:
        """The path of the report's page, or ""."""
        directory = self.uri("report")
        path = storage.join(directory, PAGE_FILE) if directory else ""
        return path if path and storage.exists(path) else ""

    def _read(self, name: str, file: str, parse: Callable[[str], T]) -> T | None:
        return read_if_present(self.uri(name), file, parse)
