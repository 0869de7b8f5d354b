"""Pools of Python workers, ours and Beam's, as an engine and as a run that begins see them.

Pools and processes are real. Beam's listens on all interfaces, whatever it is told: here there is
a loopback alone. `test_worker_pool.py` gives these tests a process of their own.
"""

import importlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import grpc
import psutil
import pytest
from apache_beam.portability.api import beam_fn_api_pb2 as messages
from apache_beam.portability.api import beam_fn_api_pb2_grpc as services
from pod_network import network_namespace

from yt8m.components.engines import worker_pool
from yt8m.components.engines.worker_pool_check import fault_of_pool
from yt8m.pipeline.beam import check_beam
from yt8m.pipeline.config import BeamConfig, BeamRunner

pytestmark = pytest.mark.needs("network namespaces")
WORKER = str(Path(sys.executable).with_name("yt8m-beam-worker"))
POOL = str(Path(sys.executable).with_name("yt8m-beam-worker-pool"))


@pytest.fixture(autouse=True, scope="module")
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
    return any_port()


def any_port() -> int:
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
    assert f"{WORKER}-pool starts a pool whose workers have what they need" in problem


def test_a_worker_that_does_not_come_is_waited_for_so_long_and_no_longer(pool):
    address = pool("--container_executable=/bin/true")
    begin = time.monotonic()
    assert fault_of_pool(address, wait_s=2) == "no worker of it came within 2 s; its log says why"
    assert time.monotonic() - begin < 60


def test_what_is_no_pool_is_said_to_be_none(free_port):
    assert fault_of_pool(f"localhost:{free_port}", wait_s=2) == (
        "it is no worker pool: no gRPC server answers there"
    )


@pytest.fixture(scope="module")
def port():
    return any_port()


@pytest.fixture(scope="module")
def forking(port):
    with subprocess.Popen([POOL, f"--service_port={port}"], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        said = process.stdout.readline().decode()
        assert said == f"starts workers for whoever asks at localhost:{port}\n"
        yield process
        process.kill()


@pytest.fixture
def silent_engine():
    """Takes connections and never answers: a worker waits for what it should do."""
    with socket.socket() as one:
        one.bind(("localhost", 0))
        one.listen()
        yield f"localhost:{one.getsockname()[1]}"


@pytest.fixture
def asked(forking, port):
    with grpc.insecure_channel(f"localhost:{port}") as channel:
        yield services.BeamFnExternalWorkerPoolStub(channel)


def request(name: str, engine: str) -> messages.StartWorkerRequest:
    one = messages.StartWorkerRequest(worker_id=name)
    one.provision_endpoint.url = engine
    return one


def test_a_worker_comes_and_what_it_needs_is_imported_before(forking, port):
    # A worker that imports Beam, TensorFlow and TFX itself takes longer than this on any machine.
    assert fault_of_pool(f"localhost:{port}", wait_s=28) is None
    assert forking.poll() is None


def test_a_worker_ends_when_its_engine_says_so_or_asks_for_another_of_its_name(
    forking, asked, silent_engine
):
    asked.StartWorker(request("1-1", silent_engine))
    (first,) = workers(forking)
    asked.StartWorker(request("1-1", silent_engine))
    (second,) = workers(forking)
    assert second != first
    assert not first.is_running()
    asked.StopWorker(messages.StopWorkerRequest(worker_id="1-1"))
    assert not second.is_running()
    asked.StopWorker(messages.StopWorkerRequest(worker_id="never started"))


def test_a_worker_that_dies_before_its_engine_has_it_is_started_again_once(
    forking, asked, silent_engine
):
    """The engine would hear of its death by the connection that it had not made yet."""
    asked.StartWorker(request("1-3", silent_engine))
    (first,) = workers(forking)
    first.kill()
    while not (second := [one for one in workers(forking) if one != first]):
        time.sleep(0.05)
    asked.StopWorker(messages.StopWorkerRequest(worker_id="1-3"))
    assert not second[0].is_running()


def test_what_it_imports_once_is_there():
    """A name that is not would be passed over silently, and imported by each worker."""
    for name in worker_pool._IMPORTED_ONCE:
        importlib.import_module(name)


def test_a_port_that_is_taken_is_said(forking, port):
    done = subprocess.run([POOL, f"--service_port={port}"], capture_output=True, text=True)
    assert done.returncode == 1
    assert f"error: nothing can listen at localhost:{port} (Address already" in done.stderr
    assert "Traceback" not in done.stderr


def wait_until_it_loads(early: subprocess.Popen[bytes]) -> None:
    while not psutil.Process(early.pid).children():
        time.sleep(0.05)


def test_its_port_is_nobody_elses_while_it_loads_and_no_engine_takes_it_for_ready(free_port):
    with subprocess.Popen([POOL, f"--service_port={free_port}"]) as early, socket.socket() as other:
        wait_until_it_loads(early)
        with pytest.raises(OSError, match="Address already in use"):
            other.bind(("127.0.0.1", free_port))
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", free_port))
        early.terminate()


def test_a_pool_that_is_ended_while_it_loads_says_nothing(free_port):
    with subprocess.Popen([POOL, f"--service_port={free_port}"], stderr=subprocess.PIPE) as early:
        wait_until_it_loads(early)
        early.send_signal(signal.SIGINT)
        said = early.communicate(timeout=120)[1].decode()
    assert early.returncode == 0
    assert "Traceback" not in said


def test_its_workers_end_with_it(forking, asked, silent_engine):
    """The last one here: the pool is gone after it."""
    asked.StartWorker(request("1-2", silent_engine))
    (worker,) = workers(forking)
    forking.send_signal(signal.SIGTERM)
    assert forking.wait(30) == 0
    assert not worker.is_running()


def workers(pool: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Beside them the pool has what forks them, and multiprocessing's resource tracker."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if found := [
            one for kind in psutil.Process(pool.pid).children() for one in kind.children()
        ]:
            return found
        time.sleep(0.05)
    raise AssertionError("no worker within 30 s")
