"""A run's pages in Kubeflow's user interface.

It draws four types of artifacts alone, none of which TFX has: those are added to the compiled spec
beside the components' own outputs, and filled by the entry point when the executor has ended.
"""

from __future__ import annotations

import json
import logging
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yt8m.components.artifacts import decision as decision_file
from yt8m.components.artifacts import evaluation as evaluation_file
from yt8m.components.artifacts import push_outcome as push_outcome_file
from yt8m.components.artifacts.decision import Decision, decision_text
from yt8m.components.artifacts.evaluation import Evaluation
from yt8m.components.artifacts.push_outcome import PushOutcome
from yt8m.components.artifacts.report import PAGE_FILE
from yt8m.kubeflow.container.launcher import local_path
from yt8m.schemas.json_file import reading

_log = logging.getLogger(__name__)
_SCHEMA_VERSION = "0.0.1"


@dataclass(frozen=True)
class Visualization:
    """An output for the user interface, made of a file in one of the component's own outputs."""

    schema_title: str
    source: str  # the component's output
    file: str  # in it
    # Text of the file -> what is written at the artifact's URI, and its metadata.
    draw: Callable[[str], tuple[str, Mapping[str, Any]]]


def _draw_page(page: str) -> tuple[str, Mapping[str, Any]]:
    return page, {}


def _draw_verdict(text: str) -> tuple[str, Mapping[str, Any]]:
    decision = Decision.from_json(text)
    head, reason = "Blessed" if decision.blessed else "Rejected", decision.reason
    if decision.is_baseline:  # of two scores of one model the gate says nothing new
        head, reason = "Up to date", "the model in service is the same"
    _, details = decision_text(decision).split("\n", 1)  # the reason is there already
    page = f"# {head}\n\n{reason}\n\n```\n{textwrap.dedent(details)}\n```\n"
    return page, {"blessed": decision.blessed, "reason": decision.reason}


def _draw_outcome(text: str) -> tuple[str, Mapping[str, Any]]:
    outcome = PushOutcome.from_json(text)
    page = f"# {outcome.headline}\n\n{outcome.record.reason}\n"
    if outcome.destination:
        page += f"\n`{outcome.destination}`\n"
    return page, {"verdict": outcome.verdict.value, "reason": outcome.record.reason}


def _draw_metrics(text: str) -> tuple[str, Mapping[str, Any]]:
    return "", dict(_metrics(Decision.from_json(text)))


def _metrics(decision: Decision) -> Iterator[tuple[str, float]]:
    for suffix, estimates in (
        ("", decision.metrics),
        ("_baseline", decision.baseline_metrics),
        ("_difference", decision.differences),
    ):
        for name, estimate in estimates.items():
            if estimate.value is not None:
                yield f"{name}{suffix}", estimate.value


def _draw_roc_curve(text: str) -> tuple[str, Mapping[str, Any]]:
    points = list(_roc_curve(Evaluation.from_json(text)))
    return "", {"confidenceMetrics": points} if points else {}


def _roc_curve(evaluation: Evaluation) -> Iterator[dict[str, float]]:
    """The candidate's, by rising rates; empty where nothing that is wrong was predicted.

    Recall is of all positives, as everywhere here; the other rate is of the wrong ones among the
    top k predictions, for of all classes there are so many negatives that it would never leave 0.
    """
    bins = evaluation.calibration.get("candidate", ())
    wrong = sum(b.count * (1 - b.hit_rate) for b in bins if b.hit_rate is not None)
    positives = sum(c.positives for c in evaluation.classes)
    if not wrong:
        return
    for point in evaluation.precision_recall.get("candidate", ()):
        false_positives = point.recall * positives * (1 / point.precision - 1)
        yield {
            "confidenceThreshold": point.score,
            "falsePositiveRate": min(1.0, false_positives / wrong),
            "recall": point.recall,
        }


VISUALIZATIONS: Mapping[str, Visualization] = {
    "ui_metrics": Visualization(
        "system.Metrics", "blessing", decision_file.FILE_NAME, _draw_metrics
    ),
    "ui_verdict": Visualization(
        "system.Markdown", "blessing", decision_file.FILE_NAME, _draw_verdict
    ),
    "ui_outcome": Visualization(
        "system.Markdown", "pushed_model", push_outcome_file.FILE_NAME, _draw_outcome
    ),
    "ui_roc_curve": Visualization(
        "system.ClassificationMetrics", "evaluation", evaluation_file.FILE_NAME, _draw_roc_curve
    ),
    "ui_report": Visualization("system.HTML", "report", PAGE_FILE, _draw_page),
}


def add_visualizations(spec: Mapping[str, Any]) -> None:
    """Declare them as outputs of the components in `spec` that have their sources."""
    for component in spec["components"].values():
        outputs = component.get("outputDefinitions", {}).get("artifacts", {})
        for key, visualization in VISUALIZATIONS.items():
            if visualization.source in outputs:
                title = visualization.schema_title
                kind = {"schemaTitle": title, "schemaVersion": _SCHEMA_VERSION}
                outputs[key] = {"artifactType": kind}


def draw(given: Mapping[str, Any], report_file: Path, *, launcher_root: str = "") -> None:
    """Write those among the given output artifacts, and report them to the launcher."""
    report = json.loads(report_file.read_text(encoding="utf-8"))
    artifacts = report.setdefault("artifacts", {})
    for key, visualization in VISUALIZATIONS.items():
        if key not in given or visualization.source not in artifacts:
            continue
        source = Path(artifacts[visualization.source]["artifacts"][0]["uri"], visualization.file)
        if not source.is_file():
            _log.warning("%s: there is no %s to draw", key, source)
            continue
        with reading(source):
            content, metadata = visualization.draw(source.read_text(encoding="utf-8"))
        artifact = {k: v for k, v in given[key]["artifacts"][0].items() if k in ("name", "uri")}
        target = Path(local_path(artifact["uri"], launcher_root))
        target.parent.mkdir(parents=True, exist_ok=True)
        if content:  # of metrics the interface shows the metadata alone
            target.write_text(content, encoding="utf-8")
        artifacts[key] = {"artifacts": [{**artifact, "metadata": dict(metadata)}]}
    report_file.write_text(json.dumps(report), encoding="utf-8")
