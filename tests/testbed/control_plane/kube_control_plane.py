"""etcd, kube-apiserver, kube-controller-manager and JobSet: the real programs, for tests.

`make control-plane` builds them, of the versions in tests/testbed/control_plane/go.mod. They run in
a network namespace of their own (`pod_network`), where pods are processes (`process_kubelet`).

with control_plane(directory, claims={"yt8m": directory / "volume"}) as cluster:
    cluster.api.post("/api/v1/namespaces/team/pods", {...})
"""

from __future__ import annotations

import base64
import contextlib
import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import requests
import yaml
from kube_api import KubeApi, KubeError
from pod_network import GATEWAY, pod_network
from pod_surroundings import API_PORT
from process_kubelet import Kubelet
from programs import Programs
from requirements import control_plane_programs

NAMESPACE = "team"
_TOKEN = "of-the-administrator"
_START_S = 120.0
_WEBHOOK_PORT = 9443
_CONTROLLERS = (
    "serviceaccount-controller",
    "serviceaccount-token-controller",
    "root-ca-certificate-publisher-controller",
    "namespace-controller",
    "garbage-collector-controller",
    "endpointslice-controller",
    "job-controller",
    "resourcequota-controller",
    "ttl-after-finished-controller",
)


class Cluster:
    """A control plane that runs, and its one node."""

    def __init__(self, directory: Path, api: KubeApi, kubelet: Kubelet) -> None:
        self.api, self.kubelet = api, kubelet
        self._directory, self._programs = directory, Programs(directory / "logs")

    def client(self, account: str) -> Any:
        """The official client, as that service account of the namespace."""
        from kubernetes import client

        path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
        configuration = client.Configuration(host=self.api.url)
        configuration.ssl_ca_cert = str(self.api.authority)
        token = self.api.post(path, {"spec": {"audiences": []}})["status"]["token"]
        configuration.api_key = {"authorization": f"Bearer {token}"}
        return client.ApiClient(configuration)

    def apply(self, *manifests: dict[str, Any]) -> None:
        """Create Roles, RoleBindings and service accounts in the namespace."""
        for manifest in manifests:
            group, kind = manifest["apiVersion"], manifest["kind"].lower()
            root = f"/apis/{group}" if "/" in group else f"/api/{group}"
            self.api.post(f"{root}/namespaces/{NAMESPACE}/{kind}s", manifest)

    def define(self, file: str, collection: str) -> None:
        """A custom resource of others, by the file of its definition; `collection` then is there.

        What acts on it is not installed: the API server alone holds it against its schema.
        """
        (definition,) = _manifests(file)
        self.api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        _until(lambda: self.api.get(collection), file)

    def pods(self, **labels: str) -> list[dict[str, Any]]:
        selector = ",".join(f"{name}={value}" for name, value in labels.items())
        path = f"/api/v1/namespaces/{NAMESPACE}/pods"
        found: list[dict[str, Any]] = self.api.get(path, labelSelector=selector)["items"]
        return found

    def log(self, pod: str) -> str:
        path = self.kubelet.log_of(NAMESPACE, pod)
        return path.read_text(encoding="utf-8") if path is not None else ""

    @contextlib.contextmanager
    def away(self, program: str) -> Iterator[None]:
        """It is killed; it is back, with all that it knew, when the block has ended.

        For a thread that lasts as long as the cluster: a process dies with the one that started it.
        """
        self._programs.kill(program)
        yield
        self._programs.start_again(program)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        try:
            self._start_etcd()
            self._start_api_server()
            self._start_controllers()
            with self.kubelet.running(_pair(self._directory)):
                self._install_jobset()
                yield
        finally:
            self._programs.kill_all()

    def _start(self, name: str, *arguments: str) -> None:
        self._programs.start(name, _program(name), *arguments)

    def _start_etcd(self) -> None:
        self._start(
            "etcd",
            f"--data-dir={self._directory / 'etcd'}",
            "--listen-client-urls=http://127.0.0.1:2379",
            "--advertise-client-urls=http://127.0.0.1:2379",
            "--listen-peer-urls=http://127.0.0.1:2380",
            "--unsafe-no-fsync",
        )

    def _start_api_server(self) -> None:
        certificate, key = _pair(self._directory)
        self._start(
            "kube-apiserver",
            "--etcd-servers=http://127.0.0.1:2379",
            f"--secure-port={API_PORT}",
            f"--advertise-address={GATEWAY}",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}",
            "--authorization-mode=RBAC",
            f"--token-auth-file={self._directory / 'tokens.csv'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={key}",
            f"--service-account-signing-key-file={key}",
            "--service-cluster-ip-range=10.96.0.0/24",
            "--endpoint-reconciler-type=none",
            "--kubelet-preferred-address-types=InternalIP",
        )
        _until(lambda: self.api.get("/api/v1/namespaces/kube-system"), "the API server")

    def _start_controllers(self) -> None:
        self._start(
            "kube-controller-manager",
            f"--kubeconfig={self._directory / 'kubeconfig'}",
            f"--controllers={','.join(_CONTROLLERS)}",
            f"--service-account-private-key-file={_pair(self._directory)[1]}",
            f"--root-ca-file={self.api.authority}",
            "--leader-elect=false",
            "--secure-port=0",
        )
        self.api.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/default"
        _until(lambda: self.api.get(account), "the controllers")

    def _install_jobset(self) -> None:
        """As JobSet's own manifests do, but for its webhooks' address."""
        jobsets = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{NAMESPACE}/jobsets"
        self.define("jobset.x-k8s.io_jobsets.yaml", jobsets)
        self._start(
            "jobset",
            f"--kubeconfig={self._directory / 'kubeconfig'}",
            f"--config={self._directory / 'jobset.yaml'}",
        )
        for webhooks in _manifests("manifests.yaml"):
            _point_webhooks(webhooks, self.api.authority)
            kind = webhooks["kind"].lower()
            self.api.post(f"/apis/admissionregistration.k8s.io/v1/{kind}s", webhooks)
        trial: dict[str, Any] = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
        trial |= {"metadata": {"name": "trial"}, "spec": {"replicatedJobs": []}}
        _until(lambda: self.api.post(f"{jobsets}?dryRun=All", trial), "JobSet's webhooks")


@contextlib.contextmanager
def control_plane(
    directory: Path,
    claims: Mapping[str, Path],
    names: Mapping[str, str] | None = None,
    path: Sequence[Path] = (),
) -> Iterator[Cluster]:
    """A cluster of its own, with a namespace `team`; this thread is in its network meanwhile.

    Pods find programs in `path` before this machine's own.
    """
    directory.mkdir(parents=True)
    _make_certificate(directory)
    _write_configuration(directory)
    authority = directory / "tls.crt"
    api = KubeApi(f"https://{GATEWAY}:{API_PORT}", _TOKEN, authority)
    kubelet = Kubelet(api, directory / "pods", claims, names or {}, path)
    cluster = Cluster(directory, api, kubelet)
    with pod_network(), cluster.running():
        yield cluster


def _program(name: str) -> Path:
    place = control_plane_programs()
    assert place is not None, "make control-plane"
    return place / name


def _make_certificate(directory: Path) -> None:
    """One self-signed pair serves the API, the webhooks, the kubelet and the accounts' tokens."""
    certificate, key = _pair(directory)
    command = f"""openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=tests
        -addext subjectAltName=IP:{GATEWAY},IP:127.0.0.1 -out {certificate} -keyout {key}""".split()
    subprocess.run(command, check=True, capture_output=True)


def _pair(directory: Path) -> tuple[Path, Path]:
    return directory / "tls.crt", directory / "tls.key"


def _write_configuration(directory: Path) -> None:
    (directory / "tokens.csv").write_text(f'{_TOKEN},admin,1,"system:masters"\n')
    server = {"server": f"https://{GATEWAY}:{API_PORT}"}
    cluster = server | {"certificate-authority": str(directory / "tls.crt")}
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "admin",
        "clusters": [{"name": "here", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": _TOKEN}}],
        "contexts": [{"name": "admin", "context": {"cluster": "here", "user": "admin"}}],
    }
    (directory / "kubeconfig").write_text(json.dumps(kubeconfig))
    jobset = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        "kind": "Configuration",
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "webhook": {"port": _WEBHOOK_PORT, "certDir": str(directory)},
        "metrics": {"bindAddress": "0"},
    }
    (directory / "jobset.yaml").write_text(json.dumps(jobset))


def _manifests(name: str) -> list[dict[str, Any]]:
    text = _program(f"manifests/{name}").read_text(encoding="utf-8")
    return list(yaml.safe_load_all(text))


def _point_webhooks(configuration: dict[str, Any], authority: Path) -> None:
    """To an address in place of a Service, and of pods to those of a JobSet (as its patches do)."""
    bundle = base64.b64encode(authority.read_bytes()).decode()
    of_jobsets = {"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}
    for webhook in configuration["webhooks"]:
        path = webhook["clientConfig"]["service"]["path"]
        url = f"https://{GATEWAY}:{_WEBHOOK_PORT}{path}"
        webhook["clientConfig"] = {"url": url, "caBundle": bundle}
        if path.endswith("pod"):
            webhook["objectSelector"] = {"matchExpressions": [of_jobsets]}


def _until(ask: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        try:
            ask()
            return
        except (KubeError, requests.RequestException) as error:
            if time.monotonic() > deadline:
                raise AssertionError(f"{what} did not answer in {_START_S:.0f} s") from error
        time.sleep(0.1)
