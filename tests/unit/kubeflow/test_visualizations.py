"""What Kubeflow's user interface is given to draw."""

import dataclasses
import json

import numpy as np
import pytest

from yt8m.components.artifacts.decision import Decision, Estimate
from yt8m.components.artifacts.evaluation import ClassMetrics, Evaluation, SliceMetrics
from yt8m.components.artifacts.push_outcome import PushOutcome
from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.components.metrics import Batch, MetricAccumulator
from yt8m.components.metrics.curves import calibration, precision_recall
from yt8m.kubeflow.container.visualizations import VISUALIZATIONS, add_visualizations, draw
from yt8m.schemas.features import Level

DECISION = Decision(
    blessed=False,
    reason="gap 0.6 is below 0.7",
    metrics={"gap": Estimate(value=0.6), "map": Estimate()},
    baseline_metrics={"gap": Estimate(value=0.75)},
    differences={"gap": Estimate(value=-0.15)},
)


@pytest.fixture
def drawn(tmp_path):
    """The launcher's report after the outputs of one task were drawn."""

    def call(source, file, text, keys):
        output = tmp_path / "s3" / "bucket" / source
        output.mkdir(parents=True)
        if text:
            (output / file).write_text(text)
        report = tmp_path / "output_metadata.json"
        listed = {source: {"artifacts": [{"uri": str(output), "metadata": {}}]}}
        report.write_text(json.dumps({"artifacts": listed}))
        given = {k: {"artifacts": [{"name": k, "uri": f"s3://bucket/{k}"}]} for k in keys}
        draw(given, report, launcher_root=str(tmp_path))
        return json.loads(report.read_text())["artifacts"]

    return call


def test_a_held_model_says_why_as_markdown_and_its_metrics_are_numbers(drawn, tmp_path):
    keys = ("ui_metrics", "ui_verdict", "executor-logs")
    told = drawn("blessing", "decision.json", DECISION.to_json(), keys)
    assert set(told) == {"blessing", "ui_metrics", "ui_verdict"}
    (metrics,) = told["ui_metrics"]["artifacts"]
    assert metrics["metadata"] == {"gap": 0.6, "gap_baseline": 0.75, "gap_difference": -0.15}
    (verdict,) = told["ui_verdict"]["artifacts"]
    assert verdict["uri"] == "s3://bucket/ui_verdict"
    page = (tmp_path / "s3" / "bucket" / "ui_verdict").read_text()
    assert page.startswith("# Rejected\n\ngap 0.6 is below 0.7\n\n```\nevaluated: ")
    assert page.count("gap 0.6 is below 0.7") == 1


@pytest.mark.parametrize("blessed", [True, False])
def test_a_model_that_is_its_own_baseline_is_up_to_date_whatever_the_gate_says(
    drawn, tmp_path, blessed
):
    decision = dataclasses.replace(DECISION, blessed=blessed, is_baseline=True)
    drawn("blessing", "decision.json", decision.to_json(), ("ui_verdict",))
    page = (tmp_path / "s3" / "bucket" / "ui_verdict").read_text()
    assert page.startswith("# Up to date\n\nthe model in service is the same\n")


@pytest.mark.parametrize(
    ("pushed", "up_to_date", "verdict", "head"),
    [
        (True, False, "pushed", "# Pushed as version 4"),
        (False, False, "rejected", "# Rejected by the gate: nothing was pushed"),
        (False, True, "up to date", "# Up to date: nothing was pushed"),
    ],
)
def test_what_became_of_the_model_is_shown_at_pusher(
    drawn, tmp_path, pushed, up_to_date, verdict, head
):
    record = VersionRecord(version=4, reason="so it is")
    outcome = PushOutcome(
        pushed=pushed, up_to_date=up_to_date, destination="/models/4", record=record
    )
    told = drawn("pushed_model", "pushed.json", outcome.to_json(), ("ui_outcome",))
    (artifact,) = told["ui_outcome"]["artifacts"]
    assert artifact["metadata"] == {"verdict": verdict, "reason": "so it is"}
    page = (tmp_path / "s3" / "bucket" / "ui_outcome").read_text()
    assert page == f"{head}\n\nso it is\n\n`/models/4`\n"


def test_the_report_is_one_file_at_its_uri(drawn, tmp_path):
    drawn("report", "report.html", "<html>all of it</html>", ("ui_report",))
    assert (tmp_path / "s3" / "bucket" / "ui_report").read_text() == "<html>all of it</html>"


def _evaluation(scores, hot):
    classes = scores.shape[1]
    metrics = MetricAccumulator(classes, top_k=classes)
    metrics.update(Batch(predictions=scores, multi_hot=hot))
    counts = hot.sum(axis=0)
    return Evaluation(
        level=Level.VIDEO,
        top_k=classes,
        videos=len(scores),
        examples=len(scores),
        overall=SliceMetrics(),
        classes=tuple(
            ClassMetrics(class_id=c, name=str(c), positives=int(n), candidate=0.5)
            for c, n in enumerate(counts)
            if n
        ),
        precision_recall={"candidate": tuple(precision_recall(metrics))},
        calibration={"candidate": tuple(calibration(metrics))},
    )


def test_the_roc_curve_is_what_counting_gives_in_the_form_that_the_interface_checks(drawn):
    rng = np.random.default_rng(0)
    scores = rng.random((40, 12)).astype(np.float32)
    hot = rng.random((40, 12)) < 0.2
    text = _evaluation(scores, hot).to_json()
    told = drawn("evaluation", "metrics.json", text, ("ui_roc_curve",))
    (artifact,) = told["ui_roc_curve"]["artifacts"]
    points = artifact["metadata"]["confidenceMetrics"]
    assert len(points) > 50
    for point in points:
        chosen = scores >= np.float32(point["confidenceThreshold"])
        assert point == {
            "confidenceThreshold": point["confidenceThreshold"],
            "falsePositiveRate": pytest.approx((chosen & ~hot).sum() / (~hot).sum()),
            "recall": pytest.approx((chosen & hot).sum() / hot.sum()),
        }


def test_where_nothing_was_predicted_wrong_there_is_no_roc_curve(drawn):
    hot = np.ones((3, 2), bool)
    text = _evaluation(np.full((3, 2), 0.9, np.float32), hot).to_json()
    told = drawn("evaluation", "metrics.json", text, ("ui_roc_curve",))
    assert told["ui_roc_curve"]["artifacts"][0]["metadata"] == {}


def test_what_is_not_there_is_not_drawn_and_is_no_error(drawn):
    assert set(drawn("report", "report.html", "", ("ui_report",))) == {"report"}


def test_a_spec_that_asks_for_none_gets_none(drawn):
    assert set(drawn("blessing", "decision.json", DECISION.to_json(), ())) == {"blessing"}


def test_they_are_declared_where_their_sources_are():
    def component(*outputs):
        return {"outputDefinitions": {"artifacts": {key: {} for key in outputs}}}

    spec = {"components": {"E": component("blessing"), "R": component("report"), "T": {}}}
    add_visualizations(spec)
    outputs = {n: c["outputDefinitions"]["artifacts"] for n, c in spec["components"].items() if c}
    assert set(outputs["E"]) == {"blessing", "ui_metrics", "ui_verdict"}
    assert outputs["R"]["ui_report"]["artifactType"]["schemaTitle"] == "system.HTML"
    titles = {v.schema_title for v in VISUALIZATIONS.values()}
    assert titles == {
        "system.ClassificationMetrics",
        "system.HTML",
        "system.Markdown",
        "system.Metrics",
    }
