"""The logs of a run's pods, labelled as Argo's are, on the double of the Kubernetes API."""

import pytest
from http_double import listening
from k8s_server import K8sServer, serve
from kubernetes.client import ApiClient, Configuration
from kubernetes.config import kube_config
from werkzeug import Request, Response

from yt8m.cli.main import run
from yt8m.kubeflow.cluster_needs import ClusterAccess
from yt8m.kubeflow.server.logs import read_logs, step_of
from yt8m.schemas.errors import EXIT_FAILED, EXIT_USER, UserError, Yt8mError

RUN = "4d6b4c40-7b93-40f5-9472-009ecb3169ab"


@pytest.fixture
def server():
    server = K8sServer()
    nodes = [
        ("smoke-x.root-driver(0)", "Succeeded"),
        ("smoke-x.root(0).Trainer-driver(0)", "Succeeded"),
        ("smoke-x.root(0).Trainer(0).executor(0)", "Failed"),
        ("smoke-x.root(0).Trainer(1).executor(0)", "Running"),
        ("smoke-x.root(0).Pusher(0).executor(0)", "Pending"),
    ]
    for number, (node, phase) in enumerate(nodes):
        name = f"smoke-x-{number}"
        server.pods[name] = {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "labels": {"pipeline/runid": RUN},
                "annotations": {"workflows.argoproj.io/node-name": node},
                "creationTimestamp": f"2026-01-01T00:00:0{number}Z",
            },
            "spec": {"containers": [{"name": "main", "image": "i"}]},
            "status": {"phase": phase},
        }
        server.logs[name] = []
        server.say(name, f"first of {number}", f"last of {number}")
    return server


def _read(server, *, run=RUN, step="", tail=100):
    with serve(server) as client:
        return read_logs(ClusterAccess(client, "team"), run, step=step, tail=tail)


def test_without_a_step_the_pods_that_failed_are_shown(server):
    (log,) = _read(server)
    assert (log.step, log.pod, log.phase) == ("Trainer", "smoke-x-2", "Failed")
    assert [line.partition(" ")[2] for line in log.text.splitlines()] == ["first of 2", "last of 2"]


def test_every_try_of_a_step_is_shown_oldest_first_and_of_each_its_last_lines(server):
    logs = _read(server, step="Trainer", tail=1)
    assert [(log.pod, log.text.strip()[-9:]) for log in logs] == [
        ("smoke-x-2", "last of 2"),
        ("smoke-x-3", "last of 3"),
    ]


@pytest.mark.parametrize("status", [404, 500])  # the pod has gone, or its node
def test_a_log_that_cannot_be_read_costs_no_other(server, status):
    server.fail("GET .*smoke-x-2/log", status=status, message="not to be had", times=9)
    gone, there = _read(server, step="Trainer")
    assert (gone.text, f"{status} " in gone.problem, "not to be had" in gone.problem) == (
        "",
        True,
        True,
    )
    assert (there.problem, "last of 3" in there.text) == ("", True)
    with pytest.raises(Yt8mError, match=f"Kubernetes: {status}.*not to be had"):
        _read(server)


@pytest.mark.parametrize("step", ["Trainer-driver", "root-driver"])
def test_a_driver_is_a_step_of_its_own(server, step):
    assert [log.step for log in _read(server, step=step)] == [step]


def test_a_pod_that_has_not_begun_has_said_nothing(server):
    assert _read(server, step="Pusher") == []


def test_what_is_not_there_is_named(server):
    with pytest.raises(UserError, match=r"no pod of Tuner; there are Pusher, Trainer, Trainer-d"):
        _read(server, step="Tuner")
    del server.pods["smoke-x-2"]
    with pytest.raises(UserError, match="no pod has failed; name one"):
        _read(server)
    with pytest.raises(UserError, match=r"namespace team has no pods of run other.*executor-logs"):
        _read(server, run="other")


@pytest.mark.parametrize(
    ("status", "code"), [(200, EXIT_FAILED), (503, EXIT_FAILED), (403, EXIT_USER)]
)
def test_a_server_that_is_none_or_refuses_is_told_in_one_message(status, code):
    page = Response("<html>a proxy</html>", status)
    with listening(Request.application(lambda request: page)) as host:
        client = ApiClient(Configuration(host=host))
        with pytest.raises(Yt8mError, match="Kubernetes") as error:
            read_logs(ClusterAccess(client, "team"), RUN, step="", tail=1)
        assert error.value.exit_code == code
    with pytest.raises(Yt8mError, match=f"{host}.*current context"):  # nobody listens any more
        read_logs(ClusterAccess(client, "team"), RUN, step="", tail=1)


@pytest.mark.parametrize("text", ["a: [", "apiVersion: v1"])
def test_a_kubeconfig_that_is_none_is_a_mistake(tmp_path, monkeypatch, capsys, text):
    file = tmp_path / "kubeconfig"
    file.write_text(text)
    # Kubernetes' client reads the environment when it is imported.
    monkeypatch.setattr(kube_config, "KUBE_CONFIG_DEFAULT_LOCATION", str(file))
    assert run(["kubeflow", "logs", RUN]) == 2
    assert "no Kubernetes cluster: not in a pod, and" in capsys.readouterr().err


def test_the_driver_of_a_real_pod_is_recognised():
    """The annotation that Argo 4.0.5 wrote."""
    name = "smoke-bdgnt.root-driver"
    metadata = {"annotations": {"workflows.argoproj.io/node-name": name}}
    assert step_of({"metadata": metadata}) == "root-driver"
