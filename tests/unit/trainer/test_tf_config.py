import json

import pytest

from yt8m.components.trainer.tf_config import Cluster, ClusterKind, Role
from yt8m.schemas.errors import EXIT_USER, ConfigError

CHIEF, W0, W1, PS0, EVAL = (f"10.0.0.{i}:2222" for i in range(1, 6))
PS_CLUSTER = {"chief": [CHIEF], "worker": [W0, W1], "ps": [PS0]}


def parse(cluster=None, task=None, **more):
    data = {**more}
    if cluster is not None:
        data["cluster"] = cluster
    if task is not None:
        data["task"] = {"type": task[0], "index": task[1]} if isinstance(task, tuple) else task
    return Cluster.from_env({"TF_CONFIG": json.dumps(data)})


def test_no_tf_config_means_one_process_that_evaluates_itself():
    for environ in ({}, {"TF_CONFIG": ""}, {"TF_CONFIG": "{}"}):
        cluster = Cluster.from_env(environ)
        assert (cluster.kind, cluster.is_chief, cluster.evaluates_itself) == (
            ClusterKind.LOCAL,
            True,
            True,
        )
        assert cluster.peers == {}


GOOD = [
    # cluster, task, kind, is_chief, evaluates itself
    ({"chief": [CHIEF], "worker": [W0]}, ("chief", 0), ClusterKind.MULTI_WORKER, True, False),
    ({"chief": [CHIEF], "worker": [W0]}, ("worker", 0), ClusterKind.MULTI_WORKER, False, False),
    ({"master": [CHIEF], "worker": [W0]}, ("master", 0), ClusterKind.MULTI_WORKER, True, True),
    ({"master": [CHIEF], "worker": [W0]}, ("worker", 0), ClusterKind.MULTI_WORKER, False, False),
    ({"worker": [W0, W1]}, ("worker", 0), ClusterKind.MULTI_WORKER, True, False),
    ({"worker": [W0, W1]}, ("worker", 1), ClusterKind.MULTI_WORKER, False, False),
    ({"worker": [W0]}, ("worker", 0), ClusterKind.LOCAL, True, False),
    ({"chief": [CHIEF]}, ("chief", 0), ClusterKind.LOCAL, True, False),
    (PS_CLUSTER, ("chief", 0), ClusterKind.PARAMETER_SERVER, True, False),
    (
        {"master": [CHIEF], "worker": [W0], "ps": [PS0]},
        ("master", 0),
        ClusterKind.PARAMETER_SERVER,
        True,
        False,
    ),
    (PS_CLUSTER, ("worker", 0), ClusterKind.PARAMETER_SERVER, False, False),
    (PS_CLUSTER, ("ps", 0), ClusterKind.PARAMETER_SERVER, False, False),
    (PS_CLUSTER, ("evaluator", 0), ClusterKind.PARAMETER_SERVER, False, False),
    ({"chief": [CHIEF], "evaluator": [EVAL]}, ("chief", 0), ClusterKind.LOCAL, True, False),
    ({"chief": [CHIEF], "evaluator": [EVAL]}, ("evaluator", 0), ClusterKind.LOCAL, False, False),
    ({}, ("worker", 0), ClusterKind.LOCAL, True, False),
    ({}, ("evaluator", 0), ClusterKind.LOCAL, False, False),
]


@pytest.mark.parametrize(("cluster", "task", "kind", "is_chief", "evaluates"), GOOD)
def test_roles_are_understood(cluster, task, kind, is_chief, evaluates):
    parsed = parse(cluster, task)
    assert (parsed.kind, parsed.is_chief, parsed.evaluates_itself) == (kind, is_chief, evaluates)


def test_each_process_begins_elsewhere_with_what_they_share():
    tasks = [("chief", 0), ("worker", 0), ("worker", 1), ("ps", 0)]
    assert [parse(PS_CLUSTER, task).position for task in tasks] == [0, 0.25, 0.5, 0.75]
    assert parse({**PS_CLUSTER, "evaluator": [EVAL]}, ("evaluator", 0)).position == 0
    assert parse().position == 0


def test_tfjobs_dialect_is_accepted():
    cluster = {**PS_CLUSTER, "evaluator": [EVAL]}
    parsed = parse(cluster, ("worker", 1), environment="cloud")
    assert parsed.address == W1
    assert Role.EVALUATOR not in parsed.addresses
    assert parsed.has_evaluator


def test_tfjobs_dynamic_workers_know_only_themselves_and_the_ps():
    worker = parse({"worker": {"3": W1}, "ps": [PS0]}, ("worker", 3))
    assert (worker.kind, worker.address, worker.peers) == (ClusterKind.PARAMETER_SERVER, W1, {})
    assert worker.to_tensorflow()["cluster"] == {"worker": {3: W1}, "ps": [PS0]}
    ps = parse({"worker": {}, "ps": [PS0]}, ("ps", 0))
    assert ps.address == PS0


def test_tensorflow_is_told_of_a_chief_and_of_no_evaluator():
    parsed = parse({"master": [CHIEF], "worker": [W0], "evaluator": [EVAL]}, ("master", 0))
    assert parsed.to_tensorflow() == {
        "cluster": {"chief": [CHIEF], "worker": [W0]},
        "task": {"type": "chief", "index": 0},
    }


@pytest.mark.parametrize(
    ("task", "peers"),
    [
        (("chief", 0), {"worker 0": W0, "worker 1": W1, "ps 0": PS0}),
        (("worker", 0), {"chief 0": CHIEF, "ps 0": PS0}),
        (("ps", 0), {"chief 0": CHIEF, "worker 0": W0, "worker 1": W1}),
        (("evaluator", 0), {}),
    ],
)
def test_peers_are_those_without_which_a_task_cannot_begin(task, peers):
    assert parse(PS_CLUSTER, task).peers == peers


BAD = [
    # TF_CONFIG, what the message must name: the field, the value, the allowed
    ("{chief", ["not JSON", "{chief"]),
    ("[]", ["TF_CONFIG = []", "JSON object"]),
    ({"clusters": {}}, ["'clusters'", "cluster, task"]),
    ({"cluster": []}, None),  # an empty list is an empty cluster
    ({"cluster": [W0], "task": {"type": "worker", "index": 0}}, ["cluster", "JSON object"]),
    ({"cluster": {"workers": [W0]}}, ["'workers'", "chief, master, worker, ps, evaluator"]),
    ({"cluster": {"worker": [W0]}}, ["task = None", "type"]),
    ({"cluster": {"worker": [W0]}, "task": "worker"}, ["task = 'worker'", "JSON object"]),
    ({"cluster": {"worker": [W0]}, "task": {"index": 0}}, ["task.type = None", "chief"]),
    ({"cluster": {"worker": [W0]}, "task": {"type": "worker"}}, ["task.index = None", "0 or more"]),
    ({"cluster": {"worker": [W0]}, "task": {"type": "local", "index": 0}}, ["'local'", "one of"]),
    ({"cluster": {"worker": [W0]}, "task": {"type": "wrker", "index": 0}}, ["'wrker'", "worker"]),
    ({"cluster": {"worker": [W0]}, "task": {"type": "Worker", "index": 0}}, ["'Worker'", "worker"]),
    ({"cluster": {"worker": [W0]}, "task": {"type": "worker", "index": 1}}, ["index = 1", "of 0"]),
    ({"cluster": {"worker": [W0]}, "task": {"type": "worker", "index": -1}}, ["index = -1"]),
    ({"cluster": {"worker": [W0]}, "task": {"type": "worker", "index": 0.5}}, ["index = 0.5"]),
    ({"cluster": {"worker": [W0]}, "task": {"type": "worker", "index": True}}, ["index = True"]),
    ({"cluster": {"worker": [W0]}, "task": {"type": "worker", "index": 0, "idx": 1}}, ["'idx'"]),
    ({"cluster": {"worker": [W0]}, "task": {"type": "chief", "index": 0}}, ["'chief'", "worker"]),
    ({"cluster": {"worker": [W0]}, "task": {"type": "ps", "index": 0}}, ["'ps'", "worker"]),
    ({"cluster": PS_CLUSTER, "task": {"type": "chief", "index": 1}}, ["index = 1", "one chief"]),
    ({"cluster": PS_CLUSTER, "task": {"type": "evaluator", "index": 1}}, ["one evaluator"]),
    (
        {"cluster": {"chief": [CHIEF], "master": [W0]}, "task": {"type": "chief", "index": 0}},
        ["chief and master", "not both"],
    ),
    (
        {"cluster": {"chief": [CHIEF, W0]}, "task": {"type": "chief", "index": 0}},
        ["cluster.chief", "only one"],
    ),
    (
        {
            "cluster": {"chief": [CHIEF], "evaluator": [W0, W1]},
            "task": {"type": "chief", "index": 0},
        },
        ["cluster.evaluator", "only one"],
    ),
    (
        {"cluster": {"worker": [W0], "ps": [PS0]}, "task": {"type": "worker", "index": 0}},
        ["with a chief"],
    ),
    (
        {"cluster": {"chief": [CHIEF], "ps": [PS0]}, "task": {"type": "chief", "index": 0}},
        ["with a worker"],
    ),
    (
        {"cluster": {"worker": [W0, W0]}, "task": {"type": "worker", "index": 0}},
        ["cluster.worker[1]", W0, "of its own"],
    ),
    ({"cluster": {"worker": W0}, "task": {"type": "worker", "index": 0}}, ["list of host:port"]),
    ({"cluster": {"worker": ["host"]}, "task": {"type": "worker", "index": 0}}, ["'host'", "port"]),
    (
        {"cluster": {"worker": ["h:0"]}, "task": {"type": "worker", "index": 0}},
        ["'h:0'", "1-65535"],
    ),
    (
        {"cluster": {"worker": [None]}, "task": {"type": "worker", "index": 0}},
        ["None", "host:port"],
    ),
    (
        {"cluster": {"worker": {"a": W0}}, "task": {"type": "worker", "index": 0}},
        ["'a'", "indices"],
    ),
    ({"task": {"type": "worker", "index": 1}}, ["worker 1", "listed in cluster"]),
    ({"task": {"type": "ps", "index": 0}}, ["ps 0", "listed in cluster"]),
    ({"environment": 3}, ["environment = 3"]),
    ('{"cluster": {"worker": ["h:1"], "worker": ["h:2"]}}', ["'worker'", "is given twice"]),
    ('{"task": {"type": "worker", "index": 0, "index": 1}}', ["'index'", "is given twice"]),
    (
        {"cluster": {"worker": {"0": W0, "00": W1}}, "task": {"type": "worker", "index": 0}},
        ["'00'", "indices"],
    ),
    (
        {"cluster": {"worker": {"\u00b2": W0}}, "task": {"type": "worker", "index": 0}},
        ["'\u00b2'", "indices"],
    ),
    ({"cluster": {"worker": [W0]}, "task": {"type": "worker", "index": "\u00b2"}}, ["task.index"]),
    *(
        (
            {"cluster": {"worker": [address]}, "task": {"type": "worker", "index": 0}},
            [repr(address), "host:port", "[host]:port"],
        )
        for address in (
            "h:\u00b2",
            "h:\uff12\uff12",
            "h:022",
            "h:65536",
            "h :2222",
            " h:2222",
            "http://h:2222",
            "h/x:2222",
            "user@h:2222",
            "fe80::1:2222",
            "[h]:2222",
            "h,g:2222",
            "-h:2222",
        )
    ),
]


@pytest.mark.parametrize(
    "address",
    ["h:1", "10.0.0.1:65535", "[fe80::1%eth0]:2222", "job-worker-0.ns.svc:2222", "a_b.c.:2222"],
)
def test_addresses_that_clusters_give_are_taken(address):
    parsed = parse({"worker": [address, W1]}, ("worker", 0))
    assert parsed.address == address


@pytest.mark.parametrize(("config", "named"), [row for row in BAD if row[1]])
def test_a_wrong_tf_config_is_refused_with_field_value_and_what_is_allowed(config, named):
    text = config if isinstance(config, str) else json.dumps(config)
    with pytest.raises(ConfigError) as error:
        Cluster.from_env({"TF_CONFIG": text})
    assert error.value.exit_code == EXIT_USER
    assert "TF_CONFIG" in str(error.value)
    for words in named:
        assert words in str(error.value)
