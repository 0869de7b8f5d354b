"""From a validated cluster to a tf.distribute strategy."""

from __future__ import annotations

import atexit
import json
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import tensorflow as tf

from yt8m.components.compat import (
    count_parameter_servers,
    limit_waiting,
    place_next_variable,
)
from yt8m.components.trainer.cluster.rendezvous import UnreachablePeers
from yt8m.components.trainer.config import DevicePlacement, DistributionConfig, Precision
from yt8m.components.trainer.tf_config import VARIABLE, Cluster, ClusterKind, Role
from yt8m.schemas.errors import EXIT_FAILED

_START_S = 30.0  # that TensorFlow may take on a busy machine once all processes have met
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
        return _started(
            lambda: tf.distribute.MultiWorkerMirroredStrategy(cluster_resolver=_resolver(cluster)),
            cluster,
            timeout_s=max(config.peer_timeout_s, _START_S),
        )
    devices = tf.config.list_logical_devices("GPU")
    if not devices and config.placement is DevicePlacement.MIRRORED:
        devices = tf.config.list_logical_devices("CPU")
    if config.placement is not DevicePlacement.ONE_DEVICE and len(devices) > 1:
        return tf.distribute.MirroredStrategy([device.name for device in devices])
    return tf.distribute.get_strategy()


def _started(
    create: Callable[[], tf.distribute.Strategy], cluster: Cluster, *, timeout_s: float
) -> tf.distribute.Strategy:
    """Create what waits for all processes; of one that ends now TensorFlow never says a word."""
    future: Future[tf.distribute.Strategy] = Future()

    def run() -> None:
        try:
            future.set_result(create())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, name="starting", daemon=True).start()
    try:
        return future.result(timeout_s)
    except TimeoutError:
        atexit.register(os._exit, EXIT_FAILED)  # TensorFlow's own end would wait for it, too
        raise UnreachablePeers(
            f"{cluster}: the processes had met, but did not all start within {timeout_s:g} s. The "
            "log of the one that ended says why; start all processes again, and training "
            "continues from the newest checkpoint"
        ) from None


def name_of(strategy: tf.distribute.Strategy) -> str:
    """What a person calls it; TensorFlow's classes have other names here and there."""
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
