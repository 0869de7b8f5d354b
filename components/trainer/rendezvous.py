"""Whether the other processes of a cluster are there, checked before TensorFlow waits for them.

TensorFlow waits for a missing peer without end or word. Here each process answers at its own port,
and goes on when every peer has answered it; one that never does ends in an error that names it. An
open port is not enough: another program's, a proxy's or that of a process which hangs is open too.
"""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from yt8m.components.trainer.tf_config import Cluster
from yt8m.schemas.errors import Yt8mError

_PAUSE_S = 0.2
_CONNECT_S = 2.0
_GREETING = b"yt8m"
# A gRPC server speaks first: a short frame, whose fourth byte is its type.
_HTTP2_SETTINGS = (b"\x00", b"\x04")


class UnreachablePeers(Yt8mError):  # noqa: N818  (names what was found)
    """Peers did not appear in time, or disappeared."""


def wait_for_peers(cluster: Cluster, *, timeout_s: float) -> None:
    """Return when all peers of `cluster` are reachable; UnreachablePeers names those that are not.

    The processes of MultiWorkerMirrored all wait like this. Of a parameter-server cluster only the
    chief does: it must see servers, not processes that wait, for it connects to them at once.
    """
    missing = dict(cluster.peers)
    if not missing:
        return
    deadline = time.monotonic() + timeout_s
    with _answering(cluster.address):
        while missing:
            for name, address in list(missing.items()):
                if is_reachable(address):
                    del missing[name]
                elif time.monotonic() > deadline:
                    raise UnreachablePeers(_explain(cluster, missing, timeout_s))
            if missing:
                time.sleep(_PAUSE_S)


def is_reachable(address: str) -> bool:
    """True where a process that waits for its peers, or TensorFlow's server, is at `address`."""
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_S) as peer:
            said = peer.recv(len(_GREETING), socket.MSG_WAITALL)
    except OSError:
        return False
    return said == _GREETING or (said[:1], said[3:]) == _HTTP2_SETTINGS


@contextmanager
def _answering(address: str) -> Iterator[None]:
    """Greets whoever asks at this process's own port, until TensorFlow's server takes it over."""
    with _listener(address) as listener:
        closing = threading.Event()
        thread = threading.Thread(target=_greet, args=(listener, closing), daemon=True)
        thread.start()
        try:
            yield
        finally:
            closing.set()
            listener.shutdown(socket.SHUT_RDWR)  # closing alone would not wake the thread
            thread.join()


def _greet(listener: socket.socket, closing: threading.Event) -> None:
    while not closing.is_set():
        try:
            peer, _ = listener.accept()
        except OSError:  # shut down, or for a moment no more files can be opened
            closing.wait(_PAUSE_S)
            continue
        with peer, suppress(OSError):
            peer.sendall(_GREETING)


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


def _explain(cluster: Cluster, missing: Mapping[str, str], timeout_s: float) -> str:
    named = ", ".join(f"{name} ({address})" for name, address in missing.items())
    return (
        f"{cluster}: not reachable within {timeout_s:g} s: {named}. Look at that process's log; "
        "all processes must run at the same time, each with its own TF_CONFIG, and a port at which "
        "something else listens does not count "
        "(trainer.distribution.peer_timeout_s is the time to wait)"
    )
