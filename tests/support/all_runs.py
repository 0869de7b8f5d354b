"""Twelve runs of a root, with what each left: nine trained, one was rejected, two did little."""

from __future__ import annotations

import json
import math
from pathlib import Path

from registry_models import blessed_record, fake_model
from run_reports import estimate

from yt8m.components.artifacts.decision import Check
from yt8m.components.artifacts.evaluation import Evaluation, SliceMetrics
from yt8m.components.artifacts.run_outputs import RunOutputs
from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.components.registry.push import push
from yt8m.pipeline.results.all_runs import render_runs
from yt8m.pipeline.results.model_results import ModelResults
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.features import Level

LAST = 12
_NIGHT_S = 86400.0
_FIRST = 1_767_236_400.0


def some_runs(root: Path) -> str:
    """The page over them."""
    records = [_record(root, number) for number in range(LAST, 0, -1)]
    results = {
        record.run_id: _results(root, record, number)
        for record, number in zip(records, range(LAST, 0, -1), strict=True)
        if record.metrics
    }
    return render_runs(Layout(root), records, results)


def _record(root: Path, number: int) -> RunRecord:
    registry = str(root / "models")
    run_id = f"202601{number:02}-030000-000000"
    started = _FIRST + number * _NIGHT_S
    config = {"trainer": {"seed": number, "max_steps": 200}}
    if number == 4:
        reason = "ExampleGen: <b>train-3.tfrecord</b>: record 7 at byte 4,711: the checksum differs"
        return RunRecord(
            run_id=run_id, started=started, verdict=Verdict.FAILED, reason=reason, config=config
        )
    if number == LAST:
        return RunRecord(run_id=run_id, started=started, push_dir=registry, config=config)
    gap, is_rejected = 0.65 + number / 100, number == 7
    if not is_rejected:
        push(fake_model(root / f"model-{number}"), registry, blessed_record(run_key=run_id))
    checks = (
        Check(metric="gap", needed="gap >= 0.66", threshold=0.66, observed=gap, passed=True),
        Check(
            metric="gap",
            needed="change of gap against the baseline >= 0",
            threshold=0.0,
            observed=-0.02 if is_rejected else 0.01,
            passed=not is_rejected,
        ),
        Check(metric="map", needed="map >= 0.3", threshold=0.3, applied=False),
    )
    return RunRecord(
        run_id=run_id,
        started=started,
        seconds=160.0 + number,
        verdict=Verdict.REJECTED if is_rejected else Verdict.PUSHED,
        reason="GAP is below the baseline's" if is_rejected else "",
        version=0 if is_rejected else number - (number > 4) - (number > 7),
        push_dir=registry,
        metrics={"gap": gap},
        differences={"gap": 0.01},
        baseline_metrics={"gap": estimate(gap - 0.01)},
        checks=checks,
        config=config,
    )


def _results(root: Path, record: RunRecord, number: int) -> ModelResults:
    folder = root / record.run_id
    folder.mkdir(parents=True)
    evaluation = Evaluation(
        level=Level.VIDEO,
        top_k=20,
        videos=100,
        examples=100,
        overall=SliceMetrics(candidate={"gap": estimate(record.metrics["gap"], 0.01)}),
    )
    (folder / "metrics.json").write_text(evaluation.to_json())
    rows = [
        {"kind": kind, "step": step, "loss": 20 / math.sqrt(step) + 1 / number, "gap": gap}
        for step in range(10, 210, 10)
        for gap in [0.7 - 1 / math.sqrt(step + number)]
        for kind in (["train", "validation"] if step % 50 == 0 else ["train"])
    ]
    (folder / "training.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ModelResults(
        name=f"run {record.run_id}",
        configuration=record.config,
        version=record.version,
        outputs=RunOutputs({"evaluation": str(folder), "model_run": str(folder)}),
    )
