"""Pauses at both ends of whatever one process of a training writes and another reads.

`code(seed)` is Python for a process to run first. The seed and the process's part in the cluster
decide where it pauses, and for how long.
"""

from __future__ import annotations

_CODE = """
import json, os, random, time
import tensorflow as tf
from yt8m.components import storage
from yt8m.components.trainer.state import checkpoints

_task = json.loads(os.environ.get("TF_CONFIG") or "{{}}").get("task")
_random = random.Random("{seed} " + str(_task))

def _slow(owner, name):
    real = getattr(owner, name)
    def paused(*args, **kwargs):
        _pause()
        try:
            return real(*args, **kwargs)
        finally:
            _pause()
    setattr(owner, name, paused)

def _pause():
    if _random.random() < {share}:
        time.sleep(_random.uniform(0, {longest_s}))

for owner, names in (
    (tf.train.CheckpointManager, ["save"]),
    (tf.train.Checkpoint, ["restore"]),
    (tf.saved_model, ["save"]),
    (checkpoints, ["_restore_state_file"]),
    (storage, ["write_text", "read_text", "remove", "remove_tree", "rename", "make_dirs"]),
):
    for name in names:
        _slow(owner, name)
"""


def code(seed: int, *, share: float = 0.15, longest_s: float = 3.0) -> str:
    """Pause in this share of the calls, up to `longest_s` before each and after it."""
    return _CODE.format(seed=seed, share=share, longest_s=longest_s)
