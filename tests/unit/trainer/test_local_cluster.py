import json

import pytest

from yt8m.components.trainer.backends.local import free_ports
from yt8m.components.trainer.tf_config import (
    Cluster,
    ClusterKind,
    Role,
    cluster_configs,
    parse_processes,
)
from yt8m.schemas.errors import ConfigError


def test_processes_are_counted_by_role():
    assert parse_processes("chief=1, worker=2,ps=1,evaluator") == {
        Role.CHIEF: 1,
        Role.WORKER: 2,
        Role.PS: 1,
        Role.EVALUATOR: 1,
    }
    assert parse_processes("worker=2,ps=0") == {Role.WORKER: 2}


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "no process"),
        ("worker=0", "no process"),
        ("wrker=1", "wrker=1"),
        ("worker=two", "worker=two"),
        ("worker=-1", "worker=-1"),
        ("worker=²", "worker=²"),
        ("worker=1000", "worker=1000"),
        ("worker=1,worker=2", "given twice"),
    ],
)
def test_what_is_no_list_of_processes_is_refused(text, named):
    with pytest.raises(ConfigError, match="processes") as error:
        parse_processes(text)
    assert named in str(error.value)


@pytest.mark.parametrize("text", ["ps=1,worker=1", "chief=2,worker=1", "chief=1,master=1"])
def test_a_cluster_that_its_own_processes_would_refuse_is_refused_before_they_start(text):
    counts = parse_processes(text)
    with pytest.raises(ConfigError, match="TF_CONFIG"):
        cluster_configs(counts, range(1, 9))


def test_each_process_gets_its_own_tf_config_of_one_cluster():
    counts = parse_processes("chief=1,worker=2,ps=1,evaluator=1")
    configs = cluster_configs(counts, range(5001, 5006))
    assert len(configs) == 5
    assert len({json.dumps(json.loads(text)["cluster"]) for text in configs.values()}) == 1
    for (role, index), text in configs.items():
        parsed = Cluster.from_env({"TF_CONFIG": text})
        assert (parsed.role, parsed.index) == (role, index)
        assert parsed.kind is ClusterKind.PARAMETER_SERVER


def test_ports_are_free_and_distinct():
    ports = free_ports("chief=1,worker=7")
    assert len(set(ports)) == 8
