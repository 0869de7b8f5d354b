"""Check that the other processes of a cluster run, before TensorFlow waits for them.

TensorFlow waits for a missing peer without end or word, and believes any peer. Here each process
answers at its own port with a greeting: its role, its index, the cluster as it knows it, the
settings and the data that all must share, and whom it has heard itself. A process goes on when
every peer has heard all of its own peers: a link that carries calls one way alone holds up all of
them, and each ends in an error that names it. An open port is not enough: another program's, a
proxy's, that of a process which hangs or of an earlier training is open too.
"""

from __future__ import annotations

import enum
import ipaddress
import json
import socket
import threading
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from typing import Any

from yt8m.components.trainer.tf_config import LOOPBACK, Cluster, ClusterKind
from yt8m.schemas.config_tree import flatten
from yt8m.schemas.errors import ConfigError, Yt8mError

_PAUSE_S = 0.2
_CONNECT_S = 2.0
_LINGER_S = 3.0  # a process that refuses a peer lets the peer see why, too
_FAREWELL_S = 0.5  # a process that goes on lets the others see that it can
_MAGIC = b"yt8m"
_LIMIT_BYTES = 1 << 20
_SHOWN = 8  # differing settings
# A gRPC server speaks first: a short frame, whose fourth byte is its type.
_HTTP2_SETTINGS = (b"\x00", b"\x04")


class UnreachablePeers(Yt8mError):  # noqa: N818  (names what was found)
    """Peers did not appear in time, or disappeared."""


class _Answer(enum.Enum):
    """Answer at an address that is no greeting."""

    NOTHING = "nothing"  # or something that is not of this cluster
    SERVER = "server"  # TensorFlow's: that process is further on
    UNREADABLE = "unreadable"  # another version of this code


@dataclass(frozen=True, kw_only=True)
class Greeting:
    """Message of a process to its peers."""

    name: str  # as in `chief 0`
    tasks: Mapping[str, str]  # address by name, of all that it knows
    is_sparse: bool = False  # it does not know all of them
    settings: Mapping[str, Any] = field(default_factory=dict)  # flat; equal in all processes
    start: str = ""  # distinguishes this start of the process from those before it
    heard: Mapping[str, str] = field(default_factory=dict)  # the start of each peer, by its name
    missing: Sequence[str] = ()  # the peers that it has not heard yet

    @classmethod
    def of(cls, cluster: Cluster, settings: Mapping[str, Any]) -> Greeting:
        """The greeting of this process of `cluster`."""
        tasks = {
            f"{role.value} {index}": address
            for role, addresses in cluster.addresses.items()
            for index, address in addresses.items()
        }
        name = f"{cluster.role.value} {cluster.index}"
        # As the peer will read them.
        flat = json.loads(json.dumps(flatten(settings)))
        return cls(
            name=name,
            tasks=tasks,
            is_sparse=cluster.is_sparse,
            settings=flat,
            start=uuid.uuid4().hex,
            missing=tuple(cluster.peers),
        )

    def encode(self) -> bytes:
        return _MAGIC + json.dumps(vars(self)).encode() + b"\n"

    def find_difference(self, peer: Greeting, *, called: str) -> str:
        """Why `peer`, which answers where `called` should be, is not of this cluster; or empty."""
        if peer.name != called:
            itself = ", this process itself" if peer.start == self.start else ""
            return f"{peer.name}{itself} answers there, not {called}"
        mine, theirs = dict(self.tasks), dict(peer.tasks)
        if self.is_sparse or peer.is_sparse:
            shared = mine.keys() & theirs.keys()
            mine, theirs = ({name: t[name] for name in shared} for t in (mine, theirs))
        for name in sorted(mine.keys() | theirs.keys()):
            here, there = mine.get(name, "absent"), theirs.get(name, "absent")
            if here != there:
                return f"in its TF_CONFIG {name} is {there}, in that of this process {here}"
        return self._differing_settings(peer)

    def _differing_settings(self, peer: Greeting) -> str:
        mine, theirs = self.settings, peer.settings
        if not mine or not theirs:
            return ""
        differing = [
            f"{key} = {theirs.get(key, 'absent')} there, {mine.get(key, 'absent')} here"
            for key in sorted(mine.keys() | theirs.keys())
            if mine.get(key) != theirs.get(key)
        ]
        more = f", and {len(differing) - _SHOWN} more" if len(differing) > _SHOWN else ""
        return "; ".join(differing[:_SHOWN]) + more


def wait_for_peers(
    cluster: Cluster, *, timeout_s: float, settings: Mapping[str, Any] | None = None
) -> None:
    """Return when all peers of `cluster` are there, reach one another and agree.

    UnreachablePeers names those that did not come, or that a peer does not reach; ConfigError the
    one that belongs to another cluster or has other `settings`. The chief of a parameter-server
    cluster must see servers, for it connects to them immediately; those start them afterwards.
    """
    if not cluster.peers:
        return
    meeting = _Meeting(cluster, Greeting.of(cluster, settings or {}))
    with _answering(cluster.address, meeting), meeting.calling():
        meeting.wait(timeout_s)


class _Meeting:
    """Knowledge of this process and its peers about one another; a thread calls each peer."""

    def __init__(self, cluster: Cluster, own: Greeting) -> None:
        self._cluster, self._own = cluster, own
        self._is_ps = cluster.kind is ClusterKind.PARAMETER_SERVER
        self._wants_servers = self._is_ps and cluster.is_chief
        self._answers: dict[str, Greeting | _Answer] = {}  # the newest of each peer
        self._heard: dict[str, Greeting] = {}  # the newest greeting of each peer
        self._refusal = ""
        self._changed = threading.Condition()
        self._closing = threading.Event()

    def encode(self) -> bytes:
        """The greeting as it is now."""
        with self._changed:
            heard = {name: peer.start for name, peer in self._heard.items()}
        missing = tuple(name for name in self._cluster.peers if name not in heard)
        return replace(self._own, heard=heard, missing=missing).encode()

    @contextmanager
    def calling(self) -> Iterator[None]:
        """Call every peer again and again, until the block ends."""
        for name, address in self._cluster.peers.items():
            # Looking up a name may block for longer than this process may wait.
            threading.Thread(target=self._keep_calling, args=(name, address), daemon=True).start()
        try:
            yield
        finally:
            self._closing.set()

    def _keep_calling(self, name: str, address: str) -> None:
        while not self._closing.is_set():
            answer = _call(address)
            difference = _difference(self._own, answer, called=name)
            with self._changed:
                self._answers[name] = answer
                if difference:
                    self._refusal = _explain_difference(self._cluster, name, address, difference)
                elif isinstance(answer, Greeting):
                    self._heard[name] = answer
                self._changed.notify()
            self._closing.wait(_PAUSE_S)

    def wait(self, timeout_s: float) -> None:
        """Return when this process can go on."""
        with self._changed:
            self._changed.wait_for(lambda: self._refusal or not self._obstacles(), timeout_s)
            refusal, obstacles = self._refusal, self._obstacles()
        if refusal:
            time.sleep(_LINGER_S)
            raise ConfigError(refusal)
        if obstacles:
            raise UnreachablePeers(_explain_obstacles(self._cluster, obstacles, timeout_s))
        time.sleep(_FAREWELL_S)

    def _obstacles(self) -> list[str]:
        """Why this process cannot go on, a reason for each peer that keeps it."""
        named = {name: self._obstacle(name) for name in self._cluster.peers}
        peers = self._cluster.peers
        return [f"{name} ({peers[name]}) {reason}" for name, reason in named.items() if reason]

    def _obstacle(self, name: str) -> str:
        answer, heard = self._answers.get(name), self._heard.get(name)
        if answer is _Answer.SERVER:
            # A training's processes go on together; servers of parameters outlive their chief.
            return "" if heard or self._is_ps else "serves a training that began before"
        if heard is None:
            return "is not reachable"
        # It may have ended for the same reason a moment ago.
        said = "answered, but did" if answer is _Answer.NOTHING else "answers, but does"
        if heard.heard.get(self._own.name) != self._own.start:
            return f"{said} not reach this process at {self._cluster.address}"
        if heard.missing:
            return f"{said} not reach {', '.join(heard.missing)}"
        return "answers, but has not started its server" if self._wants_servers else ""


def is_reachable(address: str) -> bool:
    """True where a process that waits for its peers, or TensorFlow's server, is at `address`."""
    return _call(address) is not _Answer.NOTHING


def _call(address: str) -> Greeting | _Answer:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S) as peer:
            first = peer.recv(len(_MAGIC), socket.MSG_WAITALL)
            if (first[:1], first[3:]) == _HTTP2_SETTINGS:
                return _Answer.SERVER
            if first != _MAGIC:
                return _Answer.NOTHING
            with peer.makefile("rb") as stream:
                text = stream.readline(_LIMIT_BYTES)
    except OSError:
        return _Answer.NOTHING
    if text and not text.endswith(b"\n"):
        return _Answer.NOTHING  # cut off; it is called again
    try:
        return Greeting(**json.loads(text))
    except (ValueError, TypeError):
        return _Answer.UNREADABLE


def _difference(own: Greeting, answer: Greeting | _Answer, *, called: str) -> str:
    if isinstance(answer, Greeting):
        return own.find_difference(answer, called=called)
    return "another version of yt8m answers there" if answer is _Answer.UNREADABLE else ""


@contextmanager
def _answering(address: str, meeting: _Meeting) -> Iterator[None]:
    """Greet whoever connects to this process's port, until TensorFlow's server takes it."""
    with _listener(address) as listener:
        closing = threading.Event()
        thread = threading.Thread(target=_greet, args=(listener, meeting, closing), daemon=True)
        thread.start()
        try:
            yield
        finally:
            closing.set()
            listener.shutdown(socket.SHUT_RDWR)  # closing alone would not wake the thread
            thread.join()


def _greet(listener: socket.socket, meeting: _Meeting, closing: threading.Event) -> None:
    while not closing.is_set():
        try:
            peer, _ = listener.accept()
        except OSError:  # shut down, or for a moment no more files can be opened
            closing.wait(_PAUSE_S)
            continue
        with peer, suppress(OSError):
            peer.settimeout(_CONNECT_S)  # one that does not read must not keep the others waiting
            peer.sendall(meeting.encode())


def _listener(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    try:
        return _bind(_own_host(host.strip("[]")), int(port))
    except OSError as error:
        raise Yt8mError(
            f"port {port} of this process ({address} in TF_CONFIG) cannot be opened: "
            f"{error.strerror}; is another process using it?"
        ) from error


def _own_host(host: str) -> str:
    """Where to listen: a loopback address, or everywhere, for it may be a service's address."""
    if host == "localhost":
        return LOOPBACK
    with suppress(ValueError):
        return host if ipaddress.ip_address(host).is_loopback else ""
    return ""


def _bind(host: str, port: int) -> socket.socket:
    if host:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=128)
    if socket.has_dualstack_ipv6():
        with suppress(OSError):  # the machine may have no IPv6, or the port may be taken
            return socket.create_server(
                ("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=128
            )
    return socket.create_server(("", port), backlog=128)


def _explain_obstacles(cluster: Cluster, obstacles: Sequence[str], timeout_s: float) -> str:
    return (
        f"{cluster}: the processes have not all reached one another within {timeout_s:g} s: "
        f"{'; '.join(obstacles)}. Look at that process's log; all processes must run at the same "
        "time, each with its own TF_CONFIG, and reach each other at the addresses in it, in both "
        "directions (check names, services, network policies and ports that other programs use; "
        "trainer.distribution.peer_timeout_s is the time to wait)"
    )


def _explain_difference(cluster: Cluster, name: str, address: str, difference: str) -> str:
    return (
        f"{cluster}: {name} ({address} in TF_CONFIG) does not belong to this training: "
        f"{difference}. All processes must be given the same cluster and the same configuration"
    )
