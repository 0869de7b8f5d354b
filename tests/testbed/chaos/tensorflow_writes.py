"""Checkpoints and exports, with each of the calls failing by which TensorFlow writes them.

A checkpoint that could not be written hides none before it; one that is said to be written is
there.
An export is the one before, whole, or the new one, whole.
"""

from __future__ import annotations

import ctypes
import errno
import itertools
import json
import os
import random
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from chaos.syscalls import in_process_with_shim
from chaos.trials import Trial

_ELEMENTS = 20_000
_ERRNOS = (errno.EIO, errno.ENOSPC)


def tensorflow_writes(work: Path, chance: random.Random, *, stride: int = 1) -> Iterator[Trial]:
    """Every `stride`-th call, beginning with a random one."""
    arguments = [str(work), str(stride), str(chance.randrange(stride))]
    yield from in_process_with_shim(work, "chaos.tensorflow_writes", *arguments)


def _trials(work: Path, stride: int, first: int) -> Iterator[Trial]:
    shim = ctypes.CDLL(None)
    for part, number, sign in itertools.product(_PARTS, _ERRNOS, (1, -1)):
        before, there = work / "before", work / "there"
        shutil.rmtree(before, ignore_errors=True)
        before.mkdir(parents=True)
        write, flaws = _PARTS[part]
        for step in (1, 2):
            write(before, step)
        at, has_failed = first, True
        while has_failed:
            at += stride
            shutil.rmtree(there, ignore_errors=True)
            shutil.copytree(before, there)
            shim.fail_at(ctypes.c_long(sign * at), number, os.fsencode(there))
            try:
                write(there, 3)
                said = ""
            except Exception as error:
                said = f"{type(error).__name__}: {error}"
            has_failed = shim.calls() >= at
            shim.fail_at(ctypes.c_long(0), 0, b"")
            until = " from then on" if sign < 0 else ""
            lost = [
                f"call {at}, {said or 'said to be written'}: {flaw}" for flaw in flaws(there, said)
            ]
            if has_failed:
                blow = f"{errno.errorcode[number]}{until}"
                yield Trial(kind="tensorflow_writes", part=part, blow=blow, lost=lost)


def _checkpoints(there: Path, value: float) -> tuple[Any, list[Any]]:
    import tensorflow as tf

    from yt8m.components.trainer.state.checkpoints import Checkpoints

    network, optimizer = tf.Module(), tf.Module()
    network.weights = tf.Variable(tf.fill([_ELEMENTS], value))
    optimizer.slots = tf.Variable(tf.fill([_ELEMENTS], value))
    saved = Checkpoints(str(there), network=network, optimizer=optimizer, keep=3, is_writer=True)
    return saved, [network.weights, optimizer.slots]


def _save(there: Path, step: int) -> None:
    from yt8m.components.trainer.state.checkpoints import TrainingProgress

    saved, values = _checkpoints(there, 0.0)
    saved.restore()
    for value in values:
        value.assign(value * 0.0 + float(step))
    saved.save(TrainingProgress(step=step))


def _flaws_of_checkpoints(there: Path, said: str) -> Iterator[str]:
    saved, values = _checkpoints(there, 0.0)
    try:
        step = saved.restore().step
    except Exception as error:
        yield f"none can be read: {error}"
        return
    if step < 2 or (not said and step != 3):
        yield f"step {step} was found"
    if any(set(value.numpy().tolist()) != {float(step)} for value in values):
        yield f"the checkpoint of step {step} holds values of others"


def _export(there: Path, step: int) -> None:
    import tensorflow as tf

    from yt8m.components import storage
    from yt8m.components.artifacts.saved_model import MODEL_FILE

    module = tf.Module()
    module.weights = tf.Variable(tf.fill([_ELEMENTS], float(step)))
    with storage.atomic_tree(str(there / "export"), last=MODEL_FILE) as place:
        tf.saved_model.save(module, place)


def _flaws_of_export(there: Path, said: str) -> Iterator[str]:
    import tensorflow as tf

    if said and not (there / "export").exists():
        if not list(there.glob(".yt8m-tree-*/before")):  # where nothing could be renamed any more
            yield "the export before is gone"
        return
    try:
        values = set(tf.saved_model.load(str(there / "export")).weights.numpy().tolist())
    except Exception as error:
        yield f"it cannot be loaded: {error}"
        return
    if values not in ({2.0}, {3.0}) or (not said and values != {3.0}):
        yield f"it holds {values}"


_PARTS = {
    "checkpoint, by TensorFlow": (_save, _flaws_of_checkpoints),
    "export, by TensorFlow": (_export, _flaws_of_export),
}

if __name__ == "__main__":
    for trial in _trials(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])):
        print(json.dumps(asdict(trial)), flush=True)
