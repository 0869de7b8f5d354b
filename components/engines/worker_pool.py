"""A pool of Python workers beside an engine's task manager, for EXTERNAL environments.

    yt8m-beam-worker-pool [--service_port=50000] [--host=localhost]

Beam's own pool starts Python for each worker of each stage, which imports TensorFlow and TFX each
time. This one imports them once and forks: a worker starts immediately, and those of one machine
share that memory. It listens where it is told, not on all interfaces.
"""

from __future__ import annotations

import argparse
import errno
import multiprocessing
import signal
import socket
import threading
import time
import traceback
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import wait
from typing import Any

from yt8m.components.engines.worker import work

# What the stages of a run use. None of it starts TensorFlow's or gRPC's threads on import, which
# no fork survives.
_IMPORTED_ONCE = (
    "apache_beam.runners.worker.sdk_worker_main",
    "tensorflow_data_validation",
    "tensorflow_transform.beam",
    "tfx.components.statistics_gen.executor",
    "tfx.components.transform.executor",
    "yt8m.components.evaluator.executor",
    "yt8m.components.example_gen.executor",
)
_FORKED = multiprocessing.get_context("forkserver")
_GRACE_S = 10.0
_LOOK_S = 0.2
# localhost is ::1 as well, also where there is no IPv6.
_NO_SUCH_ADDRESS = (errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT)


def main(argv: Sequence[str] | None = None) -> None:
    """Serve until told to end; what was started ends with it."""
    parser = argparse.ArgumentParser(
        prog="yt8m-beam-worker-pool",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    port_help = "as Beam's own pool calls it (50000)"
    parser.add_argument(
        "--service_port", "--service-port", type=int, default=50000, metavar="N", help=port_help
    )
    parser.add_argument("--host", default="localhost", help="where it listens (localhost)")
    args = parser.parse_args(argv)
    address = f"{args.host}:{args.service_port}"
    try:
        held = _hold(args.host, args.service_port)
    except OSError as error:
        reason = error.strerror or error
        parser.exit(1, f"error: nothing can listen at {address} ({reason}); --service_port=N\n")
    signals: list[int] = []  # an Event's lock may be taken when a handler asks for it
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: signals.append(number))
    _FORKED.set_forkserver_preload(list(_IMPORTED_ONCE))
    _start(_nothing).join()  # when everything is imported: whoever asks then need not wait
    import grpc
    from apache_beam.portability.api import beam_fn_api_pb2_grpc

    pool = WorkerPool()
    server = grpc.server(ThreadPoolExecutor(), options=[("grpc.so_reuseport", 0)])
    beam_fn_api_pb2_grpc.add_BeamFnExternalWorkerPoolServicer_to_server(pool, server)
    server.add_insecure_port(address)
    server.start()
    for one in held:
        one.close()
    print(f"starts workers for whoever asks at {address}", flush=True)
    while not signals:
        time.sleep(_LOOK_S)
    server.stop(None)
    pool.stop_all()


class WorkerPool:
    """Beam's service of that name: starts and ends workers, each a process of its own.

    One that dies by itself is replaced once. Of the first, its engine may not have heard yet, and
    would wait for it for ever; an engine that has heard of it ends the second one with its job.
    """

    def __init__(self) -> None:
        self._workers: dict[str, Any] = {}
        self._changes = threading.Lock()

    def StartWorker(self, request: Any, context: Any) -> Any:  # noqa: N802  (gRPC's)
        from apache_beam.portability.api import beam_fn_api_pb2

        del context
        try:
            # One of that name whose engine was lost before it could end it.
            self._stop(request.worker_id)
            arguments = (request.worker_id, request.provision_endpoint.url)
            worker = self._workers[request.worker_id] = _start(work, *arguments)
            threading.Thread(target=self._replace, args=(worker, *arguments), daemon=True).start()
        except Exception:  # the engine's log is where somebody looks
            return beam_fn_api_pb2.StartWorkerResponse(error=traceback.format_exc())
        return beam_fn_api_pb2.StartWorkerResponse()

    def StopWorker(self, request: Any, context: Any) -> Any:  # noqa: N802
        from apache_beam.portability.api import beam_fn_api_pb2

        del context
        self._stop(request.worker_id)
        return beam_fn_api_pb2.StopWorkerResponse()

    def stop_all(self) -> None:
        for name in list(self._workers):
            self._stop(name)

    def _replace(self, worker: Any, name: str, engine: str) -> None:
        """When it has died, and nobody ended it."""
        wait([worker.sentinel])
        with self._changes:
            nobody_ended_it = self._workers.get(name) is worker
            if nobody_ended_it and worker.exitcode:
                print(f"worker {name} died ({worker.exitcode}), and is started again", flush=True)
                self._workers[name] = _start(work, name, engine)

    def _stop(self, name: str) -> None:
        with self._changes:
            worker = self._workers.pop(name, None)
        if worker is None:
            return
        worker.terminate()
        worker.join(_GRACE_S)
        if worker.is_alive():
            worker.kill()
            worker.join()


def _hold(host: str, port: int) -> list[socket.socket]:
    """Keep others from the port until gRPC listens at it; OSError where it is not to be had.

    The system gives such ports to whoever connects to anything. These do not listen: an engine
    that meets a pool takes it for one that is ready.
    """
    held: list[socket.socket] = []
    unknown: OSError | None = None
    for family, kind, protocol, _, address in socket.getaddrinfo(
        host, port, type=socket.SOCK_STREAM
    ):
        try:
            one = socket.socket(family, kind, protocol)
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as gRPC, so that it may
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind(address)
        except OSError as error:
            if error.errno not in _NO_SUCH_ADDRESS:
                raise
            unknown = error
        else:
            held.append(one)
    if unknown and not held:
        raise unknown
    return held


def _start(target: Any, *arguments: str) -> Any:
    process = _FORKED.Process(target=target, args=arguments)
    process.start()
    return process


def _nothing() -> None:
    """Do nothing: a first process, which exists when everything is imported."""


if __name__ == "__main__":
    main()
