"""Every file that one process writes and another reads, with pauses at both ends of each."""

import random
import re

import pauses
import pytest
from cluster import Group
from records import make_dataset
from training import make_job

pytestmark = pytest.mark.distributed

VALIDATION = {"validation": {"every_steps": 2, "go_back": True}}
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


def hand_over(root, data, case, *, seed, **lengths):
    """Train and train on, with pauses; everybody must end well, with the same weights."""
    processes, settings = CASES[case]
    first = pauses.code(seed, **lengths)
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
        digests = {found[-1] for log in logs if (found := re.findall(r"weights (\w{16})", log))}
        assert len(digests) == 1, (seed, digests)
        assert (root / "export/saved_model.pb").exists(), seed
        assert (root / "checkpoints/DONE").exists(), seed


@pytest.mark.parametrize("case", ["validation", "wiped", "evaluator"])
def test_a_pause_at_either_end_of_a_hand_over_changes_nothing(tmp_path, data, case):
    hand_over(tmp_path, data, case, seed=1, share=0.3, longest_s=0.3)  # as much as its time allows


@pytest.mark.many_runs
@pytest.mark.parametrize("seed", range(200))
def test_pauses_anywhere_change_nothing(tmp_path, data, seed):
    case = random.Random(seed).choice(sorted(CASES))
    hand_over(tmp_path, data, case, seed=seed)
