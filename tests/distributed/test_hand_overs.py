"""Every file that one process writes and another reads, with pauses at both ends of each."""

import os
import random
import re

import pauses
import pytest
from cluster import Group
from docs_blocks import ROOT
from records import make_dataset
from training import make_job

pytestmark = pytest.mark.distributed

VALIDATION = {
    "validation": {"every_steps": 2, "go_back": True},
    "optimizer": {"name": "adam", "learning_rate": 3.0},  # so high that it goes back
}
WIPED = {**VALIDATION, "start_new_model": True}
STOPPING = {
    "evaluation": {
        "enabled": True,
        "start_delay_s": 0,
        "throttle_s": 0,
        "exporters": [{"name": "latest", "keep": 1}, {"name": "final"}],
    },
    "early_stopping": {"name": "not_better", "patience_steps": 1000},
}
# The rows of the table in docs/distributed-training.md that each of them has.
CASES = {
    "validation": ("chief=1,worker=1", VALIDATION),
    "wiped": ("chief=1,worker=1", WIPED),
    "evaluator": ("chief=1,worker=1,evaluator=1", STOPPING),
    "servers": ("chief=1,worker=1,ps=1", {}),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("data"), classes=20)


# Who calls what at the two ends of each row of that table; nobody where no process of a training is
# at that end: what is complete before they start, what is read after they have ended.
CALLS = {
    "`job.json`": [],
    "`manifest.json`": ["worker read_text .*/manifest.json"],
    "`model.json`": ["chief write_text .*/model.json", "worker __init__ .*/checkpoints"],
    "`ckpt-<step>`": ["chief save .*/checkpoints", "worker restore .*/checkpoints/ckpt-.*"],
    "`best/ckpt-<step>` for `go_back`": ["chief save .*/best", "worker restore .*/best/ckpt-.*"],
    "`best/ckpt-<step>` for the export": ["chief save .*/best", "chief restore .*/best/ckpt-.*"],
    "`best_evaluated/ckpt-<step>`": [
        "evaluator save .*/best_evaluated",
        "chief restore .*/best_evaluated/ckpt-.*",
    ],
    "`evaluation.jsonl`": [
        "evaluator add .*/evaluation.jsonl",
        "chief read_text .*/evaluation.jsonl",
    ],
    "`export`": ["chief save .*/tree"],
    "`DONE`": ["chief write_text .*/checkpoints/DONE", "ps read_text .*/checkpoints/DONE"],
    "`heartbeat`": [],  # its clock is turned by tests/unit/trainer/test_heartbeat.py
}


def hand_over(root, data, case, *, seed, **lengths):
    """Train and train on, with pauses; everybody must end well, with the same weights.

    Returns what all of them said.
    """
    processes, settings = CASES[case]
    first, said = pauses.code(seed, **lengths), []
    for max_steps in (4, 8):
        job = make_job(
            root,
            data=data,
            max_steps=max_steps,
            checkpoint={"every_steps": 1, "keep": 1},
            **settings,
        )
        with Group(job, processes, root / f"to-{max_steps}", first=first) as group:
            codes = group.join()
            assert set(codes.values()) == {0}, (seed, codes)
            logs = [group.log(name) for name in codes if name.startswith(("chief", "worker"))]
            said += map(group.log, codes)
        digests = {found[-1] for log in logs if (found := re.findall(r"weights (\w{16})", log))}
        assert len(digests) == 1, (seed, digests)
        assert (root / "export/saved_model.pb").exists(), seed
        assert (root / "checkpoints/DONE").exists(), seed
    return "\n".join(said)


@pytest.mark.parametrize("case", ["validation", "wiped", "evaluator"])
def test_a_pause_at_either_end_of_a_hand_over_changes_nothing(tmp_path, data, case):
    hand_over(tmp_path, data, case, seed=1, share=0.3, longest_s=0.3)  # as much as its time allows


def rows_of_the_table():
    """The files of the table, as docs/distributed-training.md names them."""
    page = (ROOT / "docs/distributed-training.md").read_text()
    _, _, rest = page.partition("## What one process writes and another reads")
    section, _, _ = rest.partition("\n## ")
    return [line.split("|")[1].strip() for line in section.splitlines() if line.startswith("| `")]


def test_every_row_of_the_table_has_its_calls():
    for row in rows_of_the_table():
        assert sum(row.startswith(name) for name in CALLS) == 1, row


@pytest.mark.many_runs
def test_there_is_a_pause_before_and_after_each_call_of_every_row(tmp_path, data):
    said = "\n".join(
        hand_over(tmp_path / case, data, case, seed=1, share=1.0, longest_s=0.02) for case in CASES
    )
    for row, calls in CALLS.items():
        for role, call in (call.split(" ", 1) for call in calls):
            for moment in ("before", "after"):
                pause = rf"^pause of {role} {moment} {call} [\d.]+ s$"
                assert re.search(pause, said, re.MULTILINE), (row, pause)


@pytest.mark.many_runs
@pytest.mark.parametrize("seed", range(int(os.environ.get("HAND_OVERS", "100"))))
def test_pauses_anywhere_change_nothing(tmp_path, data, seed):
    case = random.Random(seed).choice(sorted(CASES))
    hand_over(tmp_path, data, case, seed=seed)
