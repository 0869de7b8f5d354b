"""What differs between synchronous strategies and parameter servers: how steps are carried out.

The loop above knows three things of an engine: advance some steps, learn what any process
wants, and broadcast what the chief has found.
"""

from __future__ import annotations

import bisect
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from yt8m.components.compat import count_asynchronous_workers
from yt8m.components.inputs.config import BatchSlice
from yt8m.components.trainer.cluster.strategy import local_replicas
from yt8m.components.trainer.input import TrainingData
from yt8m.components.trainer.loop.step import StepResult, TrainStep
from yt8m.components.trainer.state.checkpoints import TrainingProgress

_PS_CHUNK_S = 2.0  # signals are looked at when a chunk is through


class StepEngine(Protocol):
    """Carries out steps under one kind of strategy."""

    rows: int  # of one update, over all replicas
    log_every: int  # steps; a multiple of the configured number

    def chunk(self, left: int) -> int:
        """How many of the `left` steps until something is to be done come next."""
        ...

    def advance(self, rates: Sequence[float]) -> StepResult:
        """One step for each learning rate; the newest step's result."""
        ...

    def any_process(self, flags: Sequence[bool]) -> list[bool]:
        """For each flag, whether any process raised it; the same answer everywhere."""
        ...

    def wait_for_all(self) -> None:
        """Return when every process has come here: what the chief wrote before, all can read."""
        ...

    def broadcast_from_chief(self, value: float) -> float:
        """The chief's `value`, in every process."""
        ...

    def exchange(self, data: bytes) -> list[bytes]:
        """What each process that trains gives, in every one of them, in their order."""
        ...


class Synchronous:
    """One process, mirrored devices or several processes in step."""

    def __init__(
        self,
        step: TrainStep,
        *,
        strategy: tf.distribute.Strategy,
        batches: tf.data.Dataset,
        rows: int,
        steps_per_loop: int,
        log_every: int,
        process: int,
        processes: int,
    ) -> None:
        self._step, self._strategy = step, strategy
        self._batches = iter(batches)
        self.rows, self.log_every = rows, log_every
        self._per_loop = steps_per_loop
        self._process, self._processes = process, processes
        self._alone = processes == 1
        self._sum = tf.function(self._sum_over_replicas, autograph=False)

    def chunk(self, left: int) -> int:
        return self._per_loop if left >= self._per_loop else 1  # two sizes: two graphs

    def advance(self, rates: Sequence[float]) -> StepResult:
        result: StepResult = self._step.run(self._batches, tf.constant(rates, tf.float32))
        return result

    def any_process(self, flags: Sequence[bool]) -> list[bool]:
        if self._alone:
            return list(flags)
        return [bool(v > 0) for v in self._sum(tf.constant(flags, tf.float64)).numpy()]

    def wait_for_all(self) -> None:
        self.any_process([True])

    def broadcast_from_chief(self, value: float) -> float:
        if self._alone:
            return value
        return float(self._sum(tf.constant([value], tf.float64), only_first=True).numpy()[0])

    def exchange(self, data: bytes) -> list[bytes]:
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
        return _sum_over_replicas(self._strategy, values, only_first)


def broadcast_from_chief(strategy: tf.distribute.Strategy, value: float) -> float:
    """The chief's `value` in every process, where there is no engine yet."""
    if strategy.num_replicas_in_sync == local_replicas(strategy):
        return value
    values = tf.constant([value], tf.float64)
    summed = tf.function(lambda: _sum_over_replicas(strategy, values, True), autograph=False)
    return float(summed().numpy()[0])


def _sum_over_replicas(
    strategy: tf.distribute.Strategy, values: tf.Tensor, only_first: bool
) -> tf.Tensor:
    def mine() -> tf.Tensor:
        first = tf.distribute.get_replica_context().replica_id_in_sync_group == 0
        # Not `values` itself: equal tensors of several replicas would count as one.
        taken = first if only_first else tf.constant(True)
        return tf.where(taken, values, tf.zeros_like(values))

    per_replica = strategy.run(mine)
    return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica, axis=None)


class Stagger:
    """Lets asynchronous workers begin one after the other, so that the first steps do not collide.

    As many steps are handed out at once as workers may have begun.
    """

    def __init__(self, delays: Sequence[float]) -> None:
        began = time.monotonic()
        self._starts = sorted(began + delay for delay in delays)

    def wait(self) -> int:
        """How many workers may work, after the first of them may; 0 once all of them may."""
        if not self._starts or time.monotonic() >= self._starts[-1]:
            self._starts = []
            return 0
        time.sleep(max(0.0, self._starts[0] - time.monotonic()))
        return max(1, bisect.bisect_right(self._starts, time.monotonic()))


class ParameterServers:
    """Workers that fetch weights, compute and send gradients, each in its own time.

    Each update has one worker's rows. A closure whose worker dies is given to another worker.
    """

    def __init__(
        self,
        step: TrainStep,
        *,
        strategy: tf.distribute.ParameterServerStrategy,
        data: TrainingData,
        progress: TrainingProgress,
        log_every: int,
        stagger: Callable[[int], float],
    ) -> None:
        self._step = step
        self._coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        self._workers = count_asynchronous_workers(strategy)
        self.rows = data.job.trainer.window_rows
        # Every time the loop looks up, workers wait for the slowest of them.
        self.log_every = log_every * -(-4 * self._workers // log_every)
        self._chunk = self._workers
        self._batches = self._iterators(data, progress)
        self._stagger = Stagger([stagger(i) for i in range(self._workers)])

    def chunk(self, left: int) -> int:
        return min(left, self._stagger.wait() or self._chunk)

    def advance(self, rates: Sequence[float]) -> StepResult:
        began = time.monotonic()
        results = [
            self._coordinator.schedule(
                self._step.run, args=(self._batches, tf.constant([rate], tf.float32))
            )
            for rate in rates
        ]
        self._coordinator.join()
        if len(rates) == self._chunk and time.monotonic() - began < _PS_CHUNK_S / 2:
            self._chunk *= 2
        newest: StepResult = self._coordinator.fetch(results[-1])
        return newest

    def any_process(self, flags: Sequence[bool]) -> list[bool]:
        return list(flags)  # the chief leads, the others are servers

    def wait_for_all(self) -> None:
        """The chief alone reads and writes."""

    def broadcast_from_chief(self, value: float) -> float:
        return value

    def exchange(self, data: bytes) -> list[bytes]:
        return [data]

    def _iterators(self, data: TrainingData, progress: TrainingProgress) -> Any:
        """An iterator on each worker, over its own rows of what all workers read together."""
        count = self._workers
        taken = BatchSlice(global_batch_size=self.rows * count, num_workers=count)

        @tf.autograph.experimental.do_not_convert
        def create() -> tf.data.Dataset:
            # One graph serves all workers, so which part is read is decided where it runs.
            worker = tf.distribute.coordinator.experimental_get_current_worker_index()
            return data.batches_of_worker(
                taken, tf.cast(worker, tf.int64), examples=progress.examples
            )

        return iter(self._coordinator.create_per_worker_dataset(create))
