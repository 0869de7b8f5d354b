"""What the processes of a training in step tell one another: flags, numbers, bytes, and that they
have come to the same point.

One that trains alone, and the chief of parameter servers, which does the stepping for all, have
nobody to tell.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from yt8m.components.trainer.cluster.errors import ignoring_lost_peers
from yt8m.components.trainer.cluster.strategy import local_replicas


class Collectives:
    """Sums over the replicas of all processes; every process makes the same calls in one order."""

    def __init__(self, strategy: tf.distribute.Strategy, *, process: int, processes: int) -> None:
        self._strategy = strategy
        self._process, self._processes = process, processes
        self._alone = processes == 1
        self._sum = tf.function(self._sum_over_replicas, autograph=False)

    def any_process(self, flags: Sequence[bool]) -> list[bool]:
        """Say for each flag whether any process raised it; the same answer everywhere."""
        if self._alone:
            return list(flags)
        return [bool(v > 0) for v in self._sum(tf.constant(flags, tf.float64)).numpy()]

    def wait_for_all(self) -> None:
        """Return when every process has come here: what one wrote before, all can read."""
        self.any_process([True])

    def leave(self) -> None:
        """Return when every process has come here, or has been here and gone.

        What a process has sent may still be on its way to another when its own call returns. If it
        ended then, the other would miss the answer that both have: the last thing that they agree
        on is therefore followed by this, of which nobody needs the result.
        """
        with ignoring_lost_peers():
            self.wait_for_all()

    def broadcast_from_chief(self, value: float) -> float:
        """Return the chief's `value`, in every process."""
        if self._alone:
            return value
        return float(self._sum(tf.constant([value], tf.float64), only_first=True).numpy()[0])

    def exchange(self, data: bytes) -> list[bytes]:
        """Return what each process gives, in every one of them, in their order."""
        if self._alone:
            return [data]
        sizes = self._sum_over_processes(self._own_row(np.array([len(data)], np.float64)))
        longest = int(sizes.max())
        units = np.frombuffer(data.ljust(longest + longest % 2, b"\0"), np.uint16)
        # As floats, which every device adds up, and these exactly.
        gathered = self._sum_over_processes(self._own_row(units.astype(np.float32)))
        rows = gathered.astype(np.uint16)
        return [row.tobytes()[: int(size)] for row, size in zip(rows, sizes[:, 0], strict=True)]

    def _own_row(self, values: np.ndarray) -> np.ndarray:
        """`[processes, values]`, zero but for this process's row."""
        rows = np.zeros((self._processes, len(values)), values.dtype)
        rows[self._process] = values
        return rows

    def _sum_over_processes(self, values: np.ndarray) -> np.ndarray:
        def mine() -> tf.Tensor:
            replica = tf.distribute.get_replica_context().replica_id_in_sync_group
            is_first = replica % local_replicas(self._strategy) == 0
            return tf.where(is_first, tf.constant(values), tf.zeros_like(values))

        @tf.function(autograph=False)
        def total() -> tf.Tensor:
            per_replica = self._strategy.run(mine)
            return self._strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica, axis=None)

        summed: np.ndarray = total().numpy()
        return summed

    def _sum_over_replicas(self, values: tf.Tensor, only_first: bool = False) -> tf.Tensor:
        def mine() -> tf.Tensor:
            first = tf.distribute.get_replica_context().replica_id_in_sync_group == 0
            # Not `values` itself: equal tensors of several replicas would count as one.
            taken = first if only_first else tf.constant(True)
            return tf.where(taken, values, tf.zeros_like(values))

        per_replica = self._strategy.run(mine)
        return self._strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica, axis=None)
