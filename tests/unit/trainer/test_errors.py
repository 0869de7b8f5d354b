import errno
import os

import pytest
import tensorflow as tf

from yt8m.components.trainer.cluster.errors import StorageFault, explaining_storage_faults


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
