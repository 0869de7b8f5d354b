"""A pool that starts no worker is found out before a run; pools and processes are real.

A pool listens on all interfaces, whatever it is told: here there is a loopback alone.
"""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import grpc
import pytest
from pod_network import network_namespace

from yt8m.components.engines.worker_pool import fault_of_pool
from yt8m.pipeline.beam import check_beam
from yt8m.pipeline.config import BeamConfig, BeamRunner

pytestmark = pytest.mark.needs("network namespaces", "ip")
WORKER = str(Path(sys.executable).with_name("yt8m-beam-worker"))


@pytest.fixture(autouse=True, scope="module")  # gRPC keeps to the first one it was used in
def loopback_alone():
    with network_namespace():
        yield


@pytest.fixture
def pool(free_port):
    """Starts one with that program for its workers; its address."""
    started = []

    def start(*words: str, **env: str) -> str:
        module = "apache_beam.runners.worker.worker_pool_main"
        command = [sys.executable, "-W", "ignore", "-m", module, f"--service_port={free_port}"]
        process = subprocess.Popen(
            [*command, *words], stderr=subprocess.DEVNULL, env={**os.environ, **env}
        )
        started.append(process)
        address = f"localhost:{free_port}"
        with grpc.insecure_channel(address) as channel:
            grpc.channel_ready_future(channel).result(timeout=120)
        return address

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.fixture
def free_port():
    with socket.socket() as one:
        one.bind(("localhost", 0))
        return one.getsockname()[1]


def test_a_pool_whose_worker_comes_has_no_fault(pool):
    assert fault_of_pool(pool(f"--container_executable={WORKER}"), wait_s=120) is None


def test_a_program_that_is_not_there_is_named_before_the_run(pool):
    address = pool("--container_executable=/nowhere/worker")
    options = ("--environment_type=EXTERNAL", f"--environment_config={address}")
    config = BeamConfig(
        runner=BeamRunner.PORTABLE, options=(*options, "--job_endpoint=localhost:1")
    )
    (problem,) = [p for p in check_beam(config) if "--environment_config" in p]
    assert "No such file or directory: '/nowhere/worker'" in problem
    assert f"--container_executable={WORKER}" in problem


def test_a_worker_that_does_not_come_is_waited_for_so_long_and_no_longer(pool):
    address = pool("--container_executable=/bin/true")
    begin = time.monotonic()
    assert fault_of_pool(address, wait_s=2) == "no worker of it came within 2 s; its log says why"
    assert time.monotonic() - begin < 60


def test_what_is_no_pool_is_said_to_be_none(free_port):
    assert fault_of_pool(f"localhost:{free_port}", wait_s=2) == "it is no worker pool (UNAVAILABLE)"
