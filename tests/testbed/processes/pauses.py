"""Pauses at both ends of whatever one process of a training writes and another reads.

`code(seed)` is Python for a process to run first. The seed and the process's part in the cluster
decide where it pauses, and for how long. Each pause is a line of the process's log, as
`pause of chief before save /job/checkpoints/best 0.31 s`.
"""

from __future__ import annotations

_CODE = """
import json, os, random, time
import tensorflow as tf
from yt8m.components import storage
from yt8m.components.trainer.state import checkpoints, curve

_task = json.loads(os.environ.get("TF_CONFIG") or "{{}}").get("task", {{}})
_random = random.Random("{seed} " + str(_task))

def _slow(owner, name):
    real = getattr(owner, name)
    def paused(*args, **kwargs):
        call = name + " " + _place(args)
        _pause("before " + call)
        try:
            return real(*args, **kwargs)
        finally:
            _pause("after " + call)
    setattr(owner, name, paused)

def _place(args):
    of_owner = [getattr(args[0], name, None) for name in ("directory", "path")]
    paths = [value for value in args if isinstance(value, str)]
    return next(filter(None, (*of_owner, *paths)), "")

def _pause(moment):
    if _random.random() < {share}:
        seconds = _random.uniform(0, {longest_s})
        print(f"pause of {{_task.get('type')}} {{moment}} {{seconds:.2f}} s", flush=True)
        time.sleep(seconds)

for owner, names in (
    (tf.train.CheckpointManager, ["__init__", "save"]),
    (tf.train.Checkpoint, ["restore"]),
    (tf.train, ["latest_checkpoint", "get_checkpoint_state"]),
    (tf.saved_model, ["save"]),
    (checkpoints, ["_restore_state_file"]),
    (curve.CurveWriter, ["add"]),
    (storage, ["write_text", "read_text", "read_bytes", "remove", "remove_tree", "rename"]),
    (storage, ["make_dirs"]),
):
    for name in names:
        _slow(owner, name)
"""


def code(seed: int, *, share: float = 0.15, longest_s: float = 3.0) -> str:
    """Pause in this share of the calls, up to `longest_s` before each and after it."""
    return _CODE.format(seed=seed, share=share, longest_s=longest_s)
