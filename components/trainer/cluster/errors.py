"""TensorFlow's errors about other processes or the machine, in sentences that say what to do."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import tensorflow as tf

from yt8m.components.trainer.tf_config import Cluster, ClusterKind
from yt8m.schemas.errors import Yt8mError

_LOST_PEER = (
    tf.errors.UnavailableError,
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
)
# gRPC's words, as an error of unknown kind, where a peer's server was replaced behind its address.
_REMOVED, _OF_PEER = "Stream removed", "GRPC error information from remote target /job:"
# TensorFlow's errors end with the system's words for what its file system met.
_STORAGE = {
    os.strerror(number): advice
    for number, advice in {
        errno.ENOSPC: "make room there",
        errno.EDQUOT: "make room there, or raise the quota",
        errno.EFBIG: "allow larger files there (ulimit -f)",
        errno.EACCES: "give this user the right to read and write there",
        errno.EPERM: "give this user the right to read and write there",
        errno.EROFS: "mount it for writing",
        errno.EMFILE: "allow more open files (ulimit -n)",
        errno.EIO: "look at the disk or the mount",
        errno.ESTALE: "mount it again",
        errno.ENOTCONN: "mount it again",
        errno.ENODEV: "mount it again",
        errno.ENOENT: "something removed it, or its mount has gone: bring it back",
    }.items()
}


class StorageFault(Yt8mError):  # noqa: N818  (names what was found)
    """The machine's storage cannot be read or written; nothing is wrong with the training."""


def as_lost_peer(error: BaseException) -> BaseException:
    """Return gRPC's "Stream removed" as what it means, a peer that has gone; all else unchanged.

    gRPC says so of a call to a server that was started again at its address. TensorFlow retries
    most of these calls itself; its coordinator takes the others for errors of the program.
    """
    # What follows from another error has that one within.
    origin = cast("Any", getattr(error, "original_exception", error))
    words = str(origin)
    if isinstance(origin, tf.errors.UnknownError) and _REMOVED in words and _OF_PEER in words:
        return tf.errors.UnavailableError(origin.node_def, origin.op, origin.message)
    return error


@contextmanager
def ignoring_lost_peers() -> Iterator[None]:
    """For what only tells the others something: where one has gone, there is nobody to tell."""
    try:
        yield
    except tf.errors.OpError as error:
        if not _is_lost_peer(error):
            raise


@contextmanager
def explaining_lost_peers(cluster: Cluster) -> Iterator[None]:
    """TensorFlow's words for a dead peer as one sentence that says what to do."""
    try:
        yield
    except tf.errors.OpError as error:
        if cluster.kind is ClusterKind.LOCAL or not _is_lost_peer(error):
            raise
        raise Yt8mError(
            f"{cluster}: lost contact with another process of the cluster. Its log says why; start "
            "all processes again, and training continues from the newest checkpoint"
        ) from error


def _is_lost_peer(error: tf.errors.OpError) -> bool:
    return isinstance(as_lost_peer(error), _LOST_PEER)


@contextmanager
def explaining_storage_faults() -> Iterator[None]:
    """A full disk, a missing right or a mount that has gone as what they are."""
    try:
        yield
    except (tf.errors.OpError, OSError) as error:
        text = str(error if isinstance(error, OSError) else error.message)
        matches = [(words, advice) for words, advice in _STORAGE.items() if words in text]
        if not matches:
            raise
        words, advice = matches[0]
        where = next(line for line in text.splitlines() if words in line)
        raise StorageFault(
            f"storage: {where.strip()}. The machine is at fault, not the training: {advice}, and "
            "run the same command again, which continues from the newest checkpoint"
        ) from error
