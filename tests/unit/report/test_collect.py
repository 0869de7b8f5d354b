"""Reports are read from what components leave; what is broken is named, and the rest is shown."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from registry_models import blessed_record, fake_model
from tensorflow_metadata.proto.v0 import anomalies_pb2, statistics_pb2

from yt8m.components.artifacts.evaluation import ClassMetrics, Evaluation, SliceMetrics
from yt8m.components.artifacts.manifest import Manifest, Shard
from yt8m.components.artifacts.push_outcome import PushOutcome
from yt8m.components.artifacts.run_outputs import RunOutputs
from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.components.artifacts.version_record import DataRecord, VersionRecord
from yt8m.components.registry.push import push
from yt8m.components.report.collect import collect
from yt8m.components.report.config import ReportConfig
from yt8m.components.report.data_changes import compared, previous_data
from yt8m.components.report.evaluation_views import best_and_worst, gained_and_lost
from yt8m.components.report.model import (
    DataSummary,
    Outcome,
    RunReport,
    SplitSummary,
)
from yt8m.components.report.page import render_report, write_report
from yt8m.components.report.summary import summary_json
from yt8m.schemas.features import Level


def write(path: Path, content: object) -> str:
    """A JSON file; the answer is its directory, an artifact's URI."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return str(path.parent)


def left(**uris: str) -> RunOutputs:
    """What a run left, by the artifacts' names."""
    return RunOutputs(uris)


def decision(**changes: Any) -> dict[str, Any]:
    estimate = {"value": 0.7, "lower": 0.69, "upper": 0.71}
    return {
        "blessed": True,
        "reason": "gap 0.7 >= 0.6",
        "videos": 10,
        "examples": 10,
        "metrics": {"gap": estimate, "loss": {"value": 4.0}},
        "baseline_metrics": {"gap": {"value": 0.65, "lower": None, "upper": None}},
        "differences": {"gap": {"value": 0.05, "lower": 0.01, "upper": 0.09}},
        "checks": [
            {"metric": "gap", "needed": "gap >= 0.6", "observed": 0.7, "passed": True, "slice": ""}
        ],
        "notes": ["a note"],
        **changes,
    }


def metrics() -> dict[str, Any]:
    part = {
        "column": "num_labels",
        "value": "5+",
        "examples": 4,
        "candidate": {"gap": {"value": 0.6, "lower": None, "upper": None}},
        "baseline": {},
        "difference": {},
    }
    return {
        "level": "video",
        "top_k": 20,
        "videos": 10,
        "examples": 12,
        "confidence": 0.9,
        "overall": {"candidate": {"gap": {"value": 0.7}}, "baseline": {}, "difference": {}},
        "slices": [part],
        "classes": [
            {"class_id": i, "name": f"c{i}", "positives": 5, "candidate": i / 10, "baseline": None}
            for i in range(7)
        ],
        "precision_recall": {"candidate": [{"score": 0.5, "precision": 0.8, "recall": 0.4}]},
        "calibration": {
            "candidate": [
                {"low": 0, "high": 0.5, "count": 0, "mean_score": None, "hit_rate": None},
                {"low": 0.5, "high": 1, "count": 3, "mean_score": 0.7, "hit_rate": 0.6},
            ]
        },
        "notes": [],
    }


def test_nothing_at_all_gives_a_report_that_says_so(tmp_path: Path) -> None:
    report = collect(RunOutputs())
    assert report.verdict.outcome is Outcome.UNFINISHED
    assert report.problems == ()
    page = Path(write_report(report, str(tmp_path / "report")))
    assert "Run incomplete" in page.read_text()
    written = json.loads((page.parent / "report.json").read_text())
    assert written["verdict"]["outcome"] == "unfinished"
    none = written["evaluation"]
    assert (none["videos"], none["examples"], none["classes"], none["metrics"]) == (0, 0, 0, [])


def test_a_pushed_run_is_reported_with_its_decision(tmp_path: Path) -> None:
    record = {"version": 4, "reason": "gap 0.7 >= 0.6"}
    sources = left(
        model_blessing=write(tmp_path / "blessing" / "decision.json", decision()),
        evaluation=write(tmp_path / "evaluation" / "metrics.json", metrics()),
        pushed_model=write(
            tmp_path / "pushed" / "pushed.json",
            {"pushed": True, "destination": "/models/4", "record": record},
        ),
    )
    report = collect(sources, ReportConfig(classes=2, support=5))
    assert report.problems == ()
    assert (report.verdict.outcome, report.verdict.version) == (Outcome.PUSHED, 4)
    found = json.loads(summary_json(report))["evaluation"]
    assert [m["name"] for m in found["metrics"]] == ["gap", "loss"]
    assert found["metrics"][0]["difference"] == {"value": 0.05, "lower": 0.01, "upper": 0.09}
    assert (found["videos"], found["examples"], found["confidence"]) == (10, 12, 0.9)
    assert found["checks"][0] == {
        "metric": "gap",
        "needed": "gap >= 0.6",
        "observed": 0.7,
        "passed": True,
        "applied": True,
        "note": "",
        "slice_name": "",
    }
    (part,) = found["slices"]
    assert (part["name"], part["examples"], part["baseline"]) == ("num_labels = 5+", 4, None)
    assert [c["name"] for c in found["best_classes"]] == ["c6", "c5"]
    assert [c["name"] for c in found["worst_classes"]] == ["c0", "c1"]
    assert found["precision_recall"]["candidate"]["x"] == [0.4]
    assert found["calibration"]["candidate"]["y"] == [0.6]  # the empty bin is no point


def test_few_classes_are_not_listed_twice(tmp_path: Path) -> None:
    evaluation = write(tmp_path / "metrics.json", metrics())
    found = collect(left(evaluation=evaluation), ReportConfig(classes=50, support=1))
    best, worst = best_and_worst(found)
    assert sorted(c.class_id for c in (*best, *worst)) == list(range(7))


def test_an_evaluation_without_a_decision_is_shown_by_its_own_metrics(tmp_path: Path) -> None:
    found = collect(left(evaluation=write(tmp_path / "metrics.json", metrics())))
    assert found.overall.candidate["gap"].value == 0.7
    assert found.evaluated is found.evaluation


def test_a_model_that_was_rejected(tmp_path: Path) -> None:
    blessing = write(tmp_path / "decision.json", decision(blessed=False, reason="gap too low"))
    report = collect(left(model_blessing=blessing))
    assert report.verdict.outcome is Outcome.REJECTED
    assert report.verdict.reason == "gap too low"


def test_nodes_of_the_configuration_that_pusher_recorded_need_not_be_given_again(
    tmp_path: Path,
) -> None:
    record = VersionRecord(configuration={"trainer": {"max_steps": 5}, "gate": {"mode": "none"}})
    pushed = PushOutcome(pushed=False, destination="", record=record)
    outcome = write(tmp_path / "push" / "pushed.json", pushed.to_json())
    given = {"notify": {"command": "mail"}, "gate": {"mode": "enforce"}}
    report = collect(left(pushed_model=outcome), configuration=given)
    assert report.configuration == {**given, "trainer": {"max_steps": 5}}  # what was given wins


def test_a_model_that_is_in_service_already_was_not_rejected(tmp_path: Path) -> None:
    """Whatever the gate says of two scores of one model."""
    blessing = write(tmp_path / "decision.json", decision(blessed=False, reason="no better"))
    record = VersionRecord(reason="version 3 in service is the same model")
    pushed = PushOutcome(pushed=False, up_to_date=True, destination="/models/3", record=record)
    outcome = write(tmp_path / "push" / "pushed.json", pushed.to_json())
    verdict = collect(left(model_blessing=blessing, pushed_model=outcome)).verdict
    assert (verdict.outcome, verdict.reason) == (Outcome.UP_TO_DATE, record.reason)
    page = render_report(RunReport(verdict=verdict))
    assert '<div class="verdict good">' in page
    assert "Up to date: nothing was pushed" in page
    assert "ejected by the gate" not in page


@pytest.mark.parametrize(
    ("node", "outcome"), [("ValidationGate", Outcome.STOPPED), ("Trainer", Outcome.FAILED)]
)
def test_the_component_that_failed_is_the_verdict(
    tmp_path: Path, node: str, outcome: Outcome
) -> None:
    nodes = [
        {"name": "ExampleGen", "state": "done", "seconds": 2.5, "peak_mib": 700.0},
        {"name": node, "state": "failed", "error": "the reason\nand more"},
    ]
    write(tmp_path / "run.json", {"run_id": "r1", "started": 0.0, "nodes": nodes})
    report = collect(RunOutputs(), run_file=str(tmp_path / "run.json"))
    assert report.run_id == "r1"
    assert (report.verdict.outcome, report.verdict.failed_component) == (outcome, node)
    assert report.verdict.reason == "the reason"
    assert report.components[0].seconds == 2.5


def test_the_component_that_writes_the_report_tells_its_time_so_far(tmp_path: Path) -> None:
    node = {"name": "Report", "state": "running", "started": time.time() - 60, "seconds": 0.0}
    write(tmp_path / "run.json", {"run_id": "r1", "started": 0.0, "nodes": [node]})
    (report,) = collect(RunOutputs(), run_file=str(tmp_path / "run.json")).components
    assert report.seconds >= 60
    page = render_report(RunReport(components=(report,)))
    assert "writing this" in page


def test_a_broken_part_is_named_and_the_others_are_shown(tmp_path: Path) -> None:
    sources = left(
        model_blessing=write(tmp_path / "blessing" / "decision.json", decision()),
        examples=write(tmp_path / "examples" / "manifest.json", "{broken"),
        model_run=write(tmp_path / "model_run" / "training.jsonl", '{"kind": "train"}\n'),
    )
    report = collect(sources)
    assert len(report.problems) == 2
    assert report.problems[0].startswith("training cannot be shown: KeyError")
    assert report.problems[1].startswith("the data cannot be shown")
    assert report.overall.candidate


@pytest.mark.parametrize(
    ("directory", "name", "content"),
    [
        ("statistics", "FeatureStats.pb", b""),
        ("statistics", "FeatureStats.pb", b"\x0a\xff\xff"),
        ("anomalies", "SchemaDiff.pb", b"\x0a\xff\xff"),
    ],
)
def test_a_damaged_file_of_tfx_is_named_and_the_other_parts_are_shown(
    tmp_path: Path, directory: str, name: str, content: bytes
) -> None:
    path = tmp_path / directory / "Split-train" / name
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    report = collect(
        left(
            model_blessing=write(tmp_path / "blessing" / "decision.json", decision()),
            **{directory: str(tmp_path / directory)},
        )
    )
    (problem,) = report.problems
    assert "the data cannot be shown" in problem
    assert f"{path} is damaged" in problem
    assert report.overall.candidate


def test_training_curves_pass_over_gaps_and_a_line_cut_off(tmp_path: Path) -> None:
    rows = [
        {"kind": "train", "step": 10, "loss": 9.0, "learning_rate": 0.1, "gap": 0.2},
        {"kind": "train", "step": 20, "loss": None, "learning_rate": 0.1, "examples": 640},
        {"kind": "validation", "step": 20, "loss": 8.0},
        {"kind": "checkpoint", "step": 20},
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows) + '{"kind": "tra'
    found = collect(left(model_run=write(tmp_path / "training.jsonl", text)))
    assert found.problems == ()
    training = found.training
    assert (training.steps, training.examples) == (20, 640)
    assert training.training["loss"].x == (10.0,)
    assert training.training["learning_rate"].x == (10.0, 20.0)
    assert training.validation["loss"].y == (8.0,)


def test_data_labels_and_anomalies(tmp_path: Path) -> None:
    shards = [
        Shard(uri="a", split="train", records=90, bytes=900, digest="x", labels=80, span=2),
        Shard(uri="b", split="train", records=10, bytes=100, digest="y", labels=9, quarantined=1),
        Shard(uri="c", split="eval", records=5, bytes=50, digest="z", labels=5, span=1),
    ]
    manifest = Manifest(level=Level.VIDEO, shards=tuple(shards), verify="full")
    statistics = statistics_pb2.DatasetFeatureStatisticsList()
    feature = statistics.datasets.add().features.add()
    feature.path.step.append("labels")
    feature.string_stats.common_stats.avg_num_values = 3.5
    for label, count in (("7", 10), ("3", 40)):
        feature.string_stats.rank_histogram.buckets.add(label=label, sample_count=count)
    anomalies = anomalies_pb2.Anomalies()
    info = anomalies.anomaly_info["mean_rgb"]
    info.description, info.severity = "too short", anomalies_pb2.AnomalyInfo.ERROR
    for directory, name, proto in (
        ("statistics", "FeatureStats.pb", statistics),
        ("anomalies", "SchemaDiff.pb", anomalies),
    ):
        path = tmp_path / directory / "Split-train" / name
        path.parent.mkdir(parents=True)
        path.write_bytes(proto.SerializeToString())

    report = collect(
        left(
            examples=write(tmp_path / "examples" / "manifest.json", manifest.to_json()),
            statistics=str(tmp_path / "statistics"),
            anomalies=str(tmp_path / "anomalies"),
        )
    )
    assert report.problems == ()
    data = report.data
    train = data.splits[0]
    assert (train.records, train.shards, train.labelled, train.quarantined) == (100, 2, 89, 1)
    assert data.spans == (1, 2)
    assert data.labels_per_record == 3.5
    assert data.label_histogram is not None
    assert data.label_histogram.y == (40.0, 10.0)
    assert [(a.split, a.feature, a.severity) for a in data.anomalies] == [
        ("train", "mean_rgb", "error")
    ]


def test_a_run_that_ended_early_is_reported_from_what_it_had_put_out(tmp_path: Path) -> None:
    write(
        tmp_path / "run.json",
        {"run_id": "r1", "started": 0.0, "reason": "interrupted", "nodes": []},
    )
    inputs = left(
        model_blessing=write(tmp_path / "b" / "decision.json", decision()),
        evaluation=write(tmp_path / "e" / "metrics.json", metrics()),
    )
    report = collect(inputs, configuration={"a": 1}, run_file=str(tmp_path / "run.json"))
    page = write_report(report, str(tmp_path / "report"))
    found = json.loads((Path(page).parent / "report.json").read_text())
    assert found["verdict"]["outcome"] == Outcome.UNFINISHED.value
    assert found["verdict"]["reason"] == "interrupted"
    assert found["evaluation"]["videos"] == 10
    assert found["problems"] == []


def test_differences_are_those_to_the_version_compared_with(tmp_path: Path) -> None:
    import dataclasses
    import shutil

    record = dataclasses.replace(
        blessed_record(), configuration={"trainer": {"steps": 5, "rate": 0.1, "old": 1}}
    )
    version = push(fake_model(tmp_path / "model"), str(tmp_path / "push"), record)
    shutil.copytree(version.path, tmp_path / "baseline" / "Format-Serving")
    now = {"trainer": {"steps": 7, "rate": 0.1, "new": 2}, "report": {"classes": 3}}
    report = collect(left(baseline=str(tmp_path / "baseline")), configuration=now)
    assert report.compared_with_version == 1
    assert [(d.key, d.before, d.now) for d in report.differences] == [
        ("trainer.new", "–", "2"),
        ("trainer.old", "1", "–"),
        ("trainer.steps", "5", "7"),
    ]


def class_metrics(class_id: int, positives: int, candidate: float, baseline: float | None) -> Any:
    return ClassMetrics(
        class_id=class_id,
        name=f"c{class_id}",
        positives=positives,
        candidate=candidate,
        baseline=baseline,
    )


def test_only_classes_with_enough_videos_are_best_worst_gained_or_lost() -> None:
    evaluation = Evaluation(
        level=Level.VIDEO,
        top_k=20,
        videos=100,
        examples=100,
        overall=SliceMetrics(),
        classes=(
            class_metrics(0, 1, 0.0, 0.9),
            class_metrics(1, 10, 0.5, 0.6),
            class_metrics(2, 40, 0.7, 0.5),
            class_metrics(3, 40, 0.9, 0.9),
            class_metrics(4, 40, 0.2, None),
        ),
    )
    report = RunReport(evaluation=evaluation, shown=ReportConfig(support=10, classes=2))
    best, worst = best_and_worst(report)
    assert ([c.class_id for c in best], [c.class_id for c in worst]) == ([3, 2], [4, 1])
    gained, lost = gained_and_lost(report)
    assert ([c.class_id for c in gained], [c.class_id for c in lost]) == ([2], [1])


def run_with_data(root: Path, run_id: str, data: DataSummary) -> str:
    """A complete run with a report of `data`; the answer is its record's path."""
    page = write_report(RunReport(data=data), str(root / "report" / run_id))
    config = {"root": str(root)}
    record = RunRecord(
        run_id=run_id, started=1.0, verdict=Verdict.PUSHED, report=page, config=config
    )
    write(root / "runs" / run_id / "run.json", record.to_json())
    return str(root / "runs" / run_id / "run.json")


def data_of(digest: str, records: int, **counts: float) -> DataSummary:
    split = SplitSummary(name="train", records=records, shards=1, bytes=9, labelled=records)
    return DataSummary(level="video", digest=digest, splits=(split,), label_counts=counts)


def test_data_are_compared_with_those_of_the_run_before(tmp_path: Path) -> None:
    old, new = data_of("d1", 1000, a=900, b=500), data_of("d2", 2000, a=1800, b=500)
    run_with_data(tmp_path, "1", old)
    write(tmp_path / "runs" / "2" / "run.json", "{}")  # ended before it had a report
    newest = tmp_path / "newest-run"
    newest.symlink_to(Path(run_with_data(tmp_path, "3", new)).parent)
    found = compared(new, previous_data(str(newest / "run.json"), None))
    assert found.compared_with == "run 1"
    assert [(c.key, c.before, c.now) for c in found.changes] == [
        ("content (digest)", "d1", "d2"),
        ("records, train", "1,000", "2,000"),
        ("labelled, train", "1,000", "2,000"),
        ("labels of class b", "500", "500"),  # which is half the share that it was
        ("labels of class a", "900", "1,800"),
    ]
    assert compared(old, previous_data(str(newest / "run.json"), None)).changes == ()


def test_the_run_before_is_found_where_the_root_was_moved(tmp_path: Path) -> None:
    run_with_data(tmp_path / "root", "1", data_of("d1", 1000))
    (tmp_path / "root").rename(tmp_path / "moved")
    run_file = run_with_data(tmp_path / "moved", "2", data_of("d2", 12))
    assert previous_data(run_file, None)[0] == "run 1"


def test_without_an_earlier_run_the_baselines_data_are_compared(tmp_path: Path) -> None:
    baseline = VersionRecord(
        version=4, data=DataRecord(level="video", manifest_digest="d1", examples={"train": 10})
    )
    found = compared(data_of("d2", 12), previous_data("", baseline))
    assert found.compared_with == "version 4"
    assert ("records, train", "10", "12") in [(c.key, c.before, c.now) for c in found.changes]
    assert compared(data_of("d2", 12), previous_data("", None)).compared_with == ""


def test_the_trials_of_a_search_are_shown_with_what_was_trained_with(tmp_path: Path) -> None:
    rate = "trainer.optimizer.learning_rate"
    rows = [
        {"trial_id": "1", "score": 0.75, rate: 0.003, "tuner/round": 0},
        {"trial_id": "0", "score": 0.25, rate: 0.1, "tuner/round": 0},
    ]
    trained = {"optimizer": {"learning_rate": 0.003}}
    export = {
        "level": "video",
        "features": {},
        "head": "entities",
        "heads": {},
        "top_k": 20,
        "has_class_names": False,
        "has_transform_graph": False,
        "config": trained,
    }
    write(tmp_path / "model/Format-Serving/assets.extra/yt8m_export.json", export)
    inputs = left(
        tuner_results=write(tmp_path / "results/tuner_results.json", rows),
        model=str(tmp_path / "model"),
    )
    configuration = {"tuner": {"objective": "gap"}, "trainer": {"batch_size": 8}}
    report = collect(inputs, configuration=configuration)
    assert report.problems == ()
    assert [(one.score, one.values) for one in report.trials] == [
        (0.75, {rate: 0.003}),
        (0.25, {rate: 0.1}),
    ]
    assert report.configuration == {"tuner": {"objective": "gap"}, "trainer": trained}
    assert [row["score"] for row in json.loads(summary_json(report))["trials"]] == [0.75, 0.25]
    page = render_report(report)
    assert page.index("0.7500") < page.index("0.2500")
    assert rate in page
    assert 'id="tuner"' not in render_report(collect(RunOutputs()))
