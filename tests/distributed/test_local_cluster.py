"""`yt8m train --processes`: a real cluster that is shown, signalled and ended as one."""

import os
import re
import signal
import subprocess
import time

import pytest
import warm_processes
from cluster import LIMIT_S, newest_step
from records import make_dataset

pytestmark = pytest.mark.distributed

_COMMAND = "import sys; from yt8m.cli.main import run; sys.exit(run(sys.argv[1:]))"
NO_RESTARTS = {"trainer.backend": "{name: local, restarts: 0}"}
_STARTED = re.compile(r"(\w+ \d+): started, pid (\d+)")


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("data"), classes=20)


class Cluster:
    """The command as a process, with all that it says in a file."""

    def __init__(self, data, out, processes, **more):
        settings = {
            "features.num_classes": 20,
            "trainer.batch_size": 8,
            "trainer.max_steps": 400,
            "trainer.checkpoint.every_steps": 25,
            "trainer.log.every_steps": 25,
            "trainer.evaluation.enabled": "false",
            "trainer.distribution.worker_stagger_s": 0,
            **more,
        }
        flags = [part for key, value in settings.items() for part in ("--set", f"{key}={value}")]
        where = ["--data", f"{data}/train*", "--out", str(out), "--processes", processes]
        self.out, self._said = out, out.with_name("said.txt")
        with self._said.open("w") as file:
            words = ["-c", _COMMAND, "train", "smoke", *where, *flags]
            self.process = warm_processes.Popen(*words, stdout=file, stderr=subprocess.STDOUT)
        self._deadline = time.monotonic() + LIMIT_S

    @property
    def said(self):
        return self._said.read_text(errors="replace")

    @property
    def pids(self):
        return {name: int(pid) for name, pid in _STARTED.findall(self.said)}

    def trained(self, step):
        while newest_step(self.out / "checkpoints") < step:
            assert self.process.poll() is None, self.said
            assert time.monotonic() < self._deadline, self.said
            time.sleep(0.02)

    def ended(self):
        return self.process.wait(timeout=max(0.1, self._deadline - time.monotonic()))


@pytest.fixture
def start(data, tmp_path):
    clusters = []

    def starting(processes, **more):
        clusters.append(Cluster(data, tmp_path / "out", processes, **more))
        return clusters[-1]

    yield starting
    for cluster in clusters:
        cluster.process.kill()
        for pid in cluster.pids.values():
            if is_alive(pid):
                os.kill(pid, signal.SIGKILL)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.slow
def test_sigterm_reaches_everyone_and_the_same_command_goes_on(start):
    cluster = start("chief=1,worker=1")
    cluster.trained(25)
    pids = cluster.pids
    assert set(pids) == {"chief 0", "worker 0"}
    cluster.process.send_signal(signal.SIGTERM)
    assert cluster.ended() == 143, cluster.said
    assert not any(is_alive(pid) for pid in pids.values())
    reached = newest_step(cluster.out / "checkpoints")
    assert 25 <= reached < 400
    again = start("chief=1,worker=1")
    assert again.ended() == 0, again.said
    assert newest_step(again.out / "checkpoints") == 400
    assert "chief 0: done" in again.said
    assert "worker 0: done" in again.said


@pytest.mark.slow
def test_when_one_is_killed_the_others_are_ended_and_its_log_is_shown(start):
    cluster = start("chief=1,worker=1", **NO_RESTARTS)
    cluster.trained(25)
    pids = cluster.pids
    os.kill(pids["worker 0"], signal.SIGKILL)
    assert cluster.ended() == 1, cluster.said
    assert re.search(r"(worker|chief) 0: ended with -?\d+", cluster.said)
    assert "the end of" in cluster.said
    assert not any(is_alive(pid) for pid in pids.values())


@pytest.mark.parametrize(
    "killed",
    [
        pytest.param("worker 2", marks=pytest.mark.slow),
        pytest.param("chief 0", marks=pytest.mark.many_runs),
    ],
)
def test_when_one_of_four_is_killed_training_resumes_by_itself(start, killed):
    cluster = start("chief=1,worker=3")
    cluster.trained(25)
    first = cluster.pids
    os.kill(first[killed], signal.SIGKILL)
    assert cluster.ended() == 0, cluster.said
    assert re.search(r"started again from step \d+; \d+ s of training are lost", cluster.said)
    assert newest_step(cluster.out / "checkpoints") == 400
    assert not set(first.values()) & set(cluster.pids.values())
    assert (cluster.out / "processes/chief-0.1.log").exists()


@pytest.mark.slow
def test_restarts_without_a_new_checkpoint_come_to_an_end(start):
    broken = {"trainer.checkpoint.every_steps": 1000, "trainer.optimizer.learning_rate": 1e38}
    cluster = start("chief=1,worker=1", **broken)
    assert cluster.ended() == 1, cluster.said
    assert cluster.said.count("started again from step 0") == 3
    assert "training has diverged" in cluster.said


@pytest.mark.slow
def test_a_lost_worker_beside_a_parameter_server_is_only_told_of(start):
    cluster = start("chief=1,worker=2,ps=1")
    cluster.trained(25)
    os.kill(cluster.pids["worker 1"], signal.SIGKILL)
    assert cluster.ended() == 0, cluster.said
    assert "worker 1: lost; the other workers take over its work" in cluster.said
    assert newest_step(cluster.out / "checkpoints") == 400
