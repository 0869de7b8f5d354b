"""What TensorFlow's own coordinator of asynchronous workers makes of errors.

Only the call to the workers is replaced: none is there.
"""

from types import SimpleNamespace

import pytest
import tensorflow as tf
from tensorflow.python.distribute.coordinator import cluster_coordinator
from tensorflow.python.eager import context

from yt8m.components.compat import translate_worker_errors
from yt8m.components.trainer.cluster.errors import as_lost_peer


def removed(job):
    """As gRPC says it where a server was started again at its address."""
    return tf.errors.UnknownError(
        None,
        None,
        "Stream removed\nAdditional GRPC error information from remote target "
        f"/job:{job}/replica:0/task:1 while calling /tensorflow.WorkerService/GetStatus:\n"
        ':{"grpc_message":"Stream removed","grpc_status":2}',
    )


def gone(job):
    return tf.errors.UnavailableError(None, None, f"Socket closed: /job:{job}/replica:0/task:1")


@pytest.fixture
def handler():
    strategy = SimpleNamespace(_num_workers=1, _num_ps=1)
    cluster = cluster_coordinator.Cluster(strategy)
    translate_worker_errors(SimpleNamespace(_cluster=cluster), as_lost_peer)
    yield cluster.failure_handler
    cluster.stop()


@pytest.fixture
def connecting(monkeypatch):
    """The errors that connecting to the workers anew ends with, one after the other; then none."""
    errors = []

    def connect(self, server_def):
        if errors:
            raise errors.pop(0)

    monkeypatch.setattr(context.Context, "update_server_def", connect)
    return errors


@pytest.mark.parametrize(
    "error",
    [
        gone("worker"),
        removed("worker"),
        cluster_coordinator.ClosureInputError(removed("worker")),
        cluster_coordinator.ClosureAbortedError(removed("worker")),
    ],
)
def test_a_worker_that_was_started_again_is_waited_for(handler, connecting, error):
    connecting += [removed("worker"), gone("worker"), removed("worker")]
    with handler.wait_on_failure():
        raise error
    assert not connecting


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (removed("ps"), tf.errors.UnavailableError),
        (tf.errors.UnknownError(None, None, "KeyError on /job:worker"), tf.errors.UnknownError),
        (tf.errors.InvalidArgumentError(None, None, "shapes"), tf.errors.InvalidArgumentError),
    ],
)
def test_what_no_worker_can_mend_ends_the_training(handler, connecting, error, raised):
    with pytest.raises(raised), handler.wait_on_failure():
        raise error
