"""The network of pods that are processes: a namespace with a bridge, an address for each, and DNS.

with pod_network():            # this thread, and what it starts, sees nothing else any more
    plug_in(process.pid, address_of(1), number=1)
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dns import message, rcode, rdatatype, rrset

GATEWAY = "10.77.0.1"
_CLONE_NEWNET = 0x40000000
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
_libc = ctypes.CDLL(None, use_errno=True)


def address_of(number: int) -> str:
    """The address of the pod of this number, from 1 on."""
    assert 1 <= number < 250, "more pods than one test makes"
    return f"10.77.0.{number + 1}"


@contextmanager
def network_namespace() -> Iterator[None]:
    """One of its own for this thread and what it starts, with a loopback alone."""
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        _check(_libc.unshare(_CLONE_NEWNET))
        with socket.socket() as any_one:
            fcntl.ioctl(any_one, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))
        yield
    finally:
        _check(_libc.setns(before, _CLONE_NEWNET))
        os.close(before)


@contextmanager
def pod_network() -> Iterator[None]:
    """A network namespace of its own for this thread; the machine's is never touched."""
    with network_namespace():
        # A bridge without an address of its own changes it, and loses packets, whenever a pod goes.
        _ip("link add pods address 02:00:00:00:00:01 type bridge")
        _ip(f"addr add {GATEWAY}/24 dev pods")
        _ip("link set pods up")
        yield


def plug_in(pid: int, address: str, *, number: int) -> None:
    """Connect the namespace of process `pid` to the bridge, when it has left this thread's."""
    own = Path("/proc/thread-self/ns/net").readlink()
    while Path(f"/proc/{pid}/ns/net").readlink() == own:
        time.sleep(0.005)
    _ip(f"link add pod{number} type veth peer name eth0 netns {pid}")
    _ip(f"link set pod{number} master pods up")
    for words in ("link set lo up", f"addr add {address}/24 dev eth0", "link set eth0 up"):
        _run("nsenter", f"--net=/proc/{pid}/ns/net", "ip", *words.split())


def _ip(words: str) -> None:
    _run("ip", *words.split())


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stderr}"


def _check(code: int) -> None:
    if code:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


@contextmanager
def dns(look_up: Callable[[str], str | None]) -> Iterator[None]:
    """Answers pods' questions for names by `look_up`; a name that it does not know is refused."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind((GATEWAY, 53))
        thread = threading.Thread(target=_answer_all, args=(server, look_up))
        thread.start()
        try:
            yield
        finally:
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as last:
                last.sendto(b"", (GATEWAY, 53))
            thread.join()


def _answer_all(server: socket.socket, look_up: Callable[[str], str | None]) -> None:
    while True:
        question, client = server.recvfrom(512)
        if not question:
            return
        server.sendto(answer(question, look_up), client)


def answer(question: bytes, look_up: Callable[[str], str | None]) -> bytes:
    """The address, of who asks for one; that there is no such name, where it is unknown."""
    asked = message.from_wire(question)
    reply = message.make_response(asked, recursion_available=True)
    (wanted,) = asked.question
    address = look_up(wanted.name.to_text(omit_final_dot=True).lower())
    if not address:
        reply.set_rcode(rcode.NXDOMAIN)
    elif wanted.rdtype == rdatatype.A:
        reply.answer.append(rrset.from_text(wanted.name, 1, "IN", "A", address))
    return reply.to_wire()
