"""Processes of one cluster greet each other; whoever is another's, or is given other settings, is
found out before TensorFlow starts. Threads stand for the processes, over real sockets.
"""

import dataclasses
import json
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from yt8m.components.trainer.cluster import rendezvous
from yt8m.components.trainer.cluster.rendezvous import (
    UnreachablePeers,
    is_reachable,
    wait_for_peers,
)
from yt8m.components.trainer.tf_config import Cluster
from yt8m.schemas.errors import ConfigError


@pytest.fixture(autouse=True)
def short_linger(monkeypatch):
    monkeypatch.setattr(rendezvous, "_LINGER_S", 1.0)


class Speaker:
    """Something that listens at an address and says the same to everybody."""

    def __init__(self, address, said):
        host, _, port = address.rpartition(":")
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._server = socket.create_server((host.strip("[]"), int(port)), family=family)
        self._said = said
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                peer, _ = self._server.accept()
            except OSError:
                return
            with peer:
                peer.sendall(self._said)

    def close(self):
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


def free_addresses(count):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    addresses = [f"127.0.0.1:{s.getsockname()[1]}" for s in sockets]
    for s in sockets:
        s.close()
    return addresses


def member(tasks, role, index=0):
    task = {"type": role, "index": index}
    return Cluster.from_env({"TF_CONFIG": json.dumps({"cluster": tasks, "task": task})})


def meet(*processes, timeout_s=60):
    """What each process ends with: None, or its error."""

    def one(process):
        cluster, settings = process
        try:
            wait_for_peers(cluster, timeout_s=timeout_s, settings=settings)
        except Exception as error:
            return error
        servers.append(Speaker(cluster.address, SERVER))  # as TensorFlow does next
        return None

    servers = []
    try:
        with ThreadPoolExecutor(len(processes)) as pool:
            return list(pool.map(one, processes))
    finally:
        for server in servers:
            server.close()


SERVER = b"\x00\x00\x12\x04"  # how a gRPC server begins
D = "127.0.0.1:9"
SETTINGS = {"trainer": {"max_steps": 5, "model": {"name": "mlp", "width": 4}}}


def test_processes_of_one_cluster_and_one_configuration_meet():
    a, b, c = free_addresses(3)
    tasks = {"chief": [a], "worker": [b, c]}
    members = [member(tasks, "chief"), member(tasks, "worker"), member(tasks, "worker", 1)]
    assert meet(*((m, SETTINGS) for m in members)) == [None] * 3


def test_other_settings_are_named_by_both_sides():
    a, b = free_addresses(2)
    tasks = {"chief": [a], "worker": [b]}
    other = {"trainer": {"max_steps": 6, "model": {"name": "mlp", "width": 8}}}
    errors = meet((member(tasks, "chief"), SETTINGS), (member(tasks, "worker"), other))
    assert all(isinstance(error, ConfigError) for error in errors)
    assert "trainer.max_steps = 6 there, 5 here" in str(errors[0])
    assert "trainer.model.width = 4 there, 8 here" in str(errors[1])
    assert "model.name" not in str(errors[0])


def test_a_chief_of_another_cluster_is_found_out():
    a, b, c = free_addresses(3)
    ours = member({"chief": [a], "worker": [c]}, "worker")
    theirs = member({"chief": [a], "worker": [b]}, "chief")
    errors = meet((ours, {}), (theirs, {}), timeout_s=4)
    assert f"in its TF_CONFIG worker 0 is {b}, in that of this process {c}" in str(errors[0])
    assert isinstance(errors[0], ConfigError)


def test_different_lists_of_workers_are_named():
    a, b, c = free_addresses(3)
    two, three = {"chief": [a], "worker": [b]}, {"chief": [a], "worker": [b, c]}
    errors = meet((member(two, "chief"), {}), (member(three, "worker"), {}))
    assert f"worker 1 is {c}, in that of this process absent" in str(errors[0])
    assert f"worker 1 is absent, in that of this process {c}" in str(errors[1])


def test_a_process_that_takes_itself_for_its_chief_is_told_so():
    (a,) = free_addresses(1)
    itself = a.replace("127.0.0.1", "localhost")
    (error,) = meet((member({"chief": [itself], "worker": [a]}, "worker"), {}))
    assert "worker 0, this process itself answers there, not chief 0" in str(error)


def test_a_sparse_worker_and_a_ps_know_different_parts_of_one_cluster():
    a, b, c = free_addresses(3)
    own = rendezvous.Greeting.of(member({"ps": [c], "worker": {"1": b}}, "worker", 1), {})
    dense = rendezvous.Greeting.of(member({"chief": [a], "ps": [c], "worker": [D, b]}, "ps"), {})
    assert own.find_difference(dense, called="ps 0") == ""
    moved = rendezvous.Greeting.of(member({"chief": [a], "ps": [c], "worker": [b]}, "ps"), {})
    assert own.find_difference(moved, called="ps 0") == ""
    other = rendezvous.Greeting.of(member({"chief": [a], "ps": [c], "worker": [b, D]}, "ps"), {})
    assert "worker 1" in own.find_difference(other, called="ps 0")


@pytest.mark.parametrize("said", [b"", b"HTTP/1.1 400 Bad Request\r\n", b"SSH-2.0-x\r\n"])
def test_another_programs_port_is_not_a_peer(said):
    a, b = free_addresses(2)
    speaker = Speaker(b, said)
    try:
        assert not is_reachable(b)
        (error,) = meet((member({"chief": [a], "worker": [b]}, "chief"), {}), timeout_s=1)
        assert isinstance(error, UnreachablePeers)
        assert f"worker 0 ({b})" in str(error)
    finally:
        speaker.close()


@pytest.mark.parametrize("said", [b"yt8m", b"yt8m{}\n", b"yt8m[1]\n", b'yt8m{"x": 1}\n'])
def test_another_version_is_called_that(said):
    a, b = free_addresses(2)
    speaker = Speaker(b, said)
    try:
        (error,) = meet((member({"chief": [a], "worker": [b]}, "chief"), {}), timeout_s=1)
        assert "another version of yt8m answers there" in str(error)
    finally:
        speaker.close()


def test_the_chief_of_parameter_servers_greets_them_and_then_waits_for_their_servers():
    a, b, c = free_addresses(3)
    tasks = {"chief": [a], "worker": [b], "ps": [c]}
    ended = []

    def serve(cluster, address):
        wait_for_peers(cluster, timeout_s=60)
        ended.append("greeted")
        time.sleep(0.3)
        return Speaker(address, SERVER)

    with ThreadPoolExecutor(3) as pool:
        chief = pool.submit(wait_for_peers, member(tasks, "chief"), timeout_s=60)
        servers = [
            pool.submit(serve, member(tasks, role), address)
            for role, address in (("worker", b), ("ps", c))
        ]
        assert chief.result() is None
        assert ended == ["greeted", "greeted"]
        for server in servers:
            server.result().close()


def greeting_of(cluster, **changes):
    """What a process of `cluster` says."""
    return dataclasses.replace(rendezvous.Greeting.of(cluster, {}), **changes)


def test_a_peer_that_does_not_reach_this_process_is_named_in_time():
    a, b = free_addresses(2)
    tasks = {"chief": [a], "worker": [b]}
    deaf = Speaker(b, greeting_of(member(tasks, "worker")).encode())
    began = time.monotonic()
    try:
        (error,) = meet((member(tasks, "chief"), {}), timeout_s=1)
    finally:
        deaf.close()
    assert time.monotonic() - began < 5
    assert f"worker 0 ({b}) answers, but does not reach this process at {a}" in str(error)


def test_two_peers_that_do_not_reach_each_other_hold_up_the_third():
    a, b, c = free_addresses(3)
    tasks = {"chief": [a], "worker": [b, c]}
    speakers = []

    def deaf(index, address, lacks):
        worker = member(tasks, "worker", index)
        speakers.append(Heard(address, greeting_of(worker, missing=(lacks,))))

    deaf(0, b, "worker 1")
    deaf(1, c, "worker 0")
    try:
        (error,) = meet((member(tasks, "chief"), {}), timeout_s=1)
    finally:
        for speaker in speakers:
            speaker.close()
    assert f"worker 0 ({b}) answers, but does not reach worker 1" in str(error)
    assert f"worker 1 ({c}) answers, but does not reach worker 0" in str(error)


class Heard(Speaker):
    """A peer that says it has heard the chief, whatever else it says."""

    def __init__(self, address, greeting):
        self._greeting = greeting
        super().__init__(address, b"")

    def _serve(self):
        tasks = self._greeting.tasks
        while True:
            try:
                peer, _ = self._server.accept()
            except OSError:
                return
            heard = getattr(rendezvous._call(tasks["chief 0"]), "start", "")
            with peer:
                said = dataclasses.replace(self._greeting, heard={"chief 0": heard})
                peer.sendall(said.encode())


def test_a_server_that_has_not_greeted_is_of_an_earlier_training():
    a, b = free_addresses(2)
    server = Speaker(b, SERVER)
    try:
        (error,) = meet((member({"chief": [a], "worker": [b]}, "chief"), {}), timeout_s=1)
    finally:
        server.close()
    assert f"worker 0 ({b}) serves a training that began before" in str(error)


def test_a_name_that_takes_longer_to_look_up_than_may_be_waited_delays_nobody(monkeypatch):
    real = socket.getaddrinfo

    def slow(host, *args, **kwargs):
        if host == "slow.example":
            time.sleep(15)
            raise socket.gaierror("no such name")
        return real(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    (a,) = free_addresses(1)
    began = time.monotonic()
    tasks = {"chief": [a], "worker": ["slow.example:1"]}
    (error,) = meet((member(tasks, "chief"), {}), timeout_s=1)
    assert time.monotonic() - began < 6
    assert "worker 0 (slow.example:1) is not reachable" in str(error)


@pytest.mark.parametrize("host", ["[::1]", "localhost", "127.0.0.1"])
def test_processes_meet_at_every_kind_of_loopback_address(host):
    a, b = (address.replace("127.0.0.1", host) for address in free_addresses(2))
    tasks = {"chief": [a], "worker": [b]}
    assert meet((member(tasks, "chief"), {}), (member(tasks, "worker"), {})) == [None, None]


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_a_process_known_by_a_name_is_reached_by_both_families(family):
    _, _, port = free_addresses(1)[0].rpartition(":")
    loopback = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}[family]
    with rendezvous._listener(f"pod-0.training:{port}") as listener:
        socket.create_connection((loopback, int(port)), timeout=5).close()
        listener.accept()[0].close()
