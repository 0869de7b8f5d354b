"""The tf.distribute strategy of a validated cluster."""

from __future__ import annotations

import faulthandler
import json
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tensorflow as tf

from yt8m.components.compat import (
    count_parameter_servers,
    limit_waiting,
    place_next_variable,
)
from yt8m.components.trainer.config import DevicePlacement, DistributionConfig, Precision
from yt8m.components.trainer.tf_config import VARIABLE, Cluster, ClusterKind, Role

_START_S = 30.0  # that TensorFlow may take on a busy machine once all processes have met
_log = logging.getLogger(__name__)
_BF16_FLAGS = ("avx512_bf16", "amx_bf16")
# oneDNN's own setting, in both of its spellings, and the words of those values that allow bfloat16.
_ONEDNN_LIMITS = ("ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA")
_ONEDNN_WITH_BF16 = ("ALL", "DEFAULT", "BF16", "FP16", "AMX", "AVX10")


def create_strategy(cluster: Cluster, config: DistributionConfig) -> tf.distribute.Strategy:
    """The strategy for `cluster`; peers must be reachable by now."""
    if cluster.kind is ClusterKind.PARAMETER_SERVER:
        return tf.distribute.ParameterServerStrategy(_resolver(cluster))
    if cluster.kind is ClusterKind.MULTI_WORKER:
        # The strategy's launcher reads TF_CONFIG by itself in places; both must say the same.
        described = cluster.to_tensorflow()
        os.environ[VARIABLE] = json.dumps(described)
        limit_waiting(
            {job: len(tasks) for job, tasks in described["cluster"].items()},
            start_s=config.peer_timeout_s,
            silence_s=config.heartbeat_timeout_s,
        )
        with _limited(cluster, timeout_s=max(config.peer_timeout_s, _START_S)):
            return tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=_resolver(cluster))
    devices = tf.config.list_logical_devices("GPU")
    if not devices and config.placement is DevicePlacement.MIRRORED:
        devices = tf.config.list_logical_devices("CPU")
    devices = devices[: config.max_devices]
    if config.placement is not DevicePlacement.ONE_DEVICE and len(devices) > 1:
        return tf.distribute.MirroredStrategy([device.name for device in devices])
    return tf.distribute.get_strategy()


@contextmanager
def _limited(cluster: Cluster, *, timeout_s: float) -> Iterator[None]:
    """End this process if the block takes longer, which waits for all processes.

    TensorFlow never comes back from it if one of them has ended meanwhile, and lets no thread of
    Python run: a message can only come before.
    """
    _log.info(
        "%s: all processes are connected and start TensorFlow; if one of them ends now, this "
        "one ends within %g s. The other's log says why; start all of them again",
        cluster,
        timeout_s,
    )
    faulthandler.dump_traceback_later(timeout_s, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


def name_of(strategy: tf.distribute.Strategy) -> str:
    """The strategy's usual name; some of TensorFlow's classes have other names."""
    if isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
        return "MultiWorkerMirroredStrategy"
    has_one = strategy.num_replicas_in_sync == 1 and local_replicas(strategy) == 1
    is_ps = isinstance(strategy, tf.distribute.ParameterServerStrategy)
    return "one device" if has_one and not is_ps else type(strategy).__name__


def create_server(cluster: Cluster) -> tf.distribute.Server:
    """The server that a ps or a worker of a parameter-server cluster is."""
    described = cluster.to_tensorflow()
    return tf.distribute.Server(
        tf.train.ClusterSpec(described["cluster"]),
        job_name=described["task"]["type"],
        task_index=cluster.index,
        protocol="grpc",
        start=True,
    )


def local_replicas(strategy: tf.distribute.Strategy) -> int:
    """How many replicas this process computes."""
    is_default = not tf.distribute.has_strategy() and strategy is tf.distribute.get_strategy()
    if is_default or isinstance(strategy, tf.distribute.ParameterServerStrategy):
        return 1
    return len(strategy.extended.worker_devices)


@contextmanager
def variable_scope(strategy: tf.distribute.Strategy) -> Iterator[None]:
    """Where networks and optimisers are created: greedy placement by size on parameter servers."""
    is_ps = isinstance(strategy, tf.distribute.ParameterServerStrategy)
    creator = _BySize(strategy) if is_ps else _read_as_first_replica
    with strategy.scope(), tf.variable_creator_scope(creator):
        yield


# Any: TensorFlow's variable creators have no public type.
def _read_as_first_replica(next_creator: Any, **kwargs: Any) -> Any:
    """Moving averages, which the step makes equal in all replicas, need no mean when saved.

    The mean of equal numbers need not be that number, to the last bit.
    """
    if kwargs.get("synchronization") is tf.VariableSynchronization.ON_READ:
        kwargs["aggregation"] = tf.VariableAggregation.ONLY_FIRST_REPLICA
    return next_creator(**kwargs)


class _BySize:
    """Steers the strategy's round robin to the server with the fewest bytes so far."""

    def __init__(self, strategy: tf.distribute.ParameterServerStrategy) -> None:
        self._strategy = strategy
        self._bytes = [0] * count_parameter_servers(strategy)

    def __call__(self, next_creator: Any, **kwargs: Any) -> Any:
        if kwargs.get("colocate_with") is not None:
            return next_creator(**kwargs)
        lightest = self._bytes.index(min(self._bytes))
        place_next_variable(self._strategy, lightest)
        variable = next_creator(**kwargs)
        self._bytes[lightest] += variable.shape.num_elements() * variable.dtype.size
        return variable


def compute_dtype(precision: Precision) -> str:
    """The type in which matrices are multiplied on this machine."""
    if precision is Precision.AUTO:
        return "bfloat16" if multiplies_bf16() else "float32"
    return "bfloat16" if precision is Precision.BF16 else "float32"


def multiplies_bf16() -> bool:
    """True where the devices have instructions for bfloat16 products."""
    gpus = tf.config.list_physical_devices("GPU")
    if gpus:
        details = tf.config.experimental.get_device_details(gpus[0])
        return tuple(details.get("compute_capability", (0, 0))) >= (8, 0)
    if not _onednn_allows_bf16():
        return False
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    flags = next((line.split() for line in text.splitlines() if line.startswith("flags")), [])
    return any(flag in flags for flag in _BF16_FLAGS)


def _onednn_allows_bf16() -> bool:
    """False where oneDNN is limited to older instructions: TensorFlow would abort the process.

    TensorFlow asks the processor, and not oneDNN, whether oneDNN multiplies bfloat16.
    """
    limits = (os.environ.get(name, "").upper() for name in _ONEDNN_LIMITS)
    return all(not limit or any(w in limit for w in _ONEDNN_WITH_BF16) for limit in limits)


def _resolver(cluster: Cluster) -> tf.distribute.cluster_resolver.ClusterResolver:
    described = cluster.to_tensorflow()
    return tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec(described["cluster"]),
        task_type=Role.CHIEF.value
        if cluster.is_chief and cluster.role is not Role.WORKER
        else described["task"]["type"],
        task_id=cluster.index,
        rpc_layer="grpc",
    )
