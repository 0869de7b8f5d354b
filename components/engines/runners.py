"""Beam's portable runners, as this pipeline uses them; `--runner` names them by their paths.

They read what TFX reads so that all workers share it, they cancel the engine's job when this
process is told to end, and they say what was lost when an engine's program dies. A stage that has
lost a worker is started once more. Flink's own retries are not used for it: they repeat failures of
the work itself, too, and wait for five minutes where no task manager takes the lost one's place.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import grpc
from apache_beam.io.tfrecordio import ReadFromTFRecord
from apache_beam.options.pipeline_options import (
    FlinkRunnerOptions,
    PipelineOptions,
    PortableOptions,
)
from apache_beam.portability.api import beam_job_api_pb2, beam_runner_api_pb2
from apache_beam.runners.portability import flink_runner, portable_runner, spark_runner
from apache_beam.runners.runner import PipelineState

from yt8m.components.engines import flink_jobs
from yt8m.components.engines.shared_read import SharedRead
from yt8m.components.engines.standstill import standstill_named
from yt8m.schemas.errors import Yt8mError

_log = logging.getLogger(__name__)
_CANCEL_S = 8.0  # twice, which is less than a run has after a signal
_REPLACED_S = 30.0  # Kubernetes starts a task manager again in less, and a pool has loaded
_POOL_ASKED_S = 3.0
_AGAIN = "start it again and repeat the command: it continues"
# As Flink tells of a task manager that is gone, and Beam of workers that are.
_TASK_MANAGER = re.compile(
    r"TaskManager with id (\S+)|task manager '[^'\[]*\[ ?([^\s\]]+) ?\]"
    # Of a task that it was to begin: its address, for the message has no name.
    r"|TaskExecutorGateway.*? to recipient \[Actor\[[^@\]]*@([^/\]]+)/.*? recipient is unreachable"
)
_LOST_WORKER = re.compile(r"call already cancelled|[Cc]lient cancelled|Process died with exit code")
_ENDED_ITSELF = "The TaskExecutor is shutting down"
# The task managers' own calls go to pools alone. What gRPC's Java says after the status depends on
# the moment at which the pool ended: before the two greeted each other, meanwhile, or later.
_NO_POOL = re.compile(r"StatusRuntimeException: UNAVAILABLE\b")
_NO_POOL_ANSWERS = "no worker pool answers the engine's workers"


class _EngineJob(portable_runner.PipelineResult):
    """A job that ends when its command is told to end, and whose failures have names.

    Where it loses a worker, `start_again` starts another in its place. Of that one `pools_until`
    says how long worker pools may still be loading.
    """

    def __init__(
        self,
        started: portable_runner.PipelineResult,
        options: PortableOptions,
        start_again: Callable[[float], _EngineJob],
        pools_until: float | None,
    ) -> None:
        super().__init__(
            started._job_service, started._job_id, *_followed(started), started._cleanup_callbacks
        )
        started._cleanup_callbacks = ()  # which Beam calls again at exit, and says so
        self._endpoint = options.job_endpoint
        self._flink_master = options.view_as(FlinkRunnerOptions).flink_master or ""
        self._workers = f"{options.environment_type} {options.environment_config or ''}".strip()
        self._start_again, self._pools_until = start_again, pools_until
        self._slots = 0
        if self._knows_flink:
            self._slots = flink_jobs.slots(flink_jobs.task_managers(self._flink_master))

    def wait_until_finish(self, duration: int | None = None) -> Any:
        try:
            with self._watched():
                return super().wait_until_finish(duration)
        except grpc.RpcError as error:
            raise Yt8mError(_lost_job_server(self._endpoint)) from error
        except RuntimeError as error:
            message = f"{error}\n{self._failure_told_by_flink()}"
            if (lost := lost_part(message, workers=self._workers)) is None:
                raise
            if (pools_until := self._is_started_again(lost)) is None:
                raise Yt8mError(f"{lost}; {_AGAIN}") from error
        except BaseException:  # a signal
            self._cancel_and_wait()
            raise
        return self._start_again(pools_until).wait_until_finish(duration)

    def _watched(self) -> AbstractContextManager[None]:
        if not self._knows_flink:
            return nullcontext()
        return standstill_named(self._flink_master, self._name_in_flink)

    def _is_started_again(self, lost: str) -> float | None:
        """`pools_until` of the job in this one's place; None where there is none.

        A task manager comes back before the pool beside it, which loads for some seconds. A job
        that finds no pool has done nothing, and is no further attempt.
        """
        if self._pools_until is None:
            _log.warning("%s; the stage restarts when another one has replaced it", lost)
            return time.monotonic() + _REPLACED_S if self._is_replaced() else None
        if lost.startswith(_NO_POOL_ANSWERS) and time.monotonic() < self._pools_until:
            time.sleep(_POOL_ASKED_S)
            return self._pools_until
        return None

    def _is_replaced(self) -> bool:
        """Whether the engine has as many workers as before, after a while."""
        if not self._knows_flink:
            return True
        return flink_jobs.are_there(self._flink_master, self._slots, wait_s=_REPLACED_S)

    def _cancel_and_wait(self) -> None:
        """What the job holds is free for the next run, or it is not there any more."""
        deadline = time.monotonic() + _CANCEL_S
        try:
            self.cancel()
            while not PipelineState.is_terminal(self.state) and time.monotonic() < deadline:
                time.sleep(0.1)
        except grpc.RpcError as error:
            _log.warning("the job server %s did not cancel the job: %s", self._endpoint, error)
        if self._knows_flink:
            flink_jobs.cancel(self._flink_master, self._name_in_flink, wait_s=_CANCEL_S)

    def _failure_told_by_flink(self) -> str:
        if not self._knows_flink:
            return ""
        return flink_jobs.failure(self._flink_master, self._name_in_flink)

    @property
    def _knows_flink(self) -> bool:
        return self._flink_master[:1] not in ("", "[")

    @property
    def _name_in_flink(self) -> str:
        return self._job_id.rpartition("_")[0]


def _followed(started: portable_runner.PipelineResult) -> tuple[Any, Any]:
    """The job's messages and states, to its end.

    Of a server that knows a job before it runs, as Prism does, Beam's own end after the time that
    `--job_server_timeout` gives a single answer, five minutes; and with them the job.
    """
    messages, states = started._message_stream, started._state_stream
    if messages.time_remaining() is None:
        return messages, states
    messages.cancel()
    job = started._job_id
    return (
        started._job_service.GetMessageStream(beam_job_api_pb2.JobMessagesRequest(job_id=job)),
        started._job_service.GetStateStream(beam_job_api_pb2.GetJobStateRequest(job_id=job)),
    )


def lost_part(message: str, *, workers: str) -> str | None:
    """Name the part that a failed job's message says was lost; None for another kind of failure."""
    if match := _TASK_MANAGER.search(message):
        return f"Flink's task manager {match[1] or match[2] or match[3]} was lost"
    if _ENDED_ITSELF in message:
        return (
            "one of Flink's task managers ended itself; its log says why (Java heap space: give it "
            "more taskmanager.memory.task.heap.size)"
        )
    if _NO_POOL.search(message):
        return f"{_NO_POOL_ANSWERS} ({workers})"
    if _LOST_WORKER.search(message):
        return (
            f"a Python worker of the engine was lost ({workers}); its pool's or its task manager's "
            "log says why"
        )
    return None


def _lost_job_server(endpoint: str | None) -> str:
    return f"the job server {endpoint or 'of this run'} was lost; {_AGAIN}"


class _Shared:
    """Common part of the three runners, before Beam's own class."""

    def apply(self, transform: Any, input: Any, options: PipelineOptions) -> Any:
        if isinstance(transform, ReadFromTFRecord):
            return SharedRead(transform._source._pattern.get()).expand(input.pipeline)
        return super().apply(transform, input, options)  # type: ignore[misc]  # Beam's class

    def run_portable_pipeline(
        self, pipeline: beam_runner_api_pb2.Pipeline, options: PipelineOptions
    ) -> _EngineJob:
        portable = options.view_as(PortableOptions)
        start = super().run_portable_pipeline  # type: ignore[misc]

        def job(pools_until: float | None) -> _EngineJob:
            own = beam_runner_api_pb2.Pipeline()  # Beam writes into it where LOOPBACK workers are
            own.CopyFrom(pipeline)
            try:
                return _EngineJob(start(own, options), portable, job, pools_until)
            except (grpc.RpcError, grpc.FutureTimeoutError) as error:  # while it ran, or before
                raise Yt8mError(_lost_job_server(portable.job_endpoint)) from error

        return job(None)


class FlinkRunner(_Shared, flink_runner.FlinkRunner):
    """Flink, through Beam's job server."""


class SparkRunner(_Shared, spark_runner.SparkRunner):
    """Spark, through Beam's job server."""


class PortableRunner(_Shared, portable_runner.PortableRunner):
    """Any other engine with a job server, Prism among them."""
