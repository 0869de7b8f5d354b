"""Execution of steps, which differs between synchronous strategies and parameter servers.

The loop above knows of an engine how many steps come next, and how to advance them.
"""

from __future__ import annotations

import bisect
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol

import tensorflow as tf

from yt8m.components.compat import count_asynchronous_workers, translate_worker_errors
from yt8m.components.inputs.config import BatchSlice
from yt8m.components.trainer.cluster.errors import as_lost_peer
from yt8m.components.trainer.input import TrainingData
from yt8m.components.trainer.loop.step import StepResult, TrainStep

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


class Synchronous:
    """One process, mirrored devices or several processes in step."""

    def __init__(
        self,
        step: TrainStep,
        *,
        batches: tf.data.Dataset,
        rows: int,
        steps_per_loop: int,
        log_every: int,
    ) -> None:
        self._step = step
        self._batches = iter(batches)
        self.rows, self.log_every = rows, log_every
        self._per_loop = steps_per_loop

    def chunk(self, left: int) -> int:
        return self._per_loop if left >= self._per_loop else 1  # two sizes: two graphs

    def advance(self, rates: Sequence[float]) -> StepResult:
        result: StepResult = self._step.run(self._batches, tf.constant(rates, tf.float32))
        return result


class Stagger:
    """Lets asynchronous workers begin one after the other, so that the first steps do not collide.

    As many steps are handed out together as workers may have begun.
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
        taken: BatchSlice,
        log_every: int,
        stagger: Callable[[int], float],
    ) -> None:
        self._step = step
        self._coordinator = tf.distribute.coordinator.ClusterCoordinator(strategy)
        translate_worker_errors(self._coordinator, as_lost_peer)
        self._workers = count_asynchronous_workers(strategy)
        self.rows = data.job.trainer.window_rows
        # Every time the loop looks up, workers wait for the slowest of them.
        self.log_every = log_every * -(-4 * self._workers // log_every)
        self._chunk = self._workers
        self._batches = self._iterators(data, taken)
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
        newest: StepResult = results[-1].get()  # tensors; `fetch` makes arrays of them
        return newest

    def _iterators(self, data: TrainingData, taken: BatchSlice) -> Any:
        """An iterator on each worker, over its own rows of what all workers read together."""
        taken = replace(taken, num_workers=self._workers)

        @tf.autograph.experimental.do_not_convert
        def create() -> tf.data.Dataset:
            # One graph serves all workers, so which part is read is decided where it runs.
            worker = tf.distribute.coordinator.experimental_get_current_worker_index()
            return data.batches_of_worker(taken, tf.cast(worker, tf.int64))

        return iter(self._coordinator.create_per_worker_dataset(create))
