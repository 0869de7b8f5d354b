"""The page over all runs: every run, its curves, its versions and what the gate observed."""

import dataclasses
import html
import re
from unittest.mock import Mock

import pytest
from all_runs import LAST, some_runs

from yt8m.cli.main import run
from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.pipeline.lineage import ArtifactFacts, ExecutionFacts
from yt8m.pipeline.python.runs import runs
from yt8m.pipeline.results.model_results import results_of_run
from yt8m.pipeline.run_record import begin_record, read_record
from yt8m.pipeline.workspace import Layout


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return some_runs(tmp_path_factory.mktemp("root"))


def section(page, name):
    return re.search(rf'<section id="{name}">(.*?)</section>', page, re.DOTALL)[1]


def described(page, name):
    """What a screen reader says of each plot of a section."""
    return [html.unescape(text) for text in re.findall(r"<desc>(.*?)</desc>", section(page, name))]


def test_every_run_has_a_row_with_its_outcome_and_what_was_changed(page):
    rows = re.findall(r'<tr><th scope="row">.*?</tr>', section(page, "runs"), re.DOTALL)
    assert len(rows) == LAST
    assert "20260111-030000" in rows[1]
    assert "pushed version 9" in rows[1]
    assert "trainer.seed = 11" in rows[1]
    assert "max_steps" not in rows[1]
    assert "0.7600" in rows[1]
    assert "0.7500 to 0.7700" in rows[1]
    assert "rejected: GAP is below the baseline&#39;s" in rows[5]
    assert "<b>train-3" not in rows[8]
    assert "&lt;b&gt;train-3.tfrecord" in rows[8]


def test_curves_of_the_newest_eight_trainings_are_in_one_plot(page):
    plots = described(page, "curves")
    assert [text.partition(":")[0] for text in plots] == [
        "GAP, validation",
        "Loss, validation",
        "GAP, training batch",
        "Loss, training batch",
    ]
    numbers = [11, 10, 9, 8, 7, 6, 5, 3]  # the newest has no curve yet, the fourth failed
    for text in plots:
        assert re.findall(r"202601(\d\d)-030000", text) == [f"{number:02}" for number in numbers]


def test_versions_in_service_are_there_though_the_registry_has_removed_them(page):
    (text,) = described(page, "versions")
    assert re.findall(r"version (\d+), push", text) == [str(number) for number in range(9, 0, -1)]


def test_a_limit_of_the_gate_has_a_plot_of_what_every_run_observed(page):
    value, change = described(page, "margins")  # that of MAP did not apply
    assert value.startswith("Gap: gap over run, the oldest is 1; observed, 10 points, last 0.76")
    assert "limit (at least), 10 points, last 0.66" in value
    assert change.startswith("Change of gap against the baseline: ")


def test_each_run_has_its_margin_to_each_limit(page):
    rows = re.findall(r'<tr><th scope="row">.*?</tr>', section(page, "checks"), re.DOTALL)
    assert len(rows) == 20  # two limits in each of ten runs
    texts = [" ".join(html.unescape(re.sub(r"<[^>]+>", " ", row)).split()) for row in rows]
    assert texts[0] == "20260111-030000 gap >= 0.66 0.7600 +0.1000 ✓ passed"
    (failed,) = [text for text in texts if text.endswith("failed")]
    assert failed.replace("\N{MINUS SIGN}", "-") == (
        "20260107-030000 change of gap against the baseline >= 0 -0.0200 -0.0200 ✗ failed"
    )


def test_a_root_that_was_moved_has_its_reports_and_its_artifacts(tmp_path, capsys):
    root, moved = tmp_path / "root", tmp_path / "moved"
    page = root / "artifacts" / "Report" / "report" / "7" / "report.html"
    place = root / "artifacts" / "Evaluator" / "evaluation" / "5"
    page.parent.mkdir(parents=True)
    page.write_text("x")
    run_id = "20260101-030000-000000"
    record = RunRecord(run_id=run_id, started=1.0, verdict=Verdict.PUSHED, report=str(page))
    record = dataclasses.replace(record, config={"root": str(root)})
    begin_record(Layout(root), record)
    root.rename(moved)

    now_at = moved / page.relative_to(root)
    assert run(["report", "--root", str(moved)]) == 0
    assert capsys.readouterr().out == f"{now_at}\n"
    assert run(["report", "--root", str(moved), "--all"]) == 0
    assert str(page.relative_to(root)) in (moved / "runs.html").read_text()
    assert runs(moved)[0].report == now_at
    output = ArtifactFacts(artifact_id=5, key="evaluation", type_name="E", uri=str(place))
    execution = ExecutionFacts(
        execution_id=5,
        node="Evaluator",
        state="COMPLETE",
        started=1.0,
        ended=2.0,
        outputs=(output,),
    )
    lineage = Mock(executions=lambda of: [execution] if of == run_id else [])
    results = results_of_run(Layout(moved), read_record(Layout(moved), run_id), lineage)
    assert results.outputs.uri("evaluation") == str(moved / place.relative_to(root))
    now_at.unlink()
    capsys.readouterr()
    assert run(["report", "--root", str(moved)]) == 2
    assert f"{now_at} no longer exists; with --all" in " ".join(capsys.readouterr().err.split())


def test_the_command_writes_the_page_also_where_a_run_has_left_nothing(tmp_path, capsys):
    record = RunRecord(run_id="20260101-030000-000000", started=1.0, verdict=Verdict.FAILED)
    begin_record(Layout(tmp_path), record)
    assert run(["report", "--root", str(tmp_path), "--all"]) == 0
    written = tmp_path / "runs.html"
    assert capsys.readouterr().out == f"{written}\n"
    assert "20260101-030000" in written.read_text()
    assert "<figure" not in written.read_text()
    assert run(["report", "20260101-030000-000000", "--root", str(tmp_path), "--all"]) == 2
