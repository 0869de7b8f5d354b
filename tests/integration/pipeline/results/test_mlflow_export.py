"""Runs in a real MLflow store: whole, once, and complete after an export that was cut off."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from run_reports import estimate

from yt8m.components.artifacts.evaluation import Evaluation, SliceMetrics
from yt8m.components.artifacts.run_record import NodeRecord, RunRecord, State, Verdict
from yt8m.pipeline.metadata import ArtifactFacts, ExecutionFacts
from yt8m.pipeline.results import mlflow_export, model_results
from yt8m.pipeline.results.mlflow_export import connect, export_runs
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import Level

pytestmark = pytest.mark.needs("mlflow")
STEPS = (10, 20, 30)
RECORD = RunRecord(
    run_id="20260301-030000-000000",
    started=1_770_000_000.0,
    seconds=60.5,
    verdict=Verdict.PUSHED,
    reason="GAP 0.7 clears every threshold",
    version=4,
    push_dir="models",
    metrics={"gap": 0.7},
    nodes=(NodeRecord(name="Trainer", state=State.DONE, seconds=30.0, peak_mib=900.0),),
    config={"name": "nightly", "trainer": {"max_steps": 30, "heads": [{"name": "x" * 7000}]}},
)


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    """A root whose run has a curve and an evaluation; MLMD's answer is given."""
    place = tmp_path / "artifacts"
    place.mkdir()
    overall = SliceMetrics(candidate={"gap": estimate(0.7, 0.03)})
    evaluation = Evaluation(level=Level.VIDEO, top_k=20, videos=9, examples=9, overall=overall)
    (place / "metrics.json").write_text(evaluation.to_json())
    rows = [{"kind": "train", "step": s, "loss": 9 / s, "gap": None, "seconds": s} for s in STEPS]
    (place / "training.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def fact(node: str, key: str) -> ExecutionFacts:
        output = ArtifactFacts(
            artifact_id=1, key=key, type_name="Model", uri=str(place), properties={}
        )
        values = {f.name: None for f in dataclasses.fields(ExecutionFacts)}
        return ExecutionFacts(**{**values, "node": node, "outputs": (output,)})  # type: ignore[arg-type]

    facts = [fact("Trainer", "model_run"), fact("Evaluator", "evaluation")]
    for module in (mlflow_export, model_results):
        monkeypatch.setattr(module, "executions_of", lambda *_: facts)
    return Layout(tmp_path / "run")


@pytest.fixture
def client(tmp_path: Path) -> Any:
    return connect(f"sqlite:///{tmp_path}/mlflow.db")


def _runs(client: Any, experiment: str = "nightly") -> list[Any]:
    found = client.get_experiment_by_name(experiment)
    return list(client.search_runs([found.experiment_id]))


def test_a_run_has_its_settings_metrics_curve_and_places(layout: Layout, client: Any) -> None:
    assert len(list(export_runs(client, layout, [RECORD]))) == 1
    (run,) = _runs(client)
    assert (run.info.run_name, run.info.status) == (RECORD.run_id, "FINISHED")
    assert run.info.end_time - run.info.start_time == 60_500
    assert run.data.params["trainer.max_steps"] == "30"
    assert len(run.data.params["trainer.heads"]) == 6000
    assert run.data.params["trainer.heads"].endswith("...")
    metrics = run.data.metrics
    assert metrics["gap"] == pytest.approx(0.7)
    assert metrics["gap_lower"] < 0.7 < metrics["gap_upper"]
    assert metrics["components/Trainer/peak_mib"] == 900
    curve = client.get_metric_history(run.info.run_id, "train/loss")
    assert [(point.step, point.value) for point in curve] == [(s, 9 / s) for s in STEPS]
    assert run.data.tags["yt8m.version"] == "4"
    assert run.data.tags["yt8m.artifact.Trainer.model_run"].endswith("artifacts")


def test_given_again_nothing_is_written_twice(layout: Layout, client: Any) -> None:
    first = list(export_runs(client, layout, [RECORD]))
    assert list(export_runs(client, layout, [RECORD])) == first
    (run,) = _runs(client)
    assert len(client.get_metric_history(run.info.run_id, "train/loss")) == len(STEPS)


def test_an_export_that_was_cut_off_is_made_whole(
    layout: Layout, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(client, "set_terminated", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            list(export_runs(client, layout, [RECORD]))
    assert _runs(client)[0].info.status == "RUNNING"
    list(export_runs(client, layout, [RECORD]))
    (run,) = _runs(client)
    assert run.info.status == "FINISHED"
    assert len(client.get_metric_history(run.info.run_id, "train/loss")) == len(STEPS)


def test_how_a_run_ended_is_its_status_and_one_under_way_is_left(
    layout: Layout, client: Any
) -> None:
    records = [
        dataclasses.replace(RECORD, run_id=f"run-{verdict.value}", verdict=verdict)
        for verdict in Verdict
    ]
    list(export_runs(client, layout, records, "all"))
    by_name = {run.info.run_name: run.info.status for run in _runs(client, "all")}
    assert by_name == {
        "run-pushed": "FINISHED",
        "run-rejected": "FINISHED",
        "run-up to date": "FINISHED",
        "run-failed": "FAILED",
        "run-interrupted": "KILLED",
        "run-terminated": "KILLED",
        "run-killed": "KILLED",
    }


def test_an_address_that_is_no_store_is_a_users_error() -> None:
    with pytest.raises(UserError, match=r"--mlflow ftp://x: "):
        connect("ftp://x")
