"""The numbers of retrain.prom."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from registry_models import push_fake

from yt8m.components.artifacts.decision import Check
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.components.console.console import Console
from yt8m.pipeline.presets import load_config
from yt8m.pipeline.run.finish import finish_run
from yt8m.pipeline.run.prometheus import ServedModel, find_served, metrics_text, write_metrics
from yt8m.pipeline.run.retrain_status import RetrainOutcome, RetrainStatus
from yt8m.pipeline.run_record import RunResult, begin_record
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.errors import EXIT_INTERRUPTED, EXIT_TERMINATED


@pytest.mark.parametrize(
    ("is_maximum", "expected"),
    [
        (False, Estimate(value=0.25, lower=-0.5, upper=1.0)),
        (True, Estimate(value=-0.25, lower=-1.0, upper=0.5)),
    ],
)
def test_a_margin_is_positive_where_the_threshold_is_kept(is_maximum, expected):
    check = Check(
        metric="gap",
        needed="",
        threshold=0.5,
        is_maximum=is_maximum,
        observed=0.75,
        lower=0.0,
        upper=1.5,
    )
    assert check.margin == expected


def test_what_was_not_observed_has_no_margin():
    assert Check(metric="gap", needed="", threshold=0.5).margin == Estimate()
    assert Check(metric="gap", needed="", observed=0.5).margin == Estimate()


@pytest.mark.parametrize("code", [EXIT_INTERRUPTED, EXIT_TERMINATED])
def test_a_retraining_that_a_signal_ended_neither_failed_nor_succeeded(code):
    before = RetrainStatus(failures=2, rejected=1, last_success=5.0)
    after = before.ended(code, None, now=9.0)
    assert after.outcomes == {"stopped": 1}
    assert (after.failures, after.rejected, after.last_success) == (2, 1, 5.0)


def test_no_series_is_written_twice():
    twice = (Check(metric="gap", needed="gap >= 0.5", threshold=0.5, observed=0.7),) * 2
    run = RunRecord(run_id="a", started=1.0, checks=twice)
    assert metrics_text({}, None, run, None).count("yt8m_gate_margin{") == 1


def test_every_outcome_is_counted_from_the_start_so_that_rates_are_right():
    lines = metrics_text({"root": "/r"}, RetrainStatus(), None, None).splitlines()
    counts = [line for line in lines if line.startswith("yt8m_retrain_runs_total")]
    assert counts == [
        f'yt8m_retrain_runs_total{{root="/r",outcome="{outcome.value}"}} 0'
        for outcome in RetrainOutcome
    ]


def test_the_version_in_service_is_read_from_the_registry_where_nobody_says_it(tmp_path):
    push_fake(tmp_path, tmp_path / "models")
    file = tmp_path / "metrics.prom"
    values = [f"root={tmp_path / 'root'}", f"pusher.push_dir={tmp_path / 'models'}"]
    config = load_config("smoke", [*values, f"retrain.metrics_file={file}"])
    series = []
    for served in (None, ServedModel(version=7)):
        write_metrics(config, served=served)
        lines = file.read_text().splitlines()
        series += [line for line in lines if line.startswith("yt8m_served_version{")]
    assert [line.rpartition(" ")[2] for line in series] == ["1", "7"]


def test_an_experiment_after_a_retraining_is_not_taken_for_it(tmp_path):
    layout = Layout(tmp_path / "root")
    config = load_config("smoke", [f"root={layout.root}"])
    series = []
    for run_id, gap, retraining in (("1", 0.5, False), ("2", 0.7, True), ("3", 0.2, False)):
        found = {"gap": Estimate(value=gap)}
        record = RunRecord(run_id=run_id, started=1.0, retraining=retraining)
        begin_record(layout, replace(record, baseline_metrics=found))
        write_metrics(config)
        lines = Path(layout.schedule_metrics).read_text().splitlines()
        series.append([line for line in lines if line.startswith("yt8m_baseline_metric{")])
    values = [[line.rpartition(" ")[2] for line in lines] for lines in series]
    assert values == [["0.5"], ["0.7"], ["0.7"]]


def test_an_experiment_leaves_the_file_to_the_retrainings_of_its_root(tmp_path):
    """Its name and registry may be others, and every alert is on a pipeline's name."""
    layout, named = Layout(tmp_path / "root"), []
    for run_id, name, retraining in (("1", "a", False), ("2", "nightly", True), ("3", "b", False)):
        config = load_config("smoke", [f"root={layout.root}", f"name={name}"])
        record = RunRecord(
            run_id=run_id, started=1.0, retraining=retraining, verdict=Verdict.REJECTED
        )
        begin_record(layout, record)
        finish_run(config, RunResult(record), Console(quiet=True))
        named += set(re.findall('pipeline="(.*?)"', Path(layout.schedule_metrics).read_text()))
    assert named == ["a", "nightly", "nightly"]


def test_an_empty_registry_serves_version_0(tmp_path):
    for place in ("absent", "empty"):
        (tmp_path / "empty").mkdir(exist_ok=True)
        assert find_served(str(tmp_path / place)) == ServedModel(version=0)
