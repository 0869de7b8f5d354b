"""A Flink cluster and Beam's job server before it: the real programs, for tests.

`make flink` brings them, of the versions in tests/testbed/engines. Every task manager is in a
pod, which has a network of its own, with the worker pool beside it: as on machines of their own,
each finds its pool at the same address. Job server and pools listen on all interfaces, whatever
they are told; none of those leads out here (`pod_network`).

with flink_cluster(directory, task_managers=2) as flink:
    yt8m("run", ..., f"--beam-option=--job_endpoint={flink.job_endpoint}")

Pods have this machine's disk, until `without_common_disk` gives each a temporary directory of its
own; what they then share is in an S3 server, `flink_cluster(directory, store=True)`.
"""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import requests
import yaml
from pod_network import GATEWAY, address_of, plug_in, pod_network
from programs import Programs
from requirements import flink_programs
from s3_server import s3_server

JOB_SERVER, JOB_MANAGER = "job server", "job manager"
_JOB_PORT, _ARTIFACT_PORT, _REST_PORT, _POOL_PORT = 8099, 8098, 8081, 50000
# Java that starts four times on two cores, which others keep busy.
_PATIENCE_S = 600.0
_PARTS = Path(__file__).parent
_OWN_DISK = "/mnt"  # of each pod, for Flink's configuration and what it writes
# Flink's own start scripts open these of Java 17 to it; its packages for Python bring no scripts.
_OPENED = (
    *("java.lang", "java.lang.reflect", "java.net", "java.io", "java.nio", "sun.nio.ch"),
    *("java.text", "java.time", "java.util", "java.util.concurrent"),
    *("java.util.concurrent.atomic", "java.util.concurrent.locks"),
)
# A start takes half the processor time, and records are not long enough at work to miss the rest.
_QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
# docs/beam-engines.md says why each is not what Flink takes.
TASK_MANAGER = {
    "cpu.cores": 1.0,
    "memory.framework.heap.size": "128m",
    "memory.framework.off-heap.size": "128m",
    "memory.task.heap.size": "1024m",
    "memory.task.off-heap.size": "512m",
    "memory.network.min": "256m",
    "memory.network.max": "256m",
    "memory.managed.size": "128m",
    "memory.jvm-metaspace.size": "256m",
    "memory.jvm-overhead.min": "192m",
    "memory.jvm-overhead.max": "192m",
}
_HEAP, _DIRECT = "1152m", "896m"  # of a task manager: the sums of the heaps, of off-heap + network


def is_of_the_installed_beam() -> bool:
    """Job server and workers understand each other where they are of one version."""
    return f"<version>{version('apache-beam')}</version>" in (_PARTS / "pom.xml").read_text()


class Share(NamedTuple):
    """How many records each worker had of a stage: those it wrote, or read where those are more."""

    job: str
    stage: str
    of_workers: list[int]
    milliseconds: int

    @property
    def records(self) -> int:
        return sum(self.of_workers)

    @property
    def most(self) -> float:
        """The part of the worker that had most."""
        return max(self.of_workers) / max(self.records, 1)


def _records(vertex: Any) -> list[int]:
    counted = ("read-records", "write-records")
    found = [[task["metrics"][name] for task in vertex["subtasks"]] for name in counted]
    return max(found, key=sum)


class Flink(Programs):
    """A cluster that runs: a job manager, task managers, Beam's job server, worker pools."""

    job_endpoint, master = f"localhost:{_JOB_PORT}", f"{GATEWAY}:{_REST_PORT}"
    worker_pool = f"localhost:{_POOL_PORT}"  # as every task manager sees its own

    def __init__(
        self, directory: Path, task_managers: int, *, bucket: str | None, pinned: bool
    ) -> None:
        super().__init__(directory / "logs", FLINK_CONF_DIR=str(directory))
        self.bucket, self._pinned = bucket, pinned
        self._directory, self._task_managers = directory, task_managers
        self._pods: dict[int, int] = {}  # the process whose network is a pod's, by its number

    def _start(self, name: str, *command: str, pod: int | None = None) -> None:
        if pod is not None:
            own = ("env", f"FLINK_CONF_DIR={_OWN_DISK}", f"TMPDIR={_OWN_DISK}")
            command = (*self._in_pod(pod), *own, *command)
            if self._pinned:
                command = ("taskset", "--cpu-list", str(pod), *command)
        self.start(name, *command)

    def start_all(self) -> None:
        """Job manager, task managers and their pools, job server; back when all of them answer."""
        self._write_configuration()
        entry = "org.apache.flink.runtime"
        self._java(
            JOB_MANAGER,
            "-Xmx512m",
            *("-cp", _jars("/*")),
            f"{entry}.entrypoint.StandaloneSessionClusterEntrypoint",
            *("--configDir", str(self._directory), "--executionMode", "cluster"),
        )
        for number in range(self._task_managers):
            self._start_pod(number)
            self._java(
                task_manager(number),
                *(f"-Xmx{_HEAP}", f"-Xms{_HEAP}", f"-XX:MaxDirectMemorySize={_DIRECT}"),
                *("-XX:MaxMetaspaceSize=256m", "-cp", _jars("/*")),
                f"{entry}.taskexecutor.TaskManagerRunner",
                *("--configDir", _OWN_DISK, "-D", f"taskmanager.resource-id=tm-{number}"),
                *("-D", f"taskmanager.host={address_of(number + 1)}"),
                *("-D", f"io.tmp.dirs={_OWN_DISK}"),
                pod=number,
            )
            self._start_worker_pool(number)
        self._java(
            JOB_SERVER,
            *("-Xmx512m", "-Djava.system.class.loader=UnlistedJars", f"-Djars={_jars()}"),
            *("-cp", str(_programs() / "unlisted-jars.jar")),
            "org.apache.beam.runners.flink.FlinkJobServerDriver",
            *(f"--job-port={_JOB_PORT}", f"--artifact-port={_ARTIFACT_PORT}", "--expansion-port=0"),
            *(f"--flink-master={self.master}", f"--flink-conf-dir={self._directory}"),
            f"--artifacts-dir={self._directory / 'artifacts'}",
        )
        self.until_ready()

    def until_ready(self) -> None:
        self.until(lambda: len(self.get("taskmanagers")["taskmanagers"]) == self._task_managers)
        self.until(lambda: _listens(_JOB_PORT))
        pods = [address_of(number + 1) for number in range(self._task_managers)]
        self.until(lambda: all(_listens(_POOL_PORT, pod) for pod in pods))

    def _start_pod(self, number: int) -> None:
        """Network and disks of a task manager and its worker pool, which stay when they end."""
        name = f"pod {number}"
        configuration = self._directory / "flink-conf.yaml"
        disk = f"mount -t tmpfs tmpfs {_OWN_DISK} && cp {configuration} {_OWN_DISK}"
        self.start(
            name, "unshare", "--net", "--mount", "sh", "-c", f"{disk} && exec sleep infinity"
        )
        self._pods[number] = pid = self.processes[name].pid
        plug_in(pid, address_of(number + 1), number=number + 1)
        there = f"{_OWN_DISK}/{configuration.name}"
        self.until(lambda: set(self.run_in_pods("test", "-e", there)) == {0})

    def _in_pod(self, number: int) -> tuple[str, ...]:
        place = f"/proc/{self._pods[number]}/ns"
        return ("nsenter", f"--net={place}/net", f"--mount={place}/mnt")

    def run_in_pods(self, *command: str) -> list[int]:
        """The exit codes."""
        pods = [(*self._in_pod(number), *command) for number in self._pods]
        return [subprocess.run(words, check=False).returncode for words in pods]

    @contextlib.contextmanager
    def without_common_disk(self) -> Iterator[None]:
        """In a pod, the place of temporary files is empty and its own: so no run's files are there.

        The installation stays, as on machines with the same packages.
        """
        place = tempfile.gettempdir()
        assert set(self.run_in_pods("mount", "-t", "tmpfs", "tmpfs", place)) == {0}
        try:
            yield
        finally:
            self.run_in_pods("umount", "--lazy", place)

    def _java(self, name: str, *words: str, pod: int | None = None) -> None:
        opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED]
        logging = f"-Dlog4j.configurationFile={_PARTS / 'log4j.properties'}"
        self._start(name, "java", *_QUICK_START, *opened, logging, *words, pod=pod)

    def _start_worker_pool(self, number: int) -> None:
        """Beside a task manager; it starts Python workers in processes of their own."""
        program = str(Path(sys.executable).with_name("yt8m-beam-worker-pool"))
        words = (f"--service_port={_POOL_PORT}", "--host=0.0.0.0")  # of its pod
        self._start(worker_pool(number), program, *words, pod=number)

    def get(self, path: str) -> Any:
        """What Flink's own API says."""
        return requests.get(f"http://{self.master}/{path}", timeout=10).json()

    def jobs(self) -> list[str]:
        """Their ids, the newest last."""
        found = self.get("jobs/overview")["jobs"]
        return [job["jid"] for job in sorted(found, key=lambda job: job["start-time"])]

    def running(self) -> list[str]:
        """Jobs that are at work: Flink calls those that wait for workers running, too."""
        found = self.get("jobs/overview")["jobs"]
        return [job["jid"] for job in found if job["tasks"]["running"]]

    def shares(self, jobs: list[str]) -> list[Share]:
        """Of every stage of these jobs."""
        return [
            Share(
                job,
                vertex["name"],
                _records(self.get(f"jobs/{job}/vertices/{vertex['id']}")),
                vertex["duration"],
            )
            for job in jobs
            for vertex in self.get(f"jobs/{job}")["vertices"]
        ]

    def processor_seconds(self, name: str) -> float:
        """Of a program, of the processes that it has, and of those that it had."""
        own = psutil.Process(self.processes[name].pid)
        seconds = 0.0
        for process in (own, *own.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):  # it ended just now
                seconds += sum(process.cpu_times()[:4])  # its own, and of those it waited for
        return seconds

    def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            for name, process in self.processes.items():
                assert process.poll() is None, f"{name} ended:\n{self.said(name)[-3000:]}"
            with contextlib.suppress(requests.ConnectionError, KeyError, ValueError):
                if holds():
                    return
            time.sleep(0.2)
        ends = "\n".join(f"{name}:\n{self.said(name)[-1500:]}" for name in self.processes)
        raise AssertionError(f"not within {_PATIENCE_S} s\n{ends}")

    def _write_configuration(self) -> None:
        """Of all of its processes."""
        self._directory.mkdir(parents=True, exist_ok=True)
        settings: dict[str, Any] = {
            "jobmanager.rpc.address": GATEWAY,
            "jobmanager.bind-host": "0.0.0.0",  # of this network; it asks itself at localhost
            "jobmanager.memory.process.size": "1024m",
            "taskmanager.bind-host": "0.0.0.0",  # of its pod
            "taskmanager.numberOfTaskSlots": 1,
            "rest.address": GATEWAY,
            "rest.bind-address": GATEWAY,
            "rest.port": _REST_PORT,
            "io.tmp.dirs": str(self._directory / "tmp"),
            "classloader.resolve-order": "parent-first",
            # Out of memory in a thread of gRPC's, it would wait for ever.
            "cluster.uncaught-exception-handling": "FAIL",
            "pekko.ask.timeout": "60 s",  # a task manager ends where its own start takes longer
            **{f"taskmanager.{name}": value for name, value in TASK_MANAGER.items()},
        }
        (self._directory / "tmp").mkdir(exist_ok=True)
        text = "".join(
            f"{name}: {yaml.safe_dump(v).splitlines()[0]}\n" for name, v in settings.items()
        )
        (self._directory / "flink-conf.yaml").write_text(text)


def _programs() -> Path:
    place = flink_programs()
    assert place is not None, "make flink"
    return place


def _jars(ending: str = "") -> str:
    """Flink's and Beam's: the cluster has both, so that no job brings them."""
    return ":".join(f"{_programs() / part}{ending}" for part in ("cluster", "job-server"))


def _listens(port: int, host: str = "localhost") -> bool:
    with contextlib.closing(socket.socket()) as client:
        return client.connect_ex((host, port)) == 0


def task_manager(number: int) -> str:
    return f"task manager {number}"


def worker_pool(number: int) -> str:
    return f"worker pool {number}"


@contextlib.contextmanager
def flink_cluster(
    directory: Path, *, task_managers: int = 2, pinned: bool = False, store: bool = False
) -> Iterator[Flink]:
    """The cluster, in a network that this thread is in until it ends.

    `pinned`: each task manager, with the workers that it starts, has a core and no more.
    `store`: it has an S3 server.
    """
    with pod_network(), contextlib.ExitStack() as stack:
        bucket = stack.enter_context(s3_server(GATEWAY)) if store else None
        flink = Flink(directory, task_managers, bucket=bucket, pinned=pinned)
        try:
            flink.start_all()
            yield flink
        finally:
            flink.kill_all()
