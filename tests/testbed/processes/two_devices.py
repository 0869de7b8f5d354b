"""A training on two devices of one process: this machine's processor, taken as two."""

from __future__ import annotations

import subprocess
from pathlib import Path

import warm_processes

from yt8m.components.trainer.job import TrainingJob

_TWO_DEVICES = """
import sys
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
from yt8m.components.trainer.backends.__main__ import main
sys.exit(main(sys.argv[1:]))
"""


def run_mirrored(job: TrainingJob, root: Path) -> None:
    """Train with two replicas, each taking half of what the process reads; it must end well."""
    done = start_mirrored(job, root)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "MirroredStrategy, 2 replicas" in done.stderr


def start_mirrored(job: TrainingJob, root: Path) -> subprocess.CompletedProcess[str]:
    """The same, however it ends."""
    path = root / "job.json"
    path.write_text(job.to_json())
    settings = ["--config", str(path), "--set", "trainer.distribution.placement=mirrored"]
    return warm_processes.run("-c", _TWO_DEVICES, *settings, timeout=200)
