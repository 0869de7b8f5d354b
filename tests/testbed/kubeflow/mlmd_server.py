"""ML Metadata's gRPC service, which has no server here, from the library that Python brings.

Its extension has a function for each call of the service: bytes in, bytes and a status out.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any

import grpc
from ml_metadata.metadata_store.pywrap.metadata_store_extension import metadata_store as extension
from ml_metadata.proto import metadata_store_pb2 as mlmd

_STATUS = {code.value[0]: code for code in grpc.StatusCode}


class Metadata(grpc.GenericRpcHandler):
    """The store in a file of SQLite's."""

    def __init__(self, file: str) -> None:
        config = mlmd.ConnectionConfig()
        config.sqlite.filename_uri = file
        options = mlmd.MigrationOptions().SerializeToString()
        self._store = extension.CreateMetadataStore(config.SerializeToString(), options)
        self._lock = threading.Lock()

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        function = getattr(extension, details.method.rpartition("/")[2], None)
        if function is None:
            return None  # gRPC then answers that the call is not implemented

        def answer(request: bytes, context: grpc.ServicerContext) -> bytes:
            with self._lock:
                response, message, code = function(self._store, request)
            if code:
                context.abort(_STATUS[code], message.decode())
            return bytes(response)

        return grpc.unary_unary_rpc_method_handler(answer)


class EmptyCache(grpc.GenericRpcHandler):
    """Answers each call with an empty message: Kubeflow's table of tasks, with nothing in it."""

    def service(self, details: grpc.HandlerCallDetails) -> Any:
        return grpc.unary_unary_rpc_method_handler(lambda request, context: b"")


@contextmanager
def serving(place: str, calls: grpc.GenericRpcHandler) -> Iterator[None]:
    """At `place` (host:port), until the block ends."""
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers([calls])
    assert server.add_insecure_port(place), place
    server.start()
    try:
        yield
    finally:
        server.stop(None).wait()
