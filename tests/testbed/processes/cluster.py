"""Real processes of one training, with TF_CONFIG, a limit in time for all of them, and their logs.

with Group(job, "chief=1,worker=2", root) as group:
    group.wait_until(lambda: group.step() >= 10)
    group.kill("worker 0")
    codes = group.join()
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import warm_processes

from yt8m.components.trainer.backends.local import free_ports
from yt8m.components.trainer.job import TrainingJob
from yt8m.components.trainer.tf_config import cluster_configs, parse_processes

_NEWEST = re.compile(r'model_checkpoint_path: ".*-(\d+)"')
# Where TensorFlow itself crashes, the log shows what each thread did.
_TRAIN = """
import faulthandler, runpy
faulthandler.enable()
runpy.run_module("yt8m.components.trainer.backends", run_name="__main__")
"""
LIMIT_S = 600.0  # of a group; a machine under load takes minutes to the first step


class Group:
    """The processes of one cluster; leaving the block ends what still runs."""

    def __init__(
        self,
        job: TrainingJob,
        processes: str,
        root: Path,
        *,
        jobs: Mapping[str, TrainingJob] | None = None,
        limit_s: float = LIMIT_S,
        first: str = "",
    ) -> None:
        """All processes have `job`, but those that `jobs` names; each runs the code `first`."""
        self.job, self._root = job, root
        self._jobs = dict(jobs or {})
        self._code = f"{first}\n{_TRAIN}"
        self._deadline = time.monotonic() + limit_s
        root.mkdir(parents=True, exist_ok=True)
        self._processes: dict[str, warm_processes.Popen] = {}
        self._sent: dict[str, int] = {}  # the last signal to each process
        if not processes:  # one process, no TF_CONFIG
            self.configs = {"alone": ""}
        else:
            configs = cluster_configs(parse_processes(processes), free_ports(processes))
            self.configs = {f"{role.value} {i}": text for (role, i), text in configs.items()}

    def with_configs(self, configs: Mapping[str, str]) -> Group:
        """Give each process this TF_CONFIG in place of its own."""
        self.configs = dict(configs)
        return self

    def __enter__(self) -> Group:
        for name in self.configs:
            self.start(name)
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        for process in self._processes.values():
            if process.poll() is None:
                process.kill()
            process.wait()
        if kind is not None:
            for name in self.configs:
                print(f"===== {name}\n{self.log(name)[-4000:]}")

    def start(self, name: str) -> None:
        """Start the process `name`, or start it again."""
        self._sent.pop(name, None)
        environ = {**os.environ, "TF_CONFIG": self.configs[name]}
        file = self._log_path(name).with_suffix(".json")
        file.write_text(self._jobs.get(name, self.job).to_json())
        words = ["-c", self._code, "--config", str(file)]
        with self._log_path(name).open("ab") as log:
            self._processes[name] = warm_processes.Popen(
                *words, env=environ, stdout=log, stderr=subprocess.STDOUT
            )

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """Send a signal to one process."""
        self._sent[name] = number
        os.kill(self._processes[name].pid, number)

    def join(self, *names: str) -> dict[str, int]:
        """Wait for the named processes, or for all; their exit codes."""
        codes = {}
        for name in names or self.configs:
            left = max(0.1, self._deadline - time.monotonic())
            codes[name] = self._processes[name].wait(timeout=left)
        return codes

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for `condition`; fails where the time is over or a process failed by itself."""
        while not condition():
            codes = {name: process.poll() for name, process in self._processes.items()}
            failed = {n: c for n, c in codes.items() if c and -c != self._sent.get(n)}
            if failed or None not in codes.values():
                raise AssertionError(f"ended before that: {failed or codes}")
            if time.monotonic() > self._deadline:
                raise AssertionError("not within the group's time")
            time.sleep(0.01)

    def step(self) -> int:
        """The step of the newest checkpoint, -1 where there is none."""
        return newest_step(Path(self.job.checkpoint_dir))

    def log(self, name: str) -> str:
        """What the process has said so far."""
        path = self._log_path(name)
        return path.read_text(errors="replace") if path.exists() else ""

    def _log_path(self, name: str) -> Path:
        return self._root / f"{name.replace(' ', '-')}.log"


def run(job: TrainingJob, processes: str, root: Path) -> dict[str, str]:
    """Run a group to its end; everybody must end well. The logs by name."""
    with Group(job, processes, root) as group:
        codes = group.join()
        assert set(codes.values()) == {0}, codes
        return {name: group.log(name) for name in group.configs}


def newest_step(checkpoints: Path) -> int:
    """The step that a restart would continue from; read as text, so that no TensorFlow is needed.

    A checkpoint counts when this file names it, which is after its own files are there.
    """
    state = checkpoints / "checkpoint"
    found = _NEWEST.match(state.read_text()) if state.exists() else None
    return int(found[1]) if found else -1
