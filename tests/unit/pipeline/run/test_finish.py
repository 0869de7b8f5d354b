"""The outcome of a run, and the hook that follows it."""

import json
import sys

import pytest

from yt8m.components.artifacts.decision import Check, Decision
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.manifest import Manifest, Shard
from yt8m.components.artifacts.push_outcome import PushOutcome
from yt8m.components.artifacts.run_outputs import RunOutputs
from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.components.artifacts.version_record import DataRecord, VersionRecord
from yt8m.pipeline.config import NotifyConfig
from yt8m.pipeline.run.finish import in_words, notify, read_outcome
from yt8m.schemas.errors import Yt8mError
from yt8m.schemas.features import Level


def test_the_hook_gets_the_outcome_as_json(tmp_path):
    told = tmp_path / "told"
    command = ("sh", "-c", f"read -r line && echo \"$line\" > '{told}'")
    assert notify(NotifyConfig(command=command), {"verdict": "pushed"}) == ""
    assert json.loads(told.read_text()) == {"verdict": "pushed"}


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("/no/such/program",), "No such file"),
        ((sys.executable, "-c", "import sys; sys.exit('no mail')"), "ended with 1: no mail"),
        (("sh", "-c", r"printf 'caf\351' >&2; exit 1"), "ended with 1: caf"),  # in Latin-1
        (("sleep", "60"), "did not end within 0.5 s"),
    ],
)
def test_a_broken_hook_is_a_warning_and_no_more(command, said):
    timeout_s = 0.5 if command[0] == "sleep" else 60.0
    assert said in notify(NotifyConfig(command=command, timeout_s=timeout_s), {})


CHECK = Check(metric="gap", needed="gap >= 0.5", threshold=0.5, observed=0.7, passed=True)


def outputs_of(place, *, pushed, up_to_date=False):
    record = VersionRecord(
        version=4 if pushed else 0,
        reason="good" if pushed else "too low" if not up_to_date else "this very model",
        baseline_version=3,
        metrics={"gap": Estimate(value=0.7), "map": Estimate()},
        data=DataRecord(spans=(1, 2)),
    )
    decision = Decision(
        blessed=pushed,
        reason="",
        baseline_metrics={"gap": Estimate(value=0.6)},
        differences={"gap": Estimate(value=0.1)},
        checks=(CHECK,),
    )
    shard = Shard(uri="a", split="eval", records=7, bytes=1, digest="d", quarantined=2)
    manifest = Manifest(level=Level.VIDEO, shards=(shard,))
    (place / "manifest.json").write_text(manifest.to_json())
    outcome = PushOutcome(pushed=pushed, up_to_date=up_to_date, record=record)
    (place / "pushed.json").write_text(outcome.to_json())
    (place / "decision.json").write_text(decision.to_json())
    (place / "report.html").write_text("<!doctype html>")
    return RunOutputs(
        dict.fromkeys(("pushed_model", "model_blessing", "report", "examples"), str(place))
    )


@pytest.mark.parametrize(
    ("pushed", "verdict", "version", "reason", "exit_code", "words"),
    [
        (True, Verdict.PUSHED, 4, "good", 0, "pushed: version 4"),
        (False, Verdict.REJECTED, 0, "too low", 3, "rejected, nothing was pushed: too low"),
        (
            False,
            Verdict.UP_TO_DATE,
            0,
            "this very model",
            0,
            "up to date, nothing was pushed: this very model",
        ),
    ],
)
def test_the_outcome_is_what_pusher_and_the_gate_left(
    tmp_path, pushed, verdict, version, reason, exit_code, words
):
    outputs = outputs_of(tmp_path, pushed=pushed, up_to_date=verdict is Verdict.UP_TO_DATE)
    record = RunRecord(run_id="r", started=0.0, **read_outcome(outputs))
    assert (record.exit_code, record.verdict.is_complete) == (exit_code, True)
    assert in_words(record).startswith(words)
    assert read_outcome(outputs) == {
        "verdict": verdict,
        "reason": reason,
        "stale": False,
        "version": version,
        "baseline_version": 3,
        "metrics": {"gap": 0.7},
        "differences": {"gap": 0.1},
        "spans": (1, 2),
        "report": str(tmp_path / "report.html"),
        "records": {"eval": 7},
        "left_out": {"eval": 2},
        "baseline_metrics": {"gap": Estimate(value=0.6)},
        "checks": (CHECK,),
    }


def test_a_run_without_the_outcome_of_its_push_has_none(tmp_path):
    outputs_of(tmp_path, pushed=True)
    (tmp_path / "pushed.json").unlink()
    with pytest.raises(Yt8mError, match="the Pusher recorded no outcome"):
        read_outcome(RunOutputs({"pushed_model": str(tmp_path)}))
