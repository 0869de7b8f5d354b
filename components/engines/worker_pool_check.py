"""A check before a run that a worker pool starts workers, by having it start one.

An engine waits for a worker that never comes, and what hinders it is said in the pool's log alone.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
from apache_beam.portability.api import (
    beam_fn_api_pb2,
    beam_fn_api_pb2_grpc,
    beam_provision_api_pb2,
    beam_provision_api_pb2_grpc,
)

from yt8m.components.engines.greeting import NoGreetingError, greet

PROBE = "yt8m-probe"
WAIT_S = 28.0


def fault_of_pool(address: str, *, wait_s: float = WAIT_S) -> str | None:
    """Describe the fault of the worker pool at `address`; None where a worker of it came."""
    engine = _Engine()
    server = grpc.server(ThreadPoolExecutor(max_workers=4))
    beam_fn_api_pb2_grpc.add_BeamFnControlServicer_to_server(engine, server)
    beam_fn_api_pb2_grpc.add_BeamFnLoggingServicer_to_server(_Logging(), server)
    beam_provision_api_pb2_grpc.add_ProvisionServiceServicer_to_server(engine, server)
    engine.url = f"localhost:{server.add_insecure_port('localhost:0')}"
    server.start()
    try:
        with grpc.insecure_channel(address) as channel:
            greet(channel)
            return _ask(beam_fn_api_pb2_grpc.BeamFnExternalWorkerPoolStub(channel), engine, wait_s)
    except NoGreetingError as error:
        return f"it is no worker pool: {error}"
    except grpc.RpcError as error:
        return f"it is no worker pool ({error.code().name})"
    finally:
        engine.done.set()
        server.stop(None)


def _ask(pool: Any, engine: _Engine, wait_s: float) -> str | None:
    request = beam_fn_api_pb2.StartWorkerRequest(worker_id=PROBE)
    for endpoint in ("control", "logging", "artifact", "provision"):
        getattr(request, f"{endpoint}_endpoint").url = engine.url
    try:
        answer = pool.StartWorker(request, timeout=wait_s)
        if answer.error:  # the last line of a traceback
            return f"it starts no worker: {answer.error.strip().splitlines()[-1]}"
        if not engine.came.wait(wait_s):
            return f"no worker of it came within {wait_s:.0f} s; its log says why"
        return None
    finally:
        pool.StopWorker(beam_fn_api_pb2.StopWorkerRequest(worker_id=PROBE), timeout=wait_s)


class _Engine(
    beam_fn_api_pb2_grpc.BeamFnControlServicer, beam_provision_api_pb2_grpc.ProvisionServiceServicer
):
    """As much of an engine as a worker asks before it has work."""

    url = ""

    def __init__(self) -> None:
        self.came, self.done = threading.Event(), threading.Event()

    def Control(self, request_iterator: Any, context: Any) -> Iterator[Any]:  # noqa: N802  (gRPC's)
        del request_iterator, context
        self.came.set()
        self.done.wait()
        return iter(())

    def GetProvisionInfo(self, request: Any, context: Any) -> Any:  # noqa: N802
        del request, context
        info = beam_provision_api_pb2.ProvisionInfo()
        info.control_endpoint.url = info.logging_endpoint.url = self.url
        return beam_provision_api_pb2.GetProvisionInfoResponse(info=info)


class _Logging(beam_fn_api_pb2_grpc.BeamFnLoggingServicer):
    def Logging(self, request_iterator: Any, context: Any) -> Iterator[Any]:  # noqa: N802
        del context
        for _ in request_iterator:
            pass
        return iter(())
