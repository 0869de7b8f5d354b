"""Outputs of a run: where each artifact is, and the files in it, read on first use.

Report, comparisons, MLflow's export, `import yt8m` and Pusher's record read a run through this.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from yt8m.components import storage
from yt8m.components.artifacts import comparisons as comparisons_file
from yt8m.components.artifacts import decision as decision_file
from yt8m.components.artifacts import evaluation as evaluation_file
from yt8m.components.artifacts import export_info, push_outcome, tuner_results, version_record
from yt8m.components.artifacts import infra_check as infra_check_file
from yt8m.components.artifacts import manifest as manifest_file
from yt8m.components.artifacts.read import read_if_present
from yt8m.components.artifacts.report import PAGE_FILE
from yt8m.components.artifacts.saved_model import SERVING_DIR
from yt8m.components.artifacts.training_curve import EVALUATION, TRAINING, read_curve

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


def _file(name: str, file: str, parse: Callable[[str], T]) -> cached_property[T | None]:
    """Parse a file in the artifact of that name; None where there is no file."""

    def read(outputs: RunOutputs) -> T | None:
        return read_if_present(outputs.uri(name), file, parse)

    return cached_property(read)


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

    # The record of the version that Baseline chose.
    baseline = _file(
        "baseline",
        f"{SERVING_DIR}/{version_record.RECORD_FILE}",
        version_record.parse_record,
    )
    manifest = _file("examples", manifest_file.FILE_NAME, manifest_file.Manifest.from_json)
    comparisons = _file(
        "validation", comparisons_file.FILE_NAME, comparisons_file.Comparisons.from_json
    )
    # The Tuner's, the best first.
    trials = _file("tuner_results", tuner_results.FILE_NAME, tuner_results.parse_trials)
    # What the trained model says of itself.
    export = _file(
        "model", f"{SERVING_DIR}/{export_info.FILE_NAME}", export_info.ExportInfo.from_json
    )
    evaluation = _file(
        "evaluation", evaluation_file.FILE_NAME, evaluation_file.Evaluation.from_json
    )
    decision = _file("model_blessing", decision_file.FILE_NAME, decision_file.Decision.from_json)
    infra_check = _file(
        "infra_blessing", infra_check_file.FILE_NAME, infra_check_file.InfraCheckResult.from_json
    )
    push = _file("pushed_model", push_outcome.FILE_NAME, push_outcome.PushOutcome.from_json)

    @cached_property
    def curve(self) -> list[dict[str, Any]]:
        """The rows of the training curve and of continuous evaluation."""
        directory = self.uri("model_run")
        files = (TRAINING, EVALUATION) if directory else ()
        return [row for file in files for row in read_curve(storage.join(directory, file))]

    @property
    def page(self) -> str:
        """The path of the report's page, or ""."""
        directory = self.uri("report")
        path = storage.join(directory, PAGE_FILE) if directory else ""
        return path if path and storage.exists(path) else ""
