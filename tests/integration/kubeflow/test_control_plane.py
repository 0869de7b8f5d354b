"""Training jobs on a real control plane: Kubernetes' own API server and controllers, and JobSet.

The pods are processes; all else is what runs in a cluster. `make control-plane` builds it.
"""

import contextlib
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
import yaml
from cluster import newest_step
from kube_api import KubeError
from kube_control_plane import NAMESPACE, control_plane
from records import make_dataset
from training import CLASSES, make_job
from yt8m_runs import QUICK

from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.components.registry.kserve import ServiceRequest, inference_service
from yt8m.components.registry.versions import Version
from yt8m.components.trainer.backends.kubernetes_api import KubernetesApi
from yt8m.components.trainer.backends.kubernetes_job import Attempt, run_to_completion
from yt8m.components.trainer.backends.kubernetes_manifest import (
    JOBSET,
    TRAINER,
    JobRequest,
    create_manifest,
)
from yt8m.components.trainer.kubernetes_config import (
    JobSecurity,
    JobSetBackend,
    Mount,
    RoleConfig,
    TFJobBackend,
)
from yt8m.schemas.errors import EXIT_ABANDONED, UserError, Yt8mError
from yt8m.schemas.kubernetes import EmptyDir, NodeRequirement, Toleration

pytestmark = [
    pytest.mark.distributed,
    pytest.mark.control_plane,
    pytest.mark.needs("control plane", "ip", "network namespaces", "root"),
]
ACCOUNT, DEAF = "pipeline-runner", "may-not-read-logs"
JOBSETS = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{NAMESPACE}/jobsets"
SHARED = Path("/mnt/yt8m")
LIMIT_S = 600


@pytest.fixture(scope="module")
def volume(tmp_path_factory):
    """What every pod has at SHARED, as from one machine to the other."""
    return tmp_path_factory.mktemp("volume")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, volume):
    """A control plane with the shipped Role, and one more that lacks the right to read logs."""
    directory = tmp_path_factory.mktemp("cluster") / "cluster"
    with control_plane(directory, claims={"yt8m": volume}) as running:
        for account in (ACCOUNT, DEAF):
            metadata = {"name": account}
            running.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
        role, binding = _shipped()
        running.apply(role, binding)
        role, binding = _shipped()
        for manifest in (role, binding):
            manifest["metadata"]["name"] = DEAF
        role["rules"] = [rule for rule in role["rules"] if rule["resources"] != ["pods/log"]]
        binding["roleRef"]["name"] = binding["subjects"][0]["name"] = DEAF
        running.apply(role, binding)
        _define_workflows(running)
        yield running


def _define_workflows(cluster):
    """Argo's kind, as far as others own it or belong to it."""
    names = {"kind": "Workflow", "plural": "workflows", "singular": "workflow"}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": "v1alpha1", "served": True, "storage": True, "schema": schema}
    spec = {"group": "argoproj.io", "scope": "Namespaced", "names": names, "versions": [version]}
    definition = {"metadata": {"name": "workflows.argoproj.io"}, "spec": spec}
    cluster.api.post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)


def _shipped():
    """kubeflow/rbac.yaml; whoever applies it names the namespace of the account."""
    text = resources.files("yt8m.kubeflow").joinpath("rbac.yaml").read_text()
    role, binding = yaml.safe_load_all(text)
    binding["subjects"][0]["namespace"] = NAMESPACE
    return role, binding


def _run(cluster, name, script, *, account=ACCOUNT, patience_s=120.0, pod="", **how):
    """A job whose one pod is a line of shell, followed to its end; what was said of it."""
    how = {"roles": {"chief": RoleConfig()}, "poll_s": 0.5, "start_timeout_s": 60.0, **how}
    backend = JobSetBackend(**how)
    request = JobRequest(key=name, image="here", command=("sh", "-c", script))
    api = KubernetesApi(JOBSET, NAMESPACE, cluster.client(account), patience_s=patience_s)
    said = []
    manifest = create_manifest(backend, request)
    run_to_completion(api, backend, manifest, say=said.append, attempt=Attempt(pod=pod))
    return said


def _name(key):
    return JobRequest(key=key, image="", command=()).job_name


def _jobset(cluster, key):
    return cluster.api.get(f"{JOBSETS}/{_name(key)}")


def _jobsets(cluster):
    return {job["metadata"]["name"]: job for job in cluster.api.get(JOBSETS)["items"]}


def _pods(cluster, key):
    return cluster.pods(**{JOBSET.name_label: _name(key)})


def _start_pod(cluster, name, command, owners=()):
    """A pod as Kubeflow would make it of a task: the shared volume, the account of the runs."""
    container = {
        "name": "main",
        "image": "here",
        "command": command,
        "volumeMounts": [{"name": "shared", "mountPath": str(SHARED)}],
    }
    volume = {"name": "shared", "persistentVolumeClaim": {"claimName": "yt8m"}}
    spec = {"serviceAccountName": ACCOUNT, "restartPolicy": "Never", "containers": [container]}
    metadata = {"name": name, "ownerReferences": list(owners)}
    pod = {"metadata": metadata, "spec": spec | {"volumes": [volume]}}
    cluster.api.post(f"/api/v1/namespaces/{NAMESPACE}/pods", pod)


def _kill_pod(cluster, name):
    """Gone at once, as under Kubeflow's launcher: nothing in it hears of it."""
    cluster.api.delete(f"/api/v1/namespaces/{NAMESPACE}/pods/{name}", grace_s=0)


def _end_of(cluster, name):
    """The exit code of a pod's container, when it has ended."""

    def ended():
        try:
            pod = cluster.api.get(f"/api/v1/namespaces/{NAMESPACE}/pods/{name}")
        except KubeError as error:
            raise AssertionError(f"{error}; it had said:\n{cluster.log(name)}") from error
        statuses = pod["status"].get("containerStatuses") or [{"state": {}}]
        return statuses[0]["state"].get("terminated")

    return _until(ended)["exitCode"]


def _until(condition, timeout_s=LIMIT_S):
    """What `condition` gives, once it is something."""
    deadline = time.monotonic() + timeout_s
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.3)
    return found


def _backend(**how):
    """`trainer.backend` of trainings that really train."""
    return {
        "name": "jobset",
        "image": "here",
        "work_dir": str(SHARED / "work"),
        "roles": {"chief": {}},
        "mounts": [{"path": str(SHARED), "claim": "yt8m"}],
        "poll_s": 0.5,
        **how,
    }


_TRAINER = """
import logging, os, sys
from pathlib import Path
from yt8m.components.trainer.backends.backend import create_backend
from yt8m.components.trainer.job import parse_job
from yt8m.schemas.errors import Yt8mError
logging.basicConfig(level=logging.INFO, format="%(message)s")
job = parse_job(Path(sys.argv[1]).read_text())
try:
    create_backend(job.trainer.backend).run(job, os.environ)
except Yt8mError as error:
    print(f"error: {error}")
    sys.exit(error.exit_code)
"""


def _start_trainer(cluster, name, job, volume):
    """A pod that asks for the training of `job`, whose paths are those of pods."""
    text = job.to_json().replace(str(volume), str(SHARED))
    (volume / f"{name}.json").write_text(text)
    _start_pod(cluster, name, ["python", "-c", _TRAINER, str(SHARED / f"{name}.json")])


def _make_job(volume, name, data=None, **trainer):
    """As make_job, with the run key `name`, and a manifest whose shards are where pods see them."""
    job = make_job(volume / name, data=data, **trainer)
    manifest = Path(job.manifest)
    manifest.write_text(manifest.read_text().replace(str(volume), str(SHARED)))
    return replace(job, checkpoint_dir=str(volume / name))


# A version's manifest, as KServe's definition has it.


def test_kserves_definition_takes_the_manifest_of_a_version_and_knows_each_of_its_fields(cluster):
    services = f"/apis/serving.kserve.io/v1beta1/namespaces/{NAMESPACE}/inferenceservices"
    cluster.define("serving.kserve.io_inferenceservices.yaml", services)
    record = VersionRecord(version=7, infra_check={"serving": {"memory_mb": 700.3}})
    version = Version(number=7, path="s3://bucket/models/7", record=record)
    for number, request in enumerate(
        (
            ServiceRequest(service_account=ACCOUNT, runtime_version="2.16.1"),
            ServiceRequest(storage_uri="pvc://claim/models/7", namespace=NAMESPACE, min_replicas=0),
        )
    ):
        manifest = inference_service(version, replace(request, name=f"videos-{number}"))
        # Unknown fields are an error, which they otherwise are not.
        made = cluster.api.post(f"{services}?fieldValidation=Strict", manifest)
        assert made["spec"]["predictor"]["storageUris"][0]["mountPath"] == "/mnt/models/7"
        manifest["metadata"]["name"] = "unknown"
        manifest["spec"]["predictor"]["model"]["batching"] = True
        with pytest.raises(KubeError, match=r"unknown field .*batching"):
            cluster.api.post(f"{services}?fieldValidation=Strict", manifest)


# A training job's manifest, with every value of the backend, as both definitions have it.

FULL = {
    "roles": {
        "chief": RoleConfig(cpu="4", cpu_request="500m", memory="16Gi", gpus=1),
        "worker": RoleConfig(replicas=3),
        "ps": RoleConfig(replicas=2, cpu="500m"),
        "evaluator": RoleConfig(),
    },
    "mounts": (
        Mount(path="/data", claim="yt8m", read_only=True),
        Mount(path="/secret", secret="s3", sub_path="x"),
        Mount(path="/settings", config_map="settings"),
        Mount(path="/dev/shm", empty_dir=EmptyDir(medium="Memory", size="8Gi")),
        Mount(path="/scratch", empty_dir=EmptyDir()),
    ),
    "environment": {"X": "y"},
    "environment_secrets": ("aws",),
    "environment_config_maps": ("settings",),
    "labels": {"kueue.x-k8s.io/queue-name": "nightly"},
    "annotations": {"cost/team": "videos"},
    "security": JobSecurity(run_as_user=10001, run_as_group=10001, fs_group=10001),
    "timeout_s": 7200,
    "service_account": "trainer",
    "node_selector": {"pool": "gpu"},
    "node_affinity": (NodeRequirement(key="zone", values=("eu-1",)),),
    "tolerations": (Toleration(key="team", operator="Equal", value="a", effect="NoSchedule"),),
    "priority_class": "nightly",
    "image_pull_secrets": ("registry",),
}
FULL_REQUEST = JobRequest(
    key="full", image="registry/yt8m:1", command=("yt8m", "train"), environment={"A": "b"}
)


@pytest.mark.parametrize("backend", [TFJobBackend(**FULL), JobSetBackend(**FULL)], ids=["tf", "js"])
def test_a_manifest_with_everything_fits_its_definition(cluster, backend):
    manifest = create_manifest(backend, FULL_REQUEST)
    collection = JOBSETS
    if manifest["kind"] == "TFJob":
        collection = f"/apis/kubeflow.org/v1/namespaces/{NAMESPACE}/tfjobs"
        cluster.define("kubeflow.org_tfjobs.yaml", collection)
    strictly = f"{collection}?fieldValidation=Strict&dryRun=All"
    made = cluster.api.post(strictly, manifest)
    assert made["metadata"]["name"] == FULL_REQUEST.job_name
    manifest["spec"]["replica"] = 1
    with pytest.raises(KubeError, match=r"unknown field .*spec.replica"):
        cluster.api.post(strictly, manifest)


# The controllers' part.


def test_a_mistake_in_what_was_given_ends_a_job_at_once(cluster):
    with pytest.raises(UserError, match=r"exit code 2: error: data\.root: nothing there"):
        _run(cluster, "exit-2", "echo error: data.root: nothing there; exit 2", restarts=3)
    assert _jobset(cluster, "exit-2")["status"].get("restarts", 0) == 0


def test_any_other_end_restarts_the_job_as_often_as_it_may(cluster):
    with pytest.raises(Yt8mError, match="exit code 1: out of luck") as error:
        _run(cluster, "exit-1", "echo out of luck; exit 1", restarts=1)
    assert not isinstance(error.value, UserError)
    assert _jobset(cluster, "exit-1")["status"]["restarts"] == 1


def test_an_eviction_restarts_the_job_and_is_not_one_of_its_restarts(cluster, volume):
    script = "if [ -e /mnt/yt8m/evicted ]; then exit 0; fi; echo begun; sleep 600"
    mounts = (Mount(path=str(SHARED), claim="yt8m"),)
    with ThreadPoolExecutor() as beside:
        said = beside.submit(_run, cluster, "evicted", script, restarts=0, mounts=mounts)
        pod = _until(lambda: _pods(cluster, "evicted"))[0]["metadata"]["name"]
        _until(lambda: "begun" in cluster.log(pod))
        (volume / "evicted").touch()
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod}/eviction"
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
        cluster.api.post(path, eviction)
        assert "created" in said.result()[0]
    status = _jobset(cluster, "evicted")["status"]
    assert (status["terminalState"], status["restarts"]) == ("Completed", 1)
    assert status.get("restartsCountTowardsMax", 0) == 0


def test_a_job_that_takes_longer_than_it_may_has_failed(cluster):
    with pytest.raises(Yt8mError, match="FailJobSet failure policy action"):
        _run(cluster, "slow", "sleep 600", timeout_s=3)
    assert _jobset(cluster, "slow")["status"].get("restarts", 0) == 0


def test_a_restricted_namespace_lets_the_pods_of_a_job_be_made(cluster):
    """Pod Security of the real API server, which enforces it by the namespace's label."""
    with _restricted(cluster):
        said = _run(cluster, "restricted", "echo done")
    assert "chief: done" in said


@contextlib.contextmanager
def _restricted(cluster):
    path, label = f"/api/v1/namespaces/{NAMESPACE}", "pod-security.kubernetes.io/enforce"
    cluster.api.patch(path, {"metadata": {"labels": {label: "restricted"}}})
    try:
        yield
    finally:
        cluster.api.patch(path, {"metadata": {"labels": {label: None}}})


def test_an_api_server_that_is_away_ends_neither_the_pods_nor_the_waiting(cluster):
    """Killed for 20 seconds, while the job runs, and started again."""
    with ThreadPoolExecutor() as beside:
        said = beside.submit(_run, cluster, "away", "echo begun; sleep 30; echo ended")
        pod = _until(lambda: _pods(cluster, "away"))[0]["metadata"]["name"]
        _until(lambda: "begun" in cluster.log(pod))
        with cluster.away("kube-apiserver"):
            time.sleep(20.0)
    chief = [line for line in said.result() if line.startswith("chief")]
    assert chief == ["chief: begun", "chief: ended"]
    assert _jobset(cluster, "away")["status"].get("restarts", 0) == 0


def test_logs_that_may_not_be_read_end_nothing(cluster, caplog):
    said = _run(cluster, "deaf", "echo begun; sleep 5", account=DEAF)
    assert not [line for line in said if line.startswith("chief")]
    assert caplog.text.count("going on without the chief's log") == 1
    assert "pods/log" in caplog.text


def test_a_webhook_that_is_down_is_told_in_the_servers_words(cluster):
    said = r"failed calling webhook .*kb\.io"
    with cluster.away("jobset"), pytest.raises(Yt8mError, match=said):
        _run(cluster, "webhook", "true", patience_s=3.0)


def test_a_trial_hears_what_the_job_would_and_leaves_none(cluster):
    backend = JobSetBackend(roles={"chief": RoleConfig()})
    manifest = create_manifest(backend, JobRequest(key="trial", image="here", command=("true",)))
    api = KubernetesApi(JOBSET, NAMESPACE, cluster.client(ACCOUNT), patience_s=3.0)
    api.try_out(manifest)
    assert _name("trial") not in _jobsets(cluster)
    with cluster.away("jobset"), pytest.raises(Yt8mError, match=r"failed calling webhook .*kb\.io"):
        api.try_out(manifest)
    stranger = KubernetesApi(JOBSET, NAMESPACE, cluster.client("default"), patience_s=60.0)
    with pytest.raises(UserError, match="the service account needs get, list, create"):
        stranger.try_out(manifest)


def test_a_quota_is_told_in_the_servers_words(cluster):
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}}
    cluster.apply(quota | {"spec": {"hard": {"count/jobsets.jobset.x-k8s.io": "0"}}})
    path = f"/api/v1/namespaces/{NAMESPACE}/resourcequotas/none"
    try:
        _until(lambda: cluster.api.get(path)["status"].get("used"))
        with pytest.raises(UserError, match="exceeded quota: none") as error:
            _run(cluster, "quota", "true")
        assert "service account" not in str(error.value)
    finally:
        cluster.api.delete(path)


def test_a_job_goes_with_the_workflow_of_the_pod_that_asked_for_it(cluster):
    """The garbage collector's work: all that is said to it is whose the job is."""
    workflow = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow"}
    path = f"/apis/argoproj.io/v1alpha1/namespaces/{NAMESPACE}/workflows"
    made = cluster.api.post(path, workflow | {"metadata": {"name": "nightly"}})
    owner = workflow | {"name": "nightly", "uid": made["metadata"]["uid"]}
    _start_pod(cluster, "nightly-trainer", ["sleep", "600"], owners=[owner])

    def delete():
        _until(lambda: any("Running" in p["status"]["phase"] for p in _pods(cluster, "owned")))
        cluster.api.delete(f"{path}/nightly")

    deleting = threading.Thread(target=delete)
    deleting.start()
    with pytest.raises(Yt8mError, match="was deleted by somebody else"):
        _run(cluster, "owned", "sleep 600", pod="nightly-trainer")
    deleting.join()
    _until(lambda: not _pods(cluster, "owned"))


def test_of_two_runs_that_want_one_training_the_second_waits_and_harms_nothing(cluster, volume):
    """Another variable makes another job of the same name; then the first Trainer's pod goes."""
    for pod in ("twin-a", "twin-b"):
        _start_pod(cluster, pod, ["sleep", "600"])
    _until(lambda: cluster.log("twin-a") is not None)
    script = "echo begun; while [ ! -e /mnt/yt8m/twins-done ]; do sleep .2; done"
    mounts = (Mount(path=str(SHARED), claim="yt8m"),)
    with ThreadPoolExecutor() as beside:
        first = beside.submit(_run, cluster, "twins", script, pod="twin-a", mounts=mounts)
        _until(lambda: any("Running" in p["status"]["phase"] for p in _pods(cluster, "twins")))
        uid = _jobset(cluster, "twins")["metadata"]["uid"]
        other = {"environment": {"X": "y"}, "mounts": mounts, "pod": "twin-b"}
        second = beside.submit(_run, cluster, "twins", script, **other)
        time.sleep(5.0)
        assert not second.done()
        assert _jobset(cluster, "twins")["metadata"]["uid"] == uid
        assert not _jobset(cluster, "twins")["status"].get("restarts", 0)
        (volume / "twins-done").touch()
        assert "created" in first.result()[0]
        time.sleep(3.0)
        assert not second.done()  # the pod of the first still brings the result home
        _kill_pod(cluster, "twin-a")
        said = second.result()
    assert "is followed by pod twin-a" in said[0]
    assert [line.partition(" ")[0] for line in said[1:3]] == ["replacing", "created"]
    assert _jobset(cluster, "twins")["metadata"]["uid"] != uid


def test_a_job_whose_trainer_has_gone_is_adopted_by_one_of_two_that_try(cluster):
    backend = JobSetBackend(roles={"chief": RoleConfig()}, poll_s=0.5)
    request = JobRequest(key="orphan", image="here", command=("sh", "-c", "sleep 20"))
    api = KubernetesApi(JOBSET, NAMESPACE, cluster.client(ACCOUNT), patience_s=60)
    manifest = create_manifest(backend, request)
    manifest["metadata"]["annotations"][TRAINER] = "gone-trainer/1"
    assert api.create(manifest)
    uid = _jobset(cluster, "orphan")["metadata"]["uid"]
    for pod in ("heir-a", "heir-b"):
        _start_pod(cluster, pod, ["sleep", "600"])
    with ThreadPoolExecutor() as beside:
        heirs = [
            beside.submit(_run, cluster, "orphan", "sleep 20", pod=pod)
            for pod in ("heir-a", "heir-b")
        ]
        _until(lambda: _trainer(cluster, "orphan") != "gone-trainer/1")
        trainer = _trainer(cluster, "orphan")
        said = ["; ".join(heir.result()) for heir in heirs]
    assert sum("following it" in text for text in said) == 1
    assert sum("is followed by pod heir-" in text for text in said) == 1
    assert _trainer(cluster, "orphan") == trainer
    assert _jobset(cluster, "orphan")["metadata"]["uid"] == uid


def _trainer(cluster, key):
    return _jobset(cluster, key)["metadata"]["annotations"][TRAINER]


# Real training.


def test_smoke_trains_on_a_jobset_from_inside_a_pod_and_is_pushed(cluster, volume):
    make_dataset(volume / "smoke/data", train=300, eval=100, classes=CLASSES)
    backend = yaml.safe_dump(_backend(), default_flow_style=True)
    settings = [*QUICK, f"trainer.backend={backend}"]
    places = {"--data": "smoke/data", "--root": "smoke/run", "--push": "smoke/models"}
    command = ["yt8m", "run", "smoke", "--quiet"]
    command += [word for flag, place in places.items() for word in (flag, str(SHARED / place))]
    command += [word for setting in settings for word in ("--set", setting)]
    before = _jobsets(cluster)
    _start_pod(cluster, "smoke", command)
    assert _end_of(cluster, "smoke") == 0, cluster.log("smoke")
    assert (volume / "smoke/models/1/saved_model.pb").exists()
    (jobset,) = [job for name, job in _jobsets(cluster).items() if name not in before]
    assert jobset["status"]["terminalState"] == "Completed"


def test_pods_that_run_wait_for_those_that_no_node_fits_yet(cluster, volume):
    """With peers that give up after 3 s, but for the time that a job has to start."""
    backend = _backend(
        roles={"chief": {"cpu": "1"}, "worker": {"cpu": "1"}}, restarts=0, start_timeout_s=LIMIT_S
    )
    distribution = {"peer_timeout_s": 3, "worker_stagger_s": 0}
    job = _make_job(volume, "late", backend=backend, distribution=distribution)
    with _cpus(cluster, 1.0):
        _start_trainer(cluster, "late", job, volume)
        (waiting,) = _until(lambda: _unschedulable(cluster))
        assert waiting["metadata"]["labels"][JOBSET.role_label] in ("chief", "worker")
        time.sleep(30)
    assert _end_of(cluster, "late") == 0, cluster.log("late")
    assert "no node fits" in cluster.log("late")
    assert Path(job.export_dir, "saved_model.pb").exists()


@contextlib.contextmanager
def _cpus(cluster, count):
    before, cluster.kubelet.cpus = cluster.kubelet.cpus, count
    try:
        yield
    finally:
        cluster.kubelet.cpus = before


def _unschedulable(cluster):
    return [
        pod
        for pod in cluster.pods()
        for condition in pod["status"].get("conditions", [])
        if condition.get("reason") == "Unschedulable"
    ]


def test_a_chief_and_a_worker_begin_a_model_anew_once_and_not_with_each_pod(cluster, volume):
    old = volume / "work/jobs/anew/checkpoints"
    old.mkdir(parents=True)
    (old / "model.json").write_text('{"model": "another"}')
    backend = _backend(roles={"chief": {}, "worker": {}})
    job = _make_job(volume, "anew", backend=backend, start_new_model=True)
    _start_trainer(cluster, "anew", job, volume)
    assert _end_of(cluster, "anew") == 0, cluster.log("anew")
    assert newest_step(old) == job.trainer.max_steps
    assert '"start_new_model": false' in (old.parent / "job.json").read_text()
    assert Path(job.export_dir, "saved_model.pb").exists()


def test_a_training_that_breaks_names_the_pod_and_its_last_words(cluster, volume):
    job = _make_job(volume, "broken", backend=_backend(restarts=0))
    for shard in (volume / "broken/data").rglob("train*.tfrecord"):
        shard.unlink()
    _start_trainer(cluster, "broken", job, volume)
    assert _end_of(cluster, "broken") != 0
    assert re.search(r"failed: .*\(pod yt8m-.*\): exit code \d", cluster.log("broken"))
    assert not Path(job.export_dir, "saved_model.pb").exists()


def test_a_trainer_that_is_killed_loses_nothing(cluster, volume):
    """Its next try adopts the job; a job without one saves and ends; the data may have moved."""
    backend = _backend(abandoned_after_s=10.0)
    endless = {"max_steps": 1_000_000, "checkpoint": {"every_s": 1e6}}
    job = _make_job(volume, "killed", backend=backend, **endless)
    _start_trainer(cluster, "first", job, volume)
    _until(lambda: "chief: " in cluster.log("first") and "step" in cluster.log("first"))
    _kill_pod(cluster, "first")

    _start_trainer(cluster, "second", job, volume)
    _until(lambda: "step" in cluster.log("second"))
    assert "of an earlier attempt; following it" in cluster.log("second")
    _kill_pod(cluster, "second")
    _until(lambda: _jobset(cluster, "killed")["status"].get("terminalState") == "Failed")
    # A process that dies while it ends is started again, and then ends at once.
    (pod,) = [p["metadata"]["name"] for p in _pods(cluster, "killed")]
    assert _end_of(cluster, pod) == EXIT_ABANDONED, cluster.log(pod)

    step = newest_step(volume / "work/jobs/killed/checkpoints")
    assert step > 0
    moved = (volume / "killed/data").rename(volume / "moved")
    job = _make_job(volume, "killed", data=moved, backend=backend, max_steps=step + 20)
    _start_trainer(cluster, "third", job, volume)
    assert _end_of(cluster, "third") == 0, cluster.log("third")
    assert "which failed or was described otherwise" in cluster.log("third")
    assert Path(job.export_dir, "saved_model.pb").exists()
