"""Checkpoints of a training that is killed again and again while it writes them.

Every weight and every slot of the optimiser is the number of its step, so that a checkpoint which
mixes two steps, or one that was half written, gives itself away.
"""

from __future__ import annotations

import random
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

from chaos.forks import start
from chaos.trials import KILL, Trial

_ELEMENTS = 200_000
_HANG_S = 120.0


def checkpoints(work: Path, chance: random.Random, *, kills: int = 120) -> Iterator[Trial]:
    """One training, killed so often; each start says what it found, and writes on."""
    there = work / "training"
    shutil.rmtree(there, ignore_errors=True)
    there.mkdir(parents=True)
    written = 0
    log = there / "said.txt"
    for _ in range(kills):
        lost = []
        log.write_text("")
        process = start(partial(write, str(there)), log=log)
        first = _wait_for_words(process, log)
        time.sleep(chance.uniform(0, 0.25))
        process.kill()
        process.join()
        said = log.read_text()
        if process.exitcode != -signal.SIGKILL:
            lost.append(f"exit code {process.exitcode}: {said[-800:]}")
        elif first is None:
            lost.append(f"it hung: {said[-800:]}")
        elif first < written:
            lost.append(f"step {written} was written, and {first} was found")
        steps = [int(line.split()[1]) for line in said.splitlines() if line.startswith("wrote ")]
        written = max(steps, default=max(first or 0, written))
        yield Trial(kind="writers", part="checkpoints", blow=KILL, lost=lost)


def _wait_for_words(process: BaseProcess, log: Path) -> int | None:
    """The step that it found."""
    deadline = time.monotonic() + _HANG_S
    while process.exitcode is None and time.monotonic() < deadline:
        for line in log.read_text().splitlines():
            if line.startswith("found "):
                return int(line.split()[1])
        time.sleep(0.01)
    return None


def write(there: str) -> None:
    """In the process that is killed: check what is there, then write one after the other."""
    import tensorflow as tf

    from yt8m.components.trainer.state.checkpoints import Checkpoints, TrainingProgress

    network, optimizer = tf.Module(), tf.Module()
    network.weights = [tf.Variable(tf.zeros([_ELEMENTS])) for _ in range(2)]
    optimizer.slots = [tf.Variable(tf.zeros([_ELEMENTS]))]
    values = [*network.weights, *optimizer.slots]
    saved = Checkpoints(
        f"{there}/ckpt", network=network, optimizer=optimizer, keep=3, is_writer=True
    )
    step = saved.restore().step
    for value in values:
        if not bool(tf.reduce_all(value == float(step))):
            sys.exit(f"the checkpoint of step {step} holds values of others")
    print("found", step, flush=True)
    while True:
        step += 1
        for value in values:
            value.assign(tf.fill([_ELEMENTS], float(step)))
        saved.save(TrainingProgress(step=step))
        print("wrote", step, flush=True)
