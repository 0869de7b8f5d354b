"""On parameter servers each weight goes where the fewest bytes are."""

import json

import warm_processes

from yt8m.components.trainer.backends.local import free_ports

# Two servers, a worker and the chief, in a process of their own: TensorFlow never lets go of them.
_PLACE = """
import json, sys
import tensorflow as tf
from yt8m.components.trainer.tf_config import Cluster
from yt8m.components.trainer.config import DistributionConfig
from yt8m.components.trainer.cluster.strategy import create_server, create_strategy, variable_scope

cluster = json.loads(sys.argv[1])
def task(role, index):
    config = {"cluster": cluster, "task": {"type": role, "index": index}}
    return Cluster.from_env({"TF_CONFIG": json.dumps(config)})
servers = [create_server(task(*t)) for t in (("ps", 0), ("ps", 1), ("worker", 0))]
strategy = create_strategy(task("chief", 0), DistributionConfig())
with variable_scope(strategy):
    variables = [tf.Variable(tf.zeros([int(size)])) for size in sys.argv[2:]]
print(json.dumps([v.device.split("task:")[1][0] for v in variables]), flush=True)
import os
os._exit(0)  # servers have no end
"""

SIZES = [100, 10, 80, 20, 5, 200]


def greedy(sizes):
    filled, placed = [0, 0], []
    for size in sizes:
        server = filled.index(min(filled))
        filled[server] += size
        placed.append(str(server))
    return placed


def test_each_variable_goes_to_the_server_with_the_fewest_bytes():
    ports = free_ports("chief=1,worker=1,ps=2")
    chief, worker, *servers = [f"127.0.0.1:{port}" for port in ports]
    cluster = {"chief": [chief], "worker": [worker], "ps": servers}
    done = warm_processes.run("-c", _PLACE, json.dumps(cluster), *map(str, SIZES), timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    placed = json.loads(done.stdout.splitlines()[-1])
    assert placed == greedy(SIZES) == ["0", "1", "1", "1", "0", "0"]
