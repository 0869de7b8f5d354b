"""A Python worker of a Beam runner, started by PROCESS environments and by worker pools.

Beam's own boot program is written in Go, comes in its images alone and installs packages by pip.
This one runs in the environment that it is installed in, which has everything.

    yt8m-beam-worker --id=1-1 --provision_endpoint=HOST:PORT
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from typing import Any

_MESSAGE_BYTES = 1 << 20


def main(argv: Sequence[str] | None = None) -> None:
    """Work for the engine that started this process, until it ends it."""
    parser = argparse.ArgumentParser(prog="yt8m-beam-worker", description=__doc__)
    parser.add_argument("--id", required=True)
    parser.add_argument("--provision_endpoint", required=True)
    # Engines differ in whether they tell these here, too; the provision service knows both.
    given, _ = parser.parse_known_args(argv)
    work(given.id, given.provision_endpoint)


def work(worker_id: str, provision_endpoint: str) -> None:
    """As `main`, in a process that has its words already."""
    os.environ |= environment(provision_info(provision_endpoint, worker_id), worker_id)
    from apache_beam.runners.worker import sdk_worker_main

    send_small_messages()
    sdk_worker_main.main(["yt8m-beam-worker"])


def send_small_messages() -> None:
    """Of 1 MB, where Beam's are of 10.

    Its Java side keeps up to 100 of them when it is the slower one, which is a task manager's whole
    memory. Beam has no option for it, but a limit of time, whose thread cuts records in two.
    """
    from apache_beam.runners.worker import data_plane

    def create(close_callback: Any, flush_callback: Any, data_buffer_time_limit_ms: int) -> Any:
        del data_buffer_time_limit_ms
        return data_plane.SizeBasedBufferingClosableOutputStream(
            close_callback, flush_callback=flush_callback, size_flush_threshold=_MESSAGE_BYTES
        )

    data_plane.ClosableOutputStream.create = staticmethod(create)
    data_plane._DEFAULT_SIZE_FLUSH_THRESHOLD = _MESSAGE_BYTES  # what is sent together


def environment(info: Any, worker_id: str) -> dict[str, str]:
    """The environment of Beam's worker, which its boot program would set."""
    from google.protobuf import json_format, text_format

    return {
        "WORKER_ID": worker_id,
        "PIPELINE_OPTIONS": json_format.MessageToJson(info.pipeline_options),
        "LOGGING_API_SERVICE_DESCRIPTOR": text_format.MessageToString(info.logging_endpoint),
        "CONTROL_API_SERVICE_DESCRIPTOR": text_format.MessageToString(info.control_endpoint),
        "RUNNER_CAPABILITIES": " ".join(info.runner_capabilities),
    }


def provision_info(endpoint: str, worker_id: str) -> Any:
    """The runner's information for a worker: options, and where control and logging are."""
    import grpc
    from apache_beam.portability.api import beam_provision_api_pb2 as messages
    from apache_beam.portability.api import beam_provision_api_pb2_grpc as services

    with grpc.insecure_channel(endpoint) as channel:
        answer = services.ProvisionServiceStub(channel).GetProvisionInfo(
            messages.GetProvisionInfoRequest(), metadata=(("worker_id", worker_id),), timeout=60
        )
    return answer.info


if __name__ == "__main__":
    main()
