"""A check before a run that an address is a Beam job server, and of the options that it takes."""

from __future__ import annotations

from typing import Any

import grpc
from apache_beam.portability.api import beam_job_api_pb2, beam_job_api_pb2_grpc

from yt8m.components.engines.greeting import NoGreetingError, greet

_ANSWER_S = 60.0  # Beam's own: the first answer of a job server may wait for its classes


class NoJobServerError(Exception):
    """Something else is at the address; the message says what is known of it."""


def described_options(endpoint: str) -> list[Any]:
    """The options of its engine that the job server at `endpoint`, HOST:PORT, describes."""
    try:
        with grpc.insecure_channel(endpoint) as channel:
            greet(channel)
            answer = beam_job_api_pb2_grpc.JobServiceStub(channel).DescribePipelineOptions(
                beam_job_api_pb2.DescribePipelineOptionsRequest(), timeout=_ANSWER_S
            )
    except NoGreetingError as error:
        raise NoJobServerError(f"this is not a Beam job server: {error}") from error
    except grpc.RpcError as error:
        raise NoJobServerError(f"this is not a Beam job server ({error.code().name})") from error
    return list(answer.options)
