"""Plays the operator for `K8sServer`: each pod's very command and environment, as a process here.

For a TFJob it sets TF_CONFIG as the training operator does. For a JobSet it only fills in the
variables, as the kubelet does. In both the pods' addresses become ports of 127.0.0.1.
"""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import threading
import time
from pathlib import Path
from typing import Any

import warm_processes
from k8s_server import K8sServer, replicas

_POLL_S = 0.1


class Operator:
    """Runs every job that appears; use it in a `with`."""

    def __init__(self, server: K8sServer, directory: Path) -> None:
        self._server, self._directory = server, directory
        self._stop = threading.Event()
        self._processes: dict[str, warm_processes.Popen] = {}
        self._read: dict[str, int] = {}
        self._thread = threading.Thread(target=self._work)
        self.environments: dict[str, dict[str, str]] = {}

    def __enter__(self) -> Operator:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()
        for process in self._processes.values():
            if process.poll() is None:
                process.kill()
            process.wait()

    def _work(self) -> None:
        while not self._stop.is_set():
            with self._server.lock:
                for name, job in list(self._server.jobs.items()):
                    if not any(pod.startswith(f"{name}-") for pod in self._server.pods):
                        self._start(name, job)
                    self._tell(name)
            time.sleep(_POLL_S)

    def _start(self, name: str, job: dict[str, Any]) -> None:
        tasks = [(role, i) for role, count, _ in replicas(job) for i in range(count)]
        ports = {task: _free_port() for task in tasks}
        self._server.start_pods(name)
        for role, count, template in replicas(job):
            for index in range(count):
                container = template["spec"]["containers"][0]
                environment = _environment(container, job, role, index, ports)
                pod = self._server.pod_name(name, role, index)
                self.environments[pod] = environment
                self._launch(pod, container["command"], environment)

    def _launch(self, pod: str, command: list[str], environment: dict[str, str]) -> None:
        python, *words = command
        assert python == "python"
        with (self._directory / f"{pod}.log").open("wb") as log:
            self._processes[pod] = warm_processes.Popen(
                *words, env={**os.environ, **environment}, stdout=log, stderr=subprocess.STDOUT
            )

    def _tell(self, name: str) -> None:
        for pod, process in self._processes.items():
            if not pod.startswith(f"{name}-"):
                continue
            text = (self._directory / f"{pod}.log").read_text(errors="replace")
            lines = text.splitlines()
            self._server.say(pod, *lines[self._read.get(pod, 0) :])
            self._read[pod] = len(lines)
            code = process.poll()
            if code is not None and self._server.pods[pod]["status"]["phase"] == "Running":
                self._server.end_container(pod, code, message="\n".join(lines[-20:]))
                if pod == self._server.pod_name(name, "chief") or code:
                    self._server.finish(name, succeeded=code == 0)


def _environment(
    container: dict[str, Any],
    job: dict[str, Any],
    role: str,
    index: int,
    ports: dict[tuple[str, int], int],
) -> dict[str, str]:
    found: dict[str, str] = {}
    for variable in container.get("env", []):
        value = variable.get("value")
        if value is None:
            assert "job-index" in variable["valueFrom"]["fieldRef"]["fieldPath"]
            value = str(index)
        # As the kubelet: only variables that stand before this one are known.
        found[variable["name"]] = re.sub(r"\$\((\w+)\)", lambda m: found[m[1]], value)
    if job["kind"] == "TFJob":
        found["TF_CONFIG"] = _tf_config(job, role, index)
    config = json.loads(found["TF_CONFIG"])
    config["cluster"] = {
        other: [_here(address, other, i, ports) for i, address in enumerate(addresses)]
        for other, addresses in config["cluster"].items()
    }
    return {**found, "TF_CONFIG": json.dumps(config)}


def _tf_config(job: dict[str, Any], role: str, index: int) -> str:
    name = job["metadata"]["name"]
    cluster = {
        other: [f"{name}-{other}-{i}.team.svc:2222" for i in range(count)]
        for other, count, _ in replicas(job)
    }
    task = {"type": role, "index": index}
    return json.dumps({"cluster": cluster, "task": task, "environment": "cloud"})


def _here(address: str, role: str, index: int, ports: dict[tuple[str, int], int]) -> str:
    """A pod's name is only known in a cluster; which pod it names is checked all the same."""
    assert re.search(rf"-{role}-{index}(-0)?\.", address), address
    return f"127.0.0.1:{ports[role, index]}"


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port
