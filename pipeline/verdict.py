"""What came of a run, read from what its last components left."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yt8m.components.artifacts import push_outcome
from yt8m.components.artifacts.push_outcome import parse_push_outcome
from yt8m.components.artifacts.report import PAGE_FILE
from yt8m.pipeline.lineage import ArtifactFacts
from yt8m.pipeline.run.record import Verdict

_GAP = "gap"

Outputs = Mapping[str, tuple[ArtifactFacts, ...]]


def read_outcome(outputs: Outputs) -> dict[str, Any]:
    """The fields of a RunRecord that a run which came to its end knows."""
    place = Path(_uri(outputs["Pusher"]), push_outcome.FILE_NAME)
    outcome = parse_push_outcome(place.read_text(encoding="utf-8"))
    record = outcome.record
    gap = record.metrics.get(_GAP)
    return {
        "verdict": Verdict.PUSHED if outcome.pushed else Verdict.HELD_BACK,
        "reason": record.reason,
        "version": record.version if outcome.pushed else 0,
        "baseline_version": record.baseline_version,
        "gap": None if gap is None else gap.value,
        "gap_difference": _difference(record.decision),
        "spans": record.data.spans,
        "report": _report(outputs),
    }


def _difference(decision: Mapping[str, Any]) -> float | None:
    value = (decision.get("differences", {}).get(_GAP) or {}).get("value")
    return None if value is None else float(value)


def _report(outputs: Outputs) -> str:
    found = [Path(o.uri, PAGE_FILE) for o in outputs.get("Report", ())]
    return next((str(path) for path in found if path.is_file()), "")


def _uri(outputs: tuple[ArtifactFacts, ...]) -> str:
    return outputs[0].uri
