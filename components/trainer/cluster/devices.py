"""Devices of a process and their memory settings, chosen before TensorFlow starts.

Nothing here was ever run on a GPU. The tests take this machine's processor as several devices.
"""

from __future__ import annotations

import logging

import tensorflow as tf

from yt8m.components.trainer.cluster.strategy import local_replicas
from yt8m.components.trainer.config import DistributionConfig

_log = logging.getLogger(__name__)


def prepare_devices(config: DistributionConfig) -> None:
    """Show TensorFlow the first `max_devices` GPUs, whose memory it takes as it needs it."""
    if config.log_placement:
        tf.debugging.set_log_device_placement(True)
    devices = tf.config.list_physical_devices("GPU")
    try:
        if config.max_devices is not None:
            devices = devices[: config.max_devices]
            tf.config.set_visible_devices(devices, "GPU")
        for device in devices:
            tf.config.experimental.set_memory_growth(device, config.memory_growth)
    except RuntimeError as error:  # it has begun in this process already
        _log.warning("devices stay as they are: %s", error)


def hide_gpus() -> None:
    """Leave the GPUs to another process, which trains on them."""
    try:
        tf.config.set_visible_devices([], "GPU")
    except RuntimeError as error:
        _log.warning("devices stay as they are: %s", error)


def placement_of(strategy: tf.distribute.Strategy) -> str:
    """Name the devices on which this process computes, for its log."""
    if isinstance(strategy, tf.distribute.ParameterServerStrategy):
        return "the workers' devices"
    if local_replicas(strategy) > 1 or strategy.num_replicas_in_sync > 1:
        names = list(strategy.extended.worker_devices)
    else:
        gpus = tf.config.list_logical_devices("GPU")
        names = [device.name for device in gpus[:1] or tf.config.list_logical_devices("CPU")[:1]]
    return ", ".join(name.rpartition("/device:")[2] or name for name in names)
