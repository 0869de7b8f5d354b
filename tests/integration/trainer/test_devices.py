"""Devices of a process; this machine's processor is taken as three of them."""

import pytest
import warm_processes

_CODE = """
import sys
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 3)
from yt8m.components.trainer.cluster.devices import hide_gpus, placement_of, prepare_devices
from yt8m.components.trainer.cluster.strategy import create_strategy
from yt8m.components.trainer.config import DistributionConfig
from yt8m.components.trainer.tf_config import Cluster
from yt8m.schemas.config_tree import from_dict
config = from_dict(DistributionConfig, {"placement": sys.argv[1], "max_devices": eval(sys.argv[2])})
prepare_devices(config)
hide_gpus()
strategy = create_strategy(Cluster(), config)
print(strategy.num_replicas_in_sync, placement_of(strategy))
"""


@pytest.mark.parametrize(
    ("placement", "max_devices", "devices"),
    [
        ("mirrored", None, "3 CPU:0, CPU:1, CPU:2"),
        ("mirrored", 2, "2 CPU:0, CPU:1"),
        ("mirrored", 1, "1 CPU:0"),
        ("one_device", None, "1 CPU:0"),
    ],
)
def test_no_more_devices_are_used_than_may_be_and_they_are_named(placement, max_devices, devices):
    done = warm_processes.run("-c", _CODE, placement, str(max_devices), timeout=300)
    assert done.stdout.strip() == devices, done.stderr[-2000:]
