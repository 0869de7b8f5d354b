"""What an engine's failure says was lost, and the environment that a worker is given."""

import pytest
from apache_beam.portability.api import beam_provision_api_pb2
from apache_beam.runners.worker import data_plane

from yt8m.components.engines.parallelism import is_elsewhere, parallelism_of
from yt8m.components.engines.runners import lost_part
from yt8m.components.engines.worker import environment, send_small_messages
from yt8m.pipeline.beam import beam_arguments
from yt8m.pipeline.config import BeamConfig, BeamRunner

# Each was met in a run, or is in gRPC's Java (1.60).
OF_A_POOL_THAT_ENDED = [
    "",
    ": io exception",
    ": Connection closed while performing protocol negotiation for [NettyClientHandler#0]",
    ": Connection closing while performing protocol negotiation for [NettyClientHandler#0]",
    ": Network closed for unknown reason",
    ": Connection reset by peer",
    ": Keepalive failed. The connection is likely gone",
    ": Unable to resolve host pool-0",
    ": Abrupt GOAWAY closed sent stream. HTTP/2 error code: NO_ERROR",
]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("The heartbeat of TaskManager with id tm-1 timed out.", "task manager tm-1 was lost"),
        ("TaskManager with id tm-0 is no longer reachable.", "task manager tm-0 was lost"),
        (
            "RecipientUnreachableException: Could not send message [RemoteRpcInvocation("
            "TaskExecutorGateway.submitTask(TaskDeploymentDescriptor, JobMasterId, Time))] from "
            "sender [Actor[pekko://flink/temp/taskmanager_0$Ff]] to recipient [Actor[pekko.tcp://"
            "flink@10.77.0.2:40851/user/rpc/taskmanager_0#302947005]], because the recipient is "
            "unreachable.",
            "task manager 10.77.0.2:40851 was lost",
        ),
        (
            "Lost connection to task manager 'localhost/127.0.0.1:36135 [ tm-0 ] '. This indicates "
            "that the remote task manager was lost.",
            "task manager tm-0 was lost",
        ),
        (
            "org.apache.flink.util.FlinkExpectedException: The TaskExecutor is shutting down.",
            "one of Flink's task managers ended itself; its log says why",
        ),
        *(
            (f"io.grpc.StatusRuntimeException: UNAVAILABLE{text}", "EXTERNAL localhost:50000")
            for text in OF_A_POOL_THAT_ENDED
        ),
        ("java.lang.IllegalStateException: Process died with exit code 1", "Python worker"),
    ],
)
def test_a_lost_part_is_named(message, said):
    text = lost_part(
        f"Pipeline x failed in state FAILED: {message}", workers="EXTERNAL localhost:50000"
    )
    assert text is not None
    assert said in text


@pytest.mark.parametrize(
    "error",
    [
        "ValueError: 3",
        "tensorflow.python.framework.errors_impl.UnavailableError: UNAVAILABLE: {{function_node}}",
        'grpc.RpcError: status = StatusCode.UNAVAILABLE details = "failed to connect"',
    ],
)
def test_a_failure_of_the_work_itself_is_told_as_it_is(error):
    assert lost_part(f"Error received from SDK harness: {error}", workers="PROCESS") is None


def test_a_worker_learns_its_job_from_the_engine():
    info = beam_provision_api_pb2.ProvisionInfo()
    info.control_endpoint.url, info.logging_endpoint.url = "localhost:1", "localhost:2"
    info.pipeline_options["beam:option:experiments:v1"] = "a"
    found = environment(info, "3-1")
    assert found["WORKER_ID"] == "3-1"
    assert found["CONTROL_API_SERVICE_DESCRIPTOR"].strip() == 'url: "localhost:1"'
    assert found["LOGGING_API_SERVICE_DESCRIPTOR"].strip() == 'url: "localhost:2"'
    assert '"beam:option:experiments:v1": "a"' in found["PIPELINE_OPTIONS"]


def test_a_worker_sends_messages_of_a_megabyte(monkeypatch):
    monkeypatch.setattr(data_plane, "_DEFAULT_SIZE_FLUSH_THRESHOLD", 10 << 20)
    monkeypatch.setattr(data_plane.ClosableOutputStream, "create", None)
    send_small_messages()
    channel = data_plane._GrpcDataChannel()
    stream = channel.output_stream("1", "a")
    for _ in range(300):
        stream.write(bytes(100 << 10))
        stream.maybe_flush()
    stream.close()
    channel.close()
    sent = [message.ByteSize() for message in channel._write_outputs()]
    assert sum(sent) > 300 * (100 << 10)
    assert max(sent) < 3 << 20  # what is over the limit, and what else waits to be sent


def test_parallelism_is_read_from_the_arguments():
    assert parallelism_of(["--runner=x", "--parallelism=4"]) == 4
    assert parallelism_of(["--runner=x"]) == parallelism_of(["--parallelism=-1"]) == 1
    assert parallelism_of(["--num_workers=3"]) == parallelism_of(["--direct_num_workers=3"]) == 3


def test_of_a_repeated_argument_the_last_counts():
    assert parallelism_of(["--parallelism=2", "--parallelism=4"]) == 4
    assert is_elsewhere(["--runner=DirectRunner", "--runner=FlinkRunner"])
    assert not is_elsewhere(["--runner=FlinkRunner", "--runner=DirectRunner"])


def test_an_engine_is_elsewhere_unless_it_is_the_one_in_this_process():
    for runner in (BeamRunner.FLINK, BeamRunner.SPARK, BeamRunner.PORTABLE, BeamRunner.DATAFLOW):
        assert is_elsewhere(beam_arguments(BeamConfig(runner=runner)))
    assert not is_elsewhere(beam_arguments(BeamConfig()))
    assert not is_elsewhere(["--runner=DirectRunner"])
    assert not is_elsewhere([])
