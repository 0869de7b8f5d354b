import json
import os
import subprocess
import sys

import pytest
from training import trainer_config

from yt8m.components.trainer.backend_config import LocalProcessesBackend
from yt8m.components.trainer.backends import local
from yt8m.components.trainer.backends.local import free_ports, run_cluster
from yt8m.components.trainer.job import TrainingJob
from yt8m.components.trainer.tf_config import (
    Cluster,
    ClusterKind,
    Role,
    cluster_configs,
    parse_processes,
)
from yt8m.schemas.errors import ConfigError, Terminated, UserError, Yt8mError
from yt8m.schemas.features import FeatureConfig, Level


def test_processes_are_counted_by_role():
    assert parse_processes("chief=1, worker=2,ps=1,evaluator") == {
        Role.CHIEF: 1,
        Role.WORKER: 2,
        Role.PS: 1,
        Role.EVALUATOR: 1,
    }
    assert parse_processes("worker=2,ps=0") == {Role.WORKER: 2}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "at least one process"),
        ("worker=0", "at least one process"),
        ("wrker=1", "wrker=1"),
        ("worker=two", "worker=two"),
        ("worker=-1", "worker=-1"),
        ("worker=²", "worker=²"),
        ("worker=1000", "worker=1000"),
        ("worker=1,worker=2", "given twice"),
    ],
)
def test_what_is_no_list_of_processes_is_refused(text, named):
    with pytest.raises(ConfigError, match="processes") as error:
        parse_processes(text)
    assert named in str(error.value)


@pytest.mark.parametrize("text", ["ps=1,worker=1", "chief=2,worker=1", "chief=1,master=1"])
def test_a_cluster_that_its_own_processes_would_refuse_is_refused_before_they_start(text):
    counts = parse_processes(text)
    with pytest.raises(ConfigError, match="TF_CONFIG"):
        cluster_configs(counts, range(1, 9))


def test_each_process_gets_its_own_tf_config_of_one_cluster():
    counts = parse_processes("chief=1,worker=2,ps=1,evaluator=1")
    configs = cluster_configs(counts, range(5001, 5006))
    assert len(configs) == 5
    assert len({json.dumps(json.loads(text)["cluster"]) for text in configs.values()}) == 1
    for (role, index), text in configs.items():
        parsed = Cluster.from_env({"TF_CONFIG": text})
        assert (parsed.role, parsed.index) == (role, index)
        assert parsed.kind is ClusterKind.PARAMETER_SERVER


def test_ports_are_free_and_distinct():
    ports = free_ports("chief=1,worker=7")
    assert len(set(ports)) == 8


class Starts:
    """What becomes of each start of all processes, one after the other; no process is started."""

    def __init__(self, monkeypatch, root):
        self.job = TrainingJob(
            manifest="manifest.json",
            checkpoint_dir=str(root / "checkpoints"),
            log_dir=str(root),
            export_dir=str(root / "export"),
            level=Level.VIDEO,
            features=FeatureConfig(),
            trainer=trainer_config(start_new_model=True),
        )
        (root / "checkpoints").mkdir()
        self.root, self.outcomes, self.started, self.said = root, [], [], []
        monkeypatch.setattr(local, "_run_once", self._start)

    def _start(self, job, *_):
        self.started.append(job)
        outcome = self.outcomes[len(self.started) - 1]
        if isinstance(outcome, int):  # the step that it has saved before it failed
            path = self.root / f"checkpoints/ckpt-{outcome}.index"
            path.touch()
            os.utime(path, (outcome, outcome))
            outcome = Yt8mError(f"killed after step {outcome}")
        if outcome is not None:
            raise outcome

    def run(self, *outcomes, restarts):
        """Train; how many starts there were."""
        self.outcomes = outcomes
        config = LocalProcessesBackend(processes="worker=2", restarts=restarts)
        run_cluster(
            self.job,
            config,
            environ={},
            log_dir=self.root / "logs",
            show=lambda name, state: self.said.append(state),
        )
        return len(self.started)


@pytest.fixture
def starts(monkeypatch, tmp_path):
    return Starts(monkeypatch, tmp_path)


def failure(number=0):
    return Yt8mError(f"failure {number}")


@pytest.mark.parametrize(
    ("outcomes", "restarts"),
    [
        ([None], 0),
        ([failure(), None], 1),
        ([failure(), failure(), failure(), None], 3),
        ([5, failure(), 9, failure(), 12, None], 2),  # a new checkpoint starts the count anew
    ],
)
def test_all_processes_are_started_again_until_they_end_well(starts, outcomes, restarts):
    assert starts.run(*outcomes, restarts=restarts) == len(outcomes)


@pytest.mark.parametrize(
    ("outcomes", "restarts"),
    [
        ([failure(1)], 0),
        ([failure(0), failure(0), failure(0), failure(1), None], 3),
        ([5, failure(0), 9, failure(0), failure(1), None], 2),
        ([UserError("1"), None], 3),
        ([Terminated("1"), None], 3),
        ([KeyboardInterrupt("1"), None], 3),
    ],
)
def test_restarts_end_without_a_new_checkpoint_and_where_they_cannot_help(
    starts, outcomes, restarts
):
    with pytest.raises((Yt8mError, KeyboardInterrupt), match="1"):
        starts.run(*outcomes, restarts=restarts)
    assert len(starts.started) == len([o for o in outcomes if o is not None])


def test_a_restart_does_not_wipe_what_the_start_before_has_saved(starts):
    starts.run(failure(), 5, failure(), None, restarts=2)
    assert [job.trainer.start_new_model for job in starts.started] == [True, True, False, False]
    again = [text for text in starts.said if "started again" in text]
    assert [text[text.index("from step") :][:12] for text in again] == [
        "from step 0;",
        "from step 5;",
        "from step 5;",
    ]


_PARENT = """
import os, subprocess, sys
subprocess.Popen([sys.executable, "-c", sys.argv[1], sys.argv[2], str(os.getpid())])
sys.stdin.read()
"""
_CHILD = """
import os, pathlib, signal, sys, time
from yt8m.components.trainer.backends.__main__ import end_with_parent
ended = pathlib.Path(sys.argv[1])
signal.signal(signal.SIGTERM, lambda *_: (ended.write_text("saved"), sys.exit(143)))
print("begun", flush=True)
while "{moment}" == "begin" and os.getppid() == int(sys.argv[2]):
    time.sleep(0.01)  # as where importing takes long
end_with_parent(int(sys.argv[2]))
print("ready", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize(("moment", "said"), [("begin", b"begun\n"), ("train", b"ready\n")])
def test_a_process_whose_supervisor_is_killed_saves_and_ends(tmp_path, moment, said):
    ended = tmp_path / "ended"
    child = _CHILD.replace("{moment}", moment)
    words = [sys.executable, "-c", _PARENT, child, str(ended)]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        while parent.stdout.readline() != said:
            pass
        parent.kill()
        parent.stdout.read()  # the child had it open, too, until it ended
    assert ended.read_text() == "saved"


def test_the_processes_of_a_cluster_end_with_their_supervisor(tmp_path, monkeypatch):
    given = []

    def start(job, role, index, environ):
        given.append(environ[local.WITH_PARENT])
        raise UserError("enough")

    monkeypatch.setattr(local, "start_process", start)
    job = TrainingJob(manifest="", checkpoint_dir=str(tmp_path), log_dir="", export_dir="")
    with pytest.raises(UserError, match="enough"):
        run_cluster(job, LocalProcessesBackend(), environ={}, log_dir=tmp_path)
    assert given == [str(os.getpid())]


def test_files_of_the_working_directory_hide_none_of_pythons_modules(tmp_path, monkeypatch):
    (tmp_path / "argparse.py").write_text("raise SystemExit('mine')")
    monkeypatch.chdir(tmp_path)
    member = local.start_process(tmp_path / "none.json", Role.CHIEF, 0, os.environ)
    assert member.process.wait() == 2
    assert "none.json" in member.log.read_text()
