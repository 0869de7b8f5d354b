"""Training by a cluster of processes on this machine: loopback, TF_CONFIG, one log file each."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from yt8m.components import storage
from yt8m.components.console.signals import handling_signals
from yt8m.components.storage.temporary import system_temporary_directory
from yt8m.components.trainer.backend_config import LocalProcessesBackend
from yt8m.components.trainer.cluster.heartbeat import Abandoned
from yt8m.components.trainer.job import FILE_NAME, TrainingJob
from yt8m.components.trainer.state.warm_start import list_checkpoints
from yt8m.components.trainer.tf_config import (
    LOOPBACK,
    VARIABLE,
    Cluster,
    Role,
    cluster_configs,
    parse_processes,
)
from yt8m.schemas.errors import (
    EXIT_ABANDONED,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_TERMINATED,
    EXIT_USER,
    Terminated,
    UserError,
    Yt8mError,
)

# Of a process that ends with the one that started it: the pid of that.
WITH_PARENT = "YT8M_ENDS_WITH_PARENT"
_log = logging.getLogger(__name__)
_POLL_S = 0.2
_GRACE_S = 30.0  # to save a checkpoint after SIGTERM
_LINES_SHOWN = 12

# Called with each change: a process's name, and what became of it.
Show = Callable[[str, str], None]


@dataclass(frozen=True, kw_only=True)
class Member:
    """One process that was started."""

    role: Role
    index: int
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def name(self) -> str:
        return f"{self.role.value} {self.index}"


class LocalProcesses:
    """Starts the processes, waits for them, and ends them together."""

    def __init__(self, config: LocalProcessesBackend) -> None:
        self._config = config

    def run(self, job: TrainingJob, environ: Mapping[str, str]) -> None:
        log_dir = storage.local_path(job.log_dir)
        logs = log_dir / "processes" if log_dir is not None else None

        def show(name: str, state: str) -> None:
            _log.info("%s: %s", name, state)

        run_cluster(job, self._config, environ=environ, log_dir=logs, show=show)


def run_cluster(
    job: TrainingJob,
    config: LocalProcessesBackend,
    *,
    environ: Mapping[str, str],
    log_dir: Path | None = None,
    show: Show = lambda name, state: None,
) -> None:
    """Train with the processes of `config`; returns when all have ended well.

    Signals are handed on to all of them. They save and end by themselves where this process is
    killed, for the same command starts others on the same checkpoints. When one fails the others
    are ended, and all are started again: from the newest checkpoint, until they have failed
    `config.restarts` times without a new one. The error shows the end of a log. Under a parameter
    server a lost worker is only reported.
    """
    logs = log_dir or Path(
        tempfile.mkdtemp(prefix="yt8m-cluster-", dir=system_temporary_directory())
    )
    logs.mkdir(parents=True, exist_ok=True)
    members: list[Member] = []
    signalled: list[int] = []

    def forward(number: int, frame: object) -> None:
        signalled.append(number)
        for member in members:  # they save and end, and so do we
            send_signal(member, number)

    left, start, before = config.restarts, 0, _newest(job)
    with handling_signals(forward):
        while True:
            began, start = time.time(), start + 1
            try:
                _run_once(job, config.processes, environ, logs, members, show)
                return
            except Yt8mError as error:
                newest = _newest(job)
                if newest != before:  # the next start must not wipe what this one has saved
                    before, left = newest, config.restarts
                    job = replace(job, trainer=replace(job.trainer, start_new_model=False))
                if not left or signalled or not _is_worth_a_restart(error):
                    raise
                left -= 1
                lost_s = time.time() - max(began, newest[1])
                step = newest[0].rpartition("-")[2] or "0"
                show("cluster", f"{error}")
                show(
                    "cluster",
                    f"all processes are started again from step {step}; {lost_s:.0f} s of training "
                    f"are lost ({left} restarts are left without a new checkpoint)",
                )
                for member in members:
                    member.log.replace(member.log.with_suffix(f".{start}.log"))
                members.clear()


def _run_once(
    job: TrainingJob,
    processes: str,
    environ: Mapping[str, str],
    logs: Path,
    members: list[Member],
    show: Show,
) -> None:
    """Start all processes, note them in `members`, and wait until they have ended."""
    configs = cluster_configs(parse_processes(processes), free_ports(processes))
    cluster = Cluster.from_env({VARIABLE: next(iter(configs.values()))})
    job.check_buckets(replicas=cluster.gradient_processes)
    path = logs / FILE_NAME
    path.write_text(job.to_json(), encoding="utf-8")
    try:
        for (role, index), config in configs.items():
            own = {**environ, VARIABLE: config, WITH_PARENT: str(os.getpid())}
            members.append(start_process(path, role, index, own))
            show(members[-1].name, f"started, pid {members[-1].process.pid}")
        _watch(members, show)
    finally:
        end_processes(members)


def _newest(job: TrainingJob) -> tuple[str, float]:
    """The newest checkpoint, and when it was written; none, long ago."""
    for path in reversed(list_checkpoints(job.checkpoint_dir)):
        with suppress(OSError):  # removed meanwhile
            return path, storage.stat(f"{path}.index").mtime
    return "", 0.0


def _is_worth_a_restart(error: Yt8mError) -> bool:
    """Whether another start may end otherwise: not for a mistake, nor where somebody ended it."""
    return error.exit_code == EXIT_FAILED


def free_ports(processes: str) -> list[int]:
    """As many ports that nobody listens on as there are processes."""
    sockets = [socket.create_server((LOOPBACK, 0)) for _ in range(_total(processes))]
    try:
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()


def _total(processes: str) -> int:
    return sum(parse_processes(processes).values())


def start_process(
    job: Path,
    role: Role,
    index: int,
    environ: Mapping[str, str],
    *,
    pass_fds: Sequence[int] = (),
) -> Member:
    """Start what TF_CONFIG of `environ` says of a job; its log lies beside the job's file."""
    log = job.parent / f"{role.value}-{index}.log"
    with log.open("wb") as file:
        process = subprocess.Popen(
            # -P: no module of the working directory hides one of Python's.
            [sys.executable, "-P", "-m", "yt8m.components.trainer.backends", "--config", str(job)],
            stdout=file,
            stderr=subprocess.STDOUT,
            env=dict(environ),
            # Its own group: a terminal's Ctrl-C reaches it once, through us.
            start_new_session=True,
            pass_fds=pass_fds,
        )
    return Member(role=role, index=index, process=process, log=log)


def _watch(members: Sequence[Member], show: Show) -> None:
    is_ps = any(member.role is Role.PS for member in members)
    running = list(members)
    while running:
        for member in [m for m in running if m.process.poll() is not None]:
            running.remove(member)
            code = member.process.returncode
            show(member.name, "done" if code == 0 else f"ended with {code}")
            if code == 0:
                continue
            if is_ps and member.role is Role.WORKER and _workers(running):
                show(member.name, "lost; the other workers take over its work")
                continue
            raise failure_of(member)
        time.sleep(_POLL_S)


def _workers(members: Sequence[Member]) -> bool:
    return any(member.role is Role.WORKER for member in members)


def failure_of(member: Member) -> BaseException:
    """Create the error for a failed process, with the end of its log."""
    code = member.process.returncode
    tail = member.log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LINES_SHOWN:]
    text = "\n".join(f"  {line}" for line in tail)
    message = f"{member.name} ended with {code}; the end of {member.log}:\n{text}"
    if code in (EXIT_TERMINATED, -signal.SIGTERM, -signal.SIGHUP):
        return Terminated(message)
    if code in (EXIT_INTERRUPTED, -signal.SIGINT):
        return KeyboardInterrupt(message)
    if code == EXIT_ABANDONED:
        return Abandoned(message)
    return UserError(message) if code == EXIT_USER else Yt8mError(message)


def end_processes(members: Sequence[Member]) -> None:
    """No process is left: SIGTERM first, then SIGKILL."""
    for member in members:
        send_signal(member, signal.SIGTERM)
    deadline = time.monotonic() + _GRACE_S
    for member in members:
        try:
            member.process.wait(timeout=max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            send_signal(member, signal.SIGKILL)
            member.process.wait()


def send_signal(member: Member, number: int) -> None:
    """Nothing, where it has ended meanwhile."""
    if member.process.poll() is None:
        with suppress(ProcessLookupError):
            os.kill(member.process.pid, number)
