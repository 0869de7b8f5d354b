"""The ps and worker roles of a parameter-server cluster: serve until the training is done."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import time

from yt8m.components.trainer.cluster import rendezvous
from yt8m.components.trainer.cluster.devices import prepare_devices
from yt8m.components.trainer.cluster.stop_signal import StopSignal
from yt8m.components.trainer.cluster.strategy import create_server
from yt8m.components.trainer.input import load_data
from yt8m.components.trainer.job import TrainingJob
from yt8m.components.trainer.state.done_marker import Done, read_done
from yt8m.components.trainer.tf_config import Cluster, Role
from yt8m.schemas.errors import EXIT_INTERRUPTED, EXIT_TERMINATED, Terminated

_log = logging.getLogger(__name__)
_POLL_S = 1.0
_GRACE_S = 20.0  # who receives SIGTERM lets the chief save first: it needs both to do so


def serve(job: TrainingJob, cluster: Cluster) -> None:
    """Serve; TensorFlow's own `join` would never come back."""
    timeout_s = job.trainer.distribution.peer_timeout_s
    data, stale = load_data(job), read_done(job.checkpoint_dir)
    try:
        rendezvous.wait_for_peers(
            cluster,
            timeout_s=timeout_s,
            settings={**job.shared_settings, "records": data.digests},
        )
    except rendezvous.UnreachablePeers:
        if read_done(job.checkpoint_dir) is not None:
            return  # started again when all was over
        raise
    if cluster.role is Role.WORKER:
        data.serve()
    prepare_devices(job.trainer.distribution)
    with StopSignal() as stop:
        server = create_server(cluster)  # lives as long as this name
        _log.info("%s serves at %s", cluster, server.target)
        _wait(job, cluster, stop, timeout_s, stale)


def _wait(
    job: TrainingJob, cluster: Cluster, stop: StopSignal, timeout_s: float, stale: Done | None
) -> None:
    chief = cluster.chief_address  # which a dynamic worker of TFJob does not know
    last_seen = time.monotonic()
    while True:
        if stop.requested:
            _obey(cluster, stop, chief)
        # The marker that was there before is an earlier training's, which the chief removes.
        if read_done(job.checkpoint_dir) not in (None, stale):
            return
        if not chief or rendezvous.is_reachable(chief):
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen > timeout_s:
            if read_done(job.checkpoint_dir) is not None:
                return
            raise rendezvous.UnreachablePeers(
                f"{cluster}: the chief ({chief}) has not been reachable for {timeout_s:g} s; its "
                "log says why. Start all processes again: training continues from its checkpoint"
            )
        time.sleep(_POLL_S)


def _obey(cluster: Cluster, stop: StopSignal, chief: str) -> None:
    deadline = time.monotonic() + _GRACE_S
    while time.monotonic() < deadline and chief and rendezvous.is_reachable(chief):
        time.sleep(_POLL_S / 4)
    try:
        stop.obey(f"{cluster}: ended by signal {signal.Signals(signal.SIGTERM).name}")
    except (Terminated, KeyboardInterrupt) as ended:
        # While Python is taken down the server would still answer the chief's reads, with errors
        # that fail the training; for a process that is gone the chief waits.
        code = EXIT_TERMINATED if isinstance(ended, Terminated) else EXIT_INTERRUPTED
        atexit.register(os._exit, code)
        raise
