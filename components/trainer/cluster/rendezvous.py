"""Whether the other processes of a cluster are there, checked before TensorFlow waits for them.

TensorFlow waits for a missing peer without end or word, and believes any peer. Here each process
answers at its own port with a greeting: its role, its index, the cluster as it knows it and the
settings that all must share. It goes on when every peer has answered as TF_CONFIG says; one that
never does, or is another one, or is given something else, ends in an error that names it. An open
port is not enough: another program's, a proxy's or that of a process which hangs is open too.
"""

from __future__ import annotations

import enum
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from yt8m.components.trainer.tf_config import Cluster, ClusterKind
from yt8m.schemas.config_tree import flatten
from yt8m.schemas.errors import ConfigError, Yt8mError

_PAUSE_S = 0.2
_CONNECT_S = 2.0
_LINGER_S = 3.0  # a process that refuses a peer lets the peer see why, too
_MAGIC = b"yt8m"
_LIMIT_BYTES = 1 << 20
_SHOWN = 8  # differing settings
# A gRPC server speaks first: a short frame, whose fourth byte is its type.
_HTTP2_SETTINGS = (b"\x00", b"\x04")


class UnreachablePeers(Yt8mError):  # noqa: N818  (names what was found)
    """Peers did not appear in time, or disappeared."""


class _Answer(enum.Enum):
    """What is at an address, where it is no greeting."""

    NOTHING = "nothing"  # or something that is not of this cluster
    SERVER = "server"  # TensorFlow's: that process has been greeted, and is further on
    UNREADABLE = "unreadable"  # another version of this code


@dataclass(frozen=True, kw_only=True)
class Greeting:
    """What a process tells its peers."""

    name: str  # as in `chief 0`
    tasks: Mapping[str, str]  # address by name, of all that it knows
    is_sparse: bool = False  # it does not know all of them
    settings: Mapping[str, Any] = field(default_factory=dict)  # flat; all processes' must be equal

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
        return cls(name=name, tasks=tasks, is_sparse=cluster.is_sparse, settings=flat)

    def encode(self) -> bytes:
        return _MAGIC + json.dumps(vars(self)).encode() + b"\n"

    def find_difference(self, peer: Greeting, *, called: str) -> str:
        """Why `peer`, which answers where `called` should be, is not of this cluster; or empty."""
        if peer.name != called:
            itself = ", this process itself" if peer == self else ""
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
    """Return when all peers of `cluster` are there and agree with it.

    UnreachablePeers names those that did not come, ConfigError the one that is another's or is
    given other `settings`. The chief of a parameter-server cluster must see servers, not processes
    that wait, for it connects to them at once; those greet it first and then start their servers.
    """
    missing = dict(cluster.peers)
    if not missing:
        return
    own = Greeting.of(cluster, settings or {})
    wants_servers = cluster.kind is ClusterKind.PARAMETER_SERVER and cluster.is_chief
    deadline = time.monotonic() + timeout_s
    with _answering(cluster.address, own.encode()):
        while missing:
            for name, address in list(missing.items()):
                answer = _call(address)
                difference = _difference(own, answer, called=name)
                if difference:
                    time.sleep(_LINGER_S)
                    raise ConfigError(_explain_difference(cluster, name, address, difference))
                if answer is _Answer.SERVER or (
                    answer is not _Answer.NOTHING and not wants_servers
                ):
                    del missing[name]
                elif time.monotonic() > deadline:
                    raise UnreachablePeers(_explain_missing(cluster, missing, timeout_s))
            if missing:
                time.sleep(_PAUSE_S)


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
def _answering(address: str, greeting: bytes) -> Iterator[None]:
    """Greets whoever connects to this process's port, until TensorFlow's server takes it."""
    with _listener(address) as listener:
        closing = threading.Event()
        thread = threading.Thread(target=_greet, args=(listener, greeting, closing), daemon=True)
        thread.start()
        try:
            yield
        finally:
            closing.set()
            listener.shutdown(socket.SHUT_RDWR)  # closing alone would not wake the thread
            thread.join()


def _greet(listener: socket.socket, greeting: bytes, closing: threading.Event) -> None:
    while not closing.is_set():
        try:
            peer, _ = listener.accept()
        except OSError:  # shut down, or for a moment no more files can be opened
            closing.wait(_PAUSE_S)
            continue
        with peer, suppress(OSError):
            peer.settimeout(_CONNECT_S)  # one that does not read must not keep the others waiting
            peer.sendall(greeting)


def _listener(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    is_loopback = host in ("localhost", "127.0.0.1")
    try:
        # Elsewhere the address may be a service's, which is not this machine's.
        return socket.create_server(("127.0.0.1" if is_loopback else "", int(port)), backlog=128)
    except OSError as error:
        raise Yt8mError(
            f"port {port} of this process ({address} in TF_CONFIG) cannot be opened: "
            f"{error.strerror}; is another process using it?"
        ) from error


def _explain_missing(cluster: Cluster, missing: Mapping[str, str], timeout_s: float) -> str:
    named = ", ".join(f"{name} ({address})" for name, address in missing.items())
    return (
        f"{cluster}: not reachable within {timeout_s:g} s: {named}. Look at that process's log; "
        "all processes must run at the same time, each with its own TF_CONFIG, and a port at which "
        "something else listens does not count "
        "(trainer.distribution.peer_timeout_s is the time to wait)"
    )


def _explain_difference(cluster: Cluster, name: str, address: str, difference: str) -> str:
    return (
        f"{cluster}: {name} ({address} in TF_CONFIG) does not belong to this training: "
        f"{difference}. All processes must be given the same cluster and the same configuration"
    )
