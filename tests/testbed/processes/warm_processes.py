"""Python processes that begin with TFX imported, forked from one that has done nothing else.

`Popen("-c", code, ...)` and `Popen("-m", module, ...)` stand for `python -c code ...` and
`python -m module ...` in processes of their own: own pid, signals, streams, environment, working
directory, exit code. Only the ten seconds of imports are not done again for each. What a test wants
to know of the imports themselves, or of another PYTHONPATH, it asks a process of `subprocess`.

One server for each process that asks; it ends with it. It has imported and run nothing, so its only
threads are those of OpenBLAS and jemalloc, which stop them for a fork.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import logging
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import IO, Any

from yt8m.components.console.leaving import Exit

# What the commands that run, train and judge import sooner or later.
_PRELOADED = (
    "tensorflow",
    "tf_keras",
    "tensorflow_transform",
    "tensorflow_data_validation",
    "tensorflow_model_analysis",
    "tfx.components",
    "tfx.components.statistics_gen.executor",
    "tfx.components.trainer.executor",
    "tfx.components.transform.executor",
    "tfx.orchestration.beam.beam_dag_runner",
    "tfx.orchestration.kubeflow.v2.container.kubeflow_v2_run_executor",
    "tfx.orchestration.local.local_dag_runner",
)
_MESSAGE_BYTES = 1 << 20
_STARTING_S = 300


class Popen:
    """As much of `subprocess.Popen([sys.executable, *words])` as tests use."""

    def __init__(
        self,
        *words: str,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        stdout: int | IO[Any] = subprocess.DEVNULL,
        stderr: int | IO[Any] = subprocess.DEVNULL,
    ) -> None:
        """The streams are files, DEVNULL or PIPE (read as text); standard input is empty."""
        self.args = [sys.executable, *map(str, words)]
        self.returncode: int | None = None
        self.stdout, out = _stream(stdout)
        self.stderr, err = (None, os.dup(out)) if stderr == subprocess.STDOUT else _stream(stderr)
        self._status, theirs = socket.socketpair()
        request = {
            "words": list(map(str, words)),
            "env": dict(os.environ if env is None else env),
            "cwd": str(cwd or Path.cwd()),
            "umask": _umask(),
        }
        files = [out, err, theirs.fileno()]
        socket.send_fds(_server(), [json.dumps(request).encode()], files)
        for file in (out, err):
            os.close(file)
        theirs.close()
        self.pid = self._told(_STARTING_S)

    def _told(self, timeout: float | None) -> int:
        """The next number from the server: first the pid, then how the process ended."""
        self._status.settimeout(timeout)
        told = self._status.recv(8)
        if not told:
            raise RuntimeError(f"the server of warm processes has ended:\n{_text(_said())}")
        return int.from_bytes(told, "big", signed=True)

    def poll(self) -> int | None:
        if self.returncode is None:
            try:
                self.returncode = self._told(0)
            except BlockingIOError:
                return None
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            try:
                self.returncode = self._told(timeout)
            except TimeoutError as error:
                raise subprocess.TimeoutExpired(self.args, timeout or 0) from error
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run(
    *words: str, env: Mapping[str, str] | None = None, cwd: Path | None = None, timeout: float
) -> subprocess.CompletedProcess[str]:
    """`subprocess.run([sys.executable, *words], capture_output=True, text=True)`."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = Popen(*words, env=env, cwd=cwd, stdout=out, stderr=err)
        try:
            code = process.wait(timeout)
        except BaseException:
            process.kill()
            process.wait()
            raise
        return subprocess.CompletedProcess(process.args, code, _text(out), _text(err))


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()


def _stream(wanted: int | IO[Any]) -> tuple[IO[str] | None, int]:
    """What the caller reads from, and what the process writes to."""
    if wanted == subprocess.PIPE:
        read, write = os.pipe()
        return os.fdopen(read, encoding="utf-8"), write
    if wanted == subprocess.DEVNULL:
        return None, os.open(os.devnull, os.O_WRONLY)
    return None, os.dup(wanted if isinstance(wanted, int) else wanted.fileno())


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@cache
def _said() -> IO[bytes]:
    """What the server says; no more than why it ends."""
    return tempfile.TemporaryFile()


@cache
def _server() -> socket.socket:
    """The connection to this process's server, which is started now."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    for end in (ours, theirs):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _MESSAGE_BYTES)
    environ = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", __file__, str(theirs.fileno())],
        pass_fds=[theirs.fileno()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=_said(),
        env={**environ, "TF_CPP_MIN_LOG_LEVEL": "2"},
        start_new_session=True,  # a Ctrl-C at the terminal is not for its children
    )
    theirs.close()
    atexit.register(process.wait)
    atexit.register(ours.close)
    return ours


def _serve(control: socket.socket) -> Callable[[], None]:
    """Fork a process for each request; in that process, return what it has to do."""
    for name in (*_PRELOADED, *_own_modules()):
        importlib.import_module(name)
    gc.freeze()  # else the first collection of every child copies all of it
    logging.root.handlers.clear()  # TFX's imports leave one, before which a command sets up its own
    events = selectors.DefaultSelector()
    events.register(control, selectors.EVENT_READ)
    while True:
        for key, _ in events.select():
            if key.data is not None:
                events.unregister(key.fd)
                _tell_the_end(key.fd, *key.data)
                continue
            message, files, *_ = socket.recv_fds(control, _MESSAGE_BYTES, 3)
            if not message:
                sys.exit(0)
            out, err, status = files
            pid = os.fork()
            if pid == 0:
                others = [key.data for key in events.get_map().values() if key.data is not None]
                for file in (status, *(status for _, status in others)):
                    os.close(file)
                events.close()
                control.close()
                return partial(_become, json.loads(message), out, err)
            _tell(status, pid)
            os.close(out)
            os.close(err)
            events.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, status))


def _own_modules() -> Iterator[str]:
    import yt8m

    for module in pkgutil.walk_packages(yt8m.__path__, "yt8m."):
        if not module.name.endswith("__main__"):
            yield module.name


def _tell(status: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # nobody waits for it any more
        os.write(status, number.to_bytes(8, "big", signed=True))


def _tell_the_end(process: int, pid: int, status: int) -> None:
    os.close(process)
    _tell(status, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    os.close(status)


def _become(request: dict[str, Any], out: int, err: int) -> None:
    """Be what was asked for, as if Python had been started so."""
    for file, standard in ((out, 1), (err, 2)):
        os.dup2(file, standard)
        os.close(file)
    os.umask(request["umask"])
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["env"])
    tempfile.tempdir = None  # it was found in the server's environment
    option, what, *arguments = request["words"]
    sys.argv = [option, *arguments]
    sys.path[0] = "" if option == "-c" else request["cwd"]
    sys.path[1:1] = [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p]
    if option == "-c":
        exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})
    else:
        runpy.run_module(what, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in a shell's background
    leave = Exit()
    try:
        _serve(socket.socket(fileno=int(sys.argv[1])))()
    except SystemExit as end:
        if not (end.code is None or isinstance(end.code, int)):
            raise
        leave(end.code or 0)
    leave(0)  # a child would copy all that the server has loaded, to take it apart
