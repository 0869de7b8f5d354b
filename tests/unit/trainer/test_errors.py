import errno
import os

import pytest
import tensorflow as tf

from yt8m.components.trainer.cluster.errors import (
    StorageFault,
    explaining_lost_peers,
    explaining_storage_faults,
)
from yt8m.components.trainer.tf_config import Cluster
from yt8m.schemas.errors import Yt8mError


def raised(error):
    with explaining_storage_faults():
        raise error


PATH = "/data/root/checkpoints/ckpt-4_temp/part-00000.data"
STORAGE = [
    (tf.errors.ResourceExhaustedError, errno.ENOSPC, "make room there"),
    (tf.errors.PermissionDeniedError, errno.EACCES, "the right to read and write"),
    (tf.errors.PermissionDeniedError, errno.EROFS, "mount it for writing"),
    (tf.errors.UnknownError, errno.EIO, "look at the disk or the mount"),
    (tf.errors.UnknownError, errno.ESTALE, "mount it again"),
    (tf.errors.FailedPreconditionError, errno.ENOTCONN, "mount it again"),
    (tf.errors.NotFoundError, errno.ENOENT, "bring it back"),
]


@pytest.mark.parametrize(("kind", "number", "advice"), STORAGE)
def test_what_the_machines_storage_refuses_is_called_that_with_path_and_advice(
    kind, number, advice
):
    text = f"{PATH}; {os.strerror(number)} [Op:SaveV2]"
    with pytest.raises(StorageFault, match=f"{PATH}.*{os.strerror(number)}.*{advice}") as error:
        raised(kind(None, None, text))
    assert error.value.exit_code == 1
    with pytest.raises(StorageFault, match=PATH):
        raised(OSError(number, os.strerror(number), PATH))


@pytest.mark.parametrize(
    "error",
    [
        tf.errors.ResourceExhaustedError(None, None, "OOM when allocating tensor"),
        tf.errors.NotFoundError(None, None, "Op type not registered 'X'"),
        OSError(errno.ECONNRESET, "Connection reset by peer"),
        ValueError("No space left on device"),
    ],
)
def test_other_errors_pass_unchanged(error):
    with pytest.raises(type(error)) as seen:
        raised(error)
    assert seen.value is error


REMOVED = (
    "Stream removed\nAdditional GRPC error information from remote target "
    "/job:ps/replica:0/task:0 while calling /tensorflow.eager.EagerService/Enqueue:\n"
)
TWO = '{"cluster": {"worker": ["h:1", "h:2"]}, "task": {"type": "worker", "index": 0}}'


@pytest.mark.parametrize(
    "error",
    [
        tf.errors.UnavailableError(None, None, "Socket closed"),
        tf.errors.UnknownError(None, None, REMOVED),
    ],
)
def test_a_peer_that_has_gone_is_called_that_in_a_cluster_alone(error):
    with pytest.raises(Yt8mError, match="lost contact with another process") as explained:
        lose(error, Cluster.from_env({"TF_CONFIG": TWO}))
    assert explained.value.exit_code == 1
    with pytest.raises(type(error)) as seen:
        lose(error, Cluster())
    assert seen.value is error


def test_an_error_of_the_program_is_no_lost_peer():
    error = tf.errors.UnknownError(None, None, "KeyError: 'Stream removed'")
    with pytest.raises(tf.errors.UnknownError) as seen:
        lose(error, Cluster.from_env({"TF_CONFIG": TWO}))
    assert seen.value is error


def lose(error, cluster):
    with explaining_lost_peers(cluster):
        raise error
