"""Ten nights of a schedule with faults, as Prometheus' own programs see them."""

from __future__ import annotations

import datetime
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml
from registry_models import push_fake
from requirements import program

from yt8m.components.artifacts.decision import Check
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.run_record import NodeRecord, RunRecord, State, Verdict
from yt8m.components.console.console import Console
from yt8m.pipeline.presets import load_config
from yt8m.pipeline.retraining.retrain import RetrainScheduler
from yt8m.pipeline.run_record import begin_record
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.cron import parse_cron
from yt8m.schemas.errors import EXIT_DONE, EXIT_FAILED, EXIT_REJECTED, EXIT_USER

pytestmark = pytest.mark.needs("promtool")

RULES = Path(__file__).parents[3] / "pipeline" / "monitoring" / "alerts.yaml"
STEP_S, HOUR_S, DAY_S = 600, 3600, 86400
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)  # where promtool's time begins
PUSHED = (EXIT_DONE, Verdict.PUSHED)
REJECTED = (EXIT_REJECTED, Verdict.REJECTED)
FAILED = (EXIT_FAILED, Verdict.FAILED)
USER_ERROR = (EXIT_USER, None)  # no run begins
# By night: what the retraining comes to, and the GAP of what is in service on that night's records.
NIGHTS = {
    1: (PUSHED, 0.70),
    2: (PUSHED, 0.70),
    3: (FAILED, None),
    4: (FAILED, None),
    5: (REJECTED, 0.70),
    6: (REJECTED, 0.70),
    7: (REJECTED, 0.70),
    8: (PUSHED, 0.60),
    10: (USER_ERROR, None),
}
KILLED_S = 8 * DAY_S + HOUR_S  # before the ninth night's run, for a day
BACK_S = KILLED_S + DAY_S
# By noon of the day after: which alerts are firing.
FIRING = {
    1: set(),
    2: set(),
    3: set(),
    4: {"Yt8mNothingSucceeded"},
    5: set(),
    6: set(),
    7: {"Yt8mRejected"},
    8: {"Yt8mServedModelDeclines"},
    9: {"Yt8mServedModelDeclines", "Yt8mScheduleGone"},
    10: {"Yt8mServedModelDeclines", "Yt8mNothingSucceeded"},
}


class Night(Exception):  # noqa: N818  (the schedule is killed)
    """Ends the schedule."""


def promtool(*arguments: str | Path, text: str = "") -> str:
    done = subprocess.run(
        [str(program("promtool")), *map(str, arguments)],
        input=text,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def run_record(night: int, verdict: Verdict, gap: float | None, now: float) -> RunRecord:
    """What a run of that night leaves."""
    baseline = (
        {} if gap is None else {"gap": Estimate(value=gap, lower=gap - 0.02, upper=gap + 0.02)}
    )
    checks = (
        Check(metric="gap", needed="gap >= 0.5", threshold=0.5, observed=0.7, lower=0.6, upper=0.8),
        Check(
            metric="loss",
            needed="loss <= 9",
            threshold=9.0,
            is_maximum=True,
            observed=7.0,
            lower=6.0,
            upper=8.5,
        ),
        Check(metric="gap", slice='n="5\\+"', needed="change", applied=False),
    )
    return RunRecord(
        run_id=f"{night:02}",
        started=now,
        seconds=300.0,
        verdict=verdict,
        metrics={"gap": 0.7},
        baseline_metrics=baseline,
        checks=checks if gap is not None else (),
        records={"train": 1000},
        left_out={"train": 3},
        nodes=(NodeRecord(name="Trainer", state=State.DONE, seconds=120.5),),
    )


class Schedule:
    """A real scheduler by a clock of ours; every ten minutes its file is kept, as by a scrape."""

    def __init__(self, tmp_path: Path) -> None:
        self.seconds = 0.0
        self.scrapes: list[str] = []
        self._tmp, self._layout = tmp_path, Layout(tmp_path / "root")
        Path(self._layout.root).mkdir()
        self._models = tmp_path / "models"
        settings = [
            f"root={self._layout.root}",
            f"pusher.push_dir={self._models}",
            "retrain.retries=0",
        ]
        self._config = load_config("smoke", settings)

    def run(self, until: float) -> None:
        """The schedule, which is killed at `until`: what it has written stays as it is."""
        cron = parse_cron("0 3 * * *", zone="UTC", cluster_zone="UTC")
        scheduler = RetrainScheduler(
            [], self._config, cron, Console(quiet=True), now=self._now, sleep=self._sleeper(until)
        )
        scheduler._attempt = self._attempt
        before = Path(self._layout.schedule_metrics)
        with pytest.raises(Night):
            scheduler.run_forever()
        before.write_text(self.scrapes[-1])  # a killed one says no last words

    def pass_time(self, until: float) -> None:
        while self.seconds < until:
            self._scrape()
            self.seconds += STEP_S

    def _now(self) -> datetime.datetime:
        return EPOCH + datetime.timedelta(seconds=self.seconds)

    def _sleeper(self, until: float) -> Callable[[float], None]:
        def sleep(seconds: float) -> None:
            self._scrape()
            self.seconds += STEP_S
            if self.seconds >= until:
                raise Night

        return sleep

    def _attempt(self) -> int:
        night = int(self.seconds // DAY_S) + 1
        (code, verdict), gap = NIGHTS[night]
        if verdict is not None:
            begin_record(self._layout, run_record(night, verdict, gap, self.seconds))
        if verdict is Verdict.PUSHED:
            push_fake(self._tmp, self._models)
        return code

    def _scrape(self) -> None:
        file = Path(self._layout.schedule_metrics)
        self.scrapes.append(file.read_text() if file.exists() else "")


def series_of(scrapes: list[str]) -> list[dict[str, str]]:
    """The scrapes as promtool's input: a value each, `_` where a series is absent."""
    sample = re.compile(r"^(\w+\{.*\}) (\S+)$", re.MULTILINE)
    tables = [dict(sample.findall(text)) for text in scrapes]
    names = dict.fromkeys(name for table in tables for name in table)
    return [
        {"series": name, "values": " ".join(table.get(name, "_") for table in tables)}
        for name in names
    ]


def expression_tests(root: Path) -> Iterator[dict[str, object]]:
    for night, alerts in FIRING.items():
        yield {
            "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
            "eval_time": f"{(night - 1) * 24 + 12}h",
            "exp_samples": [
                {"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in sorted(alerts)
            ],
        }
    labels = f'pipeline="smoke", root="{root}"'
    counts = {"pushed": 3, "rejected": 3, "failed": 2, "user_error": 1, "nothing_new": 0}
    counts |= {"up_to_date": 0, "stopped": 0}
    yield {
        "expr": "yt8m_retrain_runs_total",
        "eval_time": "228h",
        "exp_samples": [
            {"labels": f'yt8m_retrain_runs_total{{outcome="{outcome}", {labels}}}', "value": count}
            for outcome, count in counts.items()
        ],
    }


def test_the_alerts_fire_on_the_nights_that_they_are_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)  # of thousands of files that nobody keeps
    schedule = Schedule(tmp_path)
    schedule.run(until=KILLED_S)
    schedule.pass_time(until=BACK_S)
    schedule.run(until=10 * DAY_S)
    shutil.copy(RULES, tmp_path / "alerts.yaml")
    root = tmp_path / "root"
    tests = {
        "rule_files": ["alerts.yaml"],
        "evaluation_interval": "10m",
        "tests": [
            {
                "interval": "10m",
                "input_series": series_of(schedule.scrapes),
                "promql_expr_test": list(expression_tests(root)),
                "alert_rule_test": [
                    {
                        "eval_time": "156h",
                        "alertname": "Yt8mRejected",
                        "exp_alerts": [
                            {
                                "exp_labels": {
                                    "severity": "warning",
                                    "pipeline": "smoke",
                                    "root": str(root),
                                },
                                "exp_annotations": {
                                    "summary": "smoke: 3 models in a row were rejected",
                                    "description": f"Root {root}: what is in service gets older. "
                                    "yt8m_gate_margin says which threshold is missed, and by how "
                                    "much.",
                                },
                            }
                        ],
                    }
                ],
            }
        ],
    }
    (tmp_path / "nights.yaml").write_text(yaml.safe_dump(tests, width=10**9))

    promtool("check", "rules", RULES)
    promtool("test", "rules", tmp_path / "nights.yaml")
    for scrape in {*schedule.scrapes}:
        lines = scrape.splitlines()
        assert len({line for line in lines if line.startswith("# TYPE")}) == scrape.count("# TYPE")
    for text in (schedule.scrapes[0], schedule.scrapes[7 * DAY_S // STEP_S], schedule.scrapes[-1]):
        assert promtool("check", "metrics", text=text) == ""


def test_a_time_in_the_future_silences_no_alert(tmp_path: Path) -> None:
    """The clock was a year ahead while a retraining succeeded, or of the schedule's machine is."""
    shutil.copy(RULES, tmp_path / "alerts.yaml")
    values = {"last_success_timestamp_seconds": 365 * DAY_S, "period_seconds": DAY_S}
    values["heartbeat_timestamp_seconds"] = 365 * DAY_S
    tests = {
        "rule_files": ["alerts.yaml"],
        "evaluation_interval": "10m",
        "tests": [
            {
                "interval": "10m",
                "input_series": [
                    {"series": f'yt8m_retrain_{name}{{root="/r"}}', "values": f"{value}x9"}
                    for name, value in values.items()
                ],
                "promql_expr_test": [
                    {
                        "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                        "eval_time": "1h",
                        "exp_samples": [
                            {"labels": f'{{alertname="{alert}"}}', "value": 1}
                            for alert in ("Yt8mNothingSucceeded", "Yt8mScheduleGone")
                        ],
                    }
                ],
            }
        ],
    }
    (tmp_path / "future.yaml").write_text(yaml.safe_dump(tests))

    promtool("test", "rules", tmp_path / "future.yaml")
