"""A training job on the double of the Kubernetes API: every way to begin and to end."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from importlib import resources
from pathlib import Path

import dropped_signal
import pytest
import yaml
from k8s_server import K8sServer, serve

from yt8m.components.trainer.backends.kubernetes_api import Clock, KubernetesApi, connect
from yt8m.components.trainer.backends.kubernetes_job import Attempt, run_to_completion
from yt8m.components.trainer.backends.kubernetes_manifest import (
    TRAINER,
    JobRequest,
    create_manifest,
    kind_of,
)
from yt8m.components.trainer.kubernetes_config import (
    JobSetBackend,
    RoleConfig,
    TFJobBackend,
)
from yt8m.schemas.errors import Terminated, UserError, Yt8mError

REQUEST = JobRequest(
    key="smoke run 1", image="registry/yt8m:1", command=("yt8m", "train"), environment={"A": "b"}
)
NAME = REQUEST.job_name
ROLES = {"chief": RoleConfig(), "worker": RoleConfig(replicas=2)}


def _backend(kind, **how):
    return kind(roles=ROLES, poll_s=1.0, start_timeout_s=60, **how)


@pytest.fixture(params=[TFJobBackend, JobSetBackend], ids=["tfjob", "jobset"])
def backend(request):
    return _backend(request.param)


@pytest.fixture
def server():
    return K8sServer()


@pytest.fixture
def api(server, backend):
    with serve(server) as client:
        course = Course()
        yield KubernetesApi(kind_of(backend), "team", client, patience_s=60, clock=course.clock)


class Course:
    """A clock whose every sleep lets the cluster take the next step."""

    def __init__(self, *steps):
        self.steps, self.time = list(steps), 0.0

    def sleep(self, seconds):
        self.time += seconds
        if self.steps:
            self.steps.pop(0)()

    @property
    def clock(self):
        return Clock(now=lambda: self.time, sleep=self.sleep)


def _run(api, backend, course):
    said = []
    run_to_completion(
        api, backend, create_manifest(backend, REQUEST), say=said.append, clock=course.clock
    )
    return said


def test_a_job_is_made_followed_and_its_chief_is_heard(server, api, backend):
    def say(*lines):
        server.say(server.pod_name(NAME, "chief"), *lines)

    course = Course(
        lambda: server.start_pods(NAME),
        lambda: say("step 10 loss 3.1", "step 20 loss 2.9"),
        lambda: say("step 30 loss 2.7"),
        lambda: server.finish(NAME, succeeded=True),
    )
    said = _run(api, backend, course)
    assert [s for s in said if s.startswith("chief")] == [
        "chief: step 10 loss 3.1",
        "chief: step 20 loss 2.9",
        "chief: step 30 loss 2.7",
    ]
    assert len(server.pods) == 3


def test_a_trial_says_what_a_job_would_be_told_and_makes_none(server, api, backend):
    api.try_out(create_manifest(backend, REQUEST))
    assert server.jobs == {}
    server.forbidden = "POST"
    with pytest.raises(UserError, match="the service account needs get, list, create"):
        api.try_out(create_manifest(backend, REQUEST))


def test_an_operator_that_drops_a_field_is_too_old_and_keeps_no_job(server, api, backend):
    server.unknown = {"ttlSecondsAfterFinished"}
    for ask in (api.create, api.try_out):
        with pytest.raises(UserError, match=r"too old: it does not have spec\..*ttlSecondsAfter"):
            ask(create_manifest(backend, REQUEST))
        assert server.jobs == {}


def test_a_restarted_caller_adopts_the_job_instead_of_starting_another(server, api, backend):
    api.create(create_manifest(backend, REQUEST))
    server.start_pods(NAME)
    said = _run(api, backend, Course(lambda: server.finish(NAME, succeeded=True)))
    assert "of an earlier attempt" in said[0]
    assert server.count("POST") == 1


def test_a_job_that_had_ended_well_is_taken_as_it_is(server, api, backend):
    api.create(create_manifest(backend, REQUEST))
    server.finish(NAME, succeeded=True)
    _run(api, backend, Course())
    assert server.count("POST") == 1


def test_a_failed_or_changed_job_is_replaced(server, api, backend):
    api.create(create_manifest(backend, REQUEST))
    server.finish(NAME, succeeded=False)
    finish = Course(lambda: None, lambda: server.finish(NAME, succeeded=True))
    assert "replacing" in _run(api, backend, finish)[0]
    other = _backend(type(backend), service_account="other")
    finish = Course(lambda: None, lambda: server.finish(NAME, succeeded=True))
    assert "replacing" in _run(api, other, finish)[0]


@pytest.mark.parametrize("how", [{"status": 500}, {"status": 503}, {"status": 429}, {}])
@pytest.mark.parametrize("after", [False, True])
def test_a_create_whose_answer_is_lost_makes_one_job(server, api, backend, how, after):
    server.fail("POST", after=after, **how)
    _run(api, backend, Course(lambda: server.finish(NAME, succeeded=True)))
    assert list(server.jobs) == [NAME]


def test_the_pod_that_broke_first_is_named_with_its_last_words(server, api, backend):
    def break_down():
        server.start_pods(NAME)
        chief, worker = (server.pod_name(NAME, *at) for at in (("chief", 0), ("worker", 1)))
        lost = "UnavailableError: Task /job:worker/replica:0/task:1 heartbeat timeout"
        server.end_container(chief, 1, message=f"Traceback\n{lost}")
        server.end_container(worker, 2, message="DataError: shard train-3 is cut off")
        server.finish(NAME, succeeded=False, message="TFJob has failed because replicas failed")

    with pytest.raises(Yt8mError) as error:
        _run(api, backend, Course(break_down))
    first, second = str(error.value).split("; ")
    worker = server.pod_name(NAME, "worker", 1)
    assert f"worker 1 (pod {worker}): exit code 2: DataError: shard train-3" in first
    assert "UnavailableError" in second


def test_memory_that_ran_out_is_said_in_plain_words(server, api, backend):
    def kill():
        server.start_pods(NAME)
        server.end_container(server.pod_name(NAME, "worker"), 137, reason="OOMKilled")
        server.finish(NAME, succeeded=False)

    with pytest.raises(Yt8mError, match=r"worker 0 .*more memory than its limit"):
        _run(api, backend, Course(kill))


def test_a_job_without_words_of_its_pods_gives_its_own(server, api, backend):
    course = Course(lambda: server.finish(NAME, succeeded=False, message="deadline exceeded"))
    with pytest.raises(Yt8mError, match="deadline exceeded"):
        _run(api, backend, course)


def test_an_image_that_cannot_be_pulled_ends_in_time_and_removes_the_job(server, api, backend):
    def stick():
        server.start_pods(NAME, phase="Pending")
        chief = server.pod_name(NAME, "chief")
        server.wait_container(chief, "ImagePullBackOff", "Back-off pulling image")

    with pytest.raises(Yt8mError, match=r"within 60 s .*ImagePullBackOff Back-off"):
        _run(api, backend, Course(stick))
    assert server.jobs == {}


def test_no_operator_no_pods_is_said(server, api, backend):
    with pytest.raises(Yt8mError, match="does the operator run"):
        _run(api, backend, Course())


def test_an_operator_that_is_not_installed_is_said(server, api, backend):
    server.served.clear()
    with pytest.raises(UserError, match="operator is not installed"):
        _run(api, backend, Course())


def test_a_missing_permission_says_which_are_needed(server, api, backend):
    server.forbidden = "."
    with pytest.raises(UserError, match=r"needs get, list, create, patch and delete on .*pods/log"):
        _run(api, backend, Course())


def test_an_api_that_is_away_for_a_while_does_not_end_the_training(server, api, backend):
    course = Course(
        lambda: server.fail("GET", status=503, times=2),
        lambda: server.fail("GET", times=2),
        lambda: server.finish(NAME, succeeded=True),
    )
    _run(api, backend, course)


def test_an_api_that_stays_away_ends_it_after_the_time_that_was_set(server, api, backend):
    server.fail("GET", status=503, times=999)
    with pytest.raises(Yt8mError, match=r"for 60 s \(trainer.backend.api_timeout_s\): 503"):
        _run(api, backend, Course())


def test_an_api_that_is_away_for_minutes_is_said_once(server, backend, caplog):
    course = Course()
    with serve(server) as client:
        api = KubernetesApi(kind_of(backend), "team", client, clock=course.clock)
        server.fail("GET", times=25)  # with waits of up to 15 s: five minutes
        assert api.get(NAME) is None
    assert 240 < course.time < 600
    assert caplog.text.count("does not answer, trying again") == 1


def test_forbidden_logs_are_said_once_and_the_training_goes_on(server, api, backend, caplog):
    server.forbidden = "/log$"
    course = Course(
        lambda: server.start_pods(NAME),
        lambda: None,
        lambda: server.finish(NAME, succeeded=True),
    )
    _run(api, backend, course)
    assert caplog.text.count("going on without the chief's log") == 1
    # An API server that starts refuses for a moment, so it is asked again; then no more.
    logs = [number for number, asked in enumerate(server.requests) if asked.endswith("/log")]
    assert 1 < len(logs) < 10
    assert logs[-1] < len(server.requests) - 2


def test_a_mistake_in_what_was_given_ends_as_one(server, api, backend):
    def refuse():
        server.start_pods(NAME)
        chief = server.pod_name(NAME, "chief")
        server.end_container(chief, 2, message="error: data.root: nothing there")
        server.finish(NAME, succeeded=False)

    with pytest.raises(UserError, match=r"exit code 2: error: data\.root"):
        _run(api, backend, Course(refuse))


def test_a_jobset_is_not_restarted_on_a_mistake_in_what_was_given():
    """With these rules the real controllers end at once on 2, and restart on 1.

    The other rules, of disruptions and deadlines, are tried on a real control plane.
    """
    records = Path(__file__).parents[2] / "golden" / "kubeflow" / "records"
    seen = json.loads((records / "jobset_user_error.json").read_text())
    spec = json.loads(json.dumps(create_manifest(_backend(JobSetBackend), REQUEST)["spec"]))
    (seen_rule,) = seen["podFailurePolicy"]["rules"]
    assert seen_rule["onExitCodes"].pop("values") == [2]
    (seen_last,) = seen["failurePolicy"]["rules"]
    _, last = spec["failurePolicy"]["rules"]
    assert last["action"] == seen_last["action"]
    assert set(last["onJobFailureReasons"]) > set(seen_last["onJobFailureReasons"])
    assert spec["failurePolicy"]["maxRestarts"] == seen["failurePolicy"]["maxRestarts"]
    for job in spec["replicatedJobs"]:
        rule, _ = job["template"]["spec"]["podFailurePolicy"]["rules"]
        assert rule["onExitCodes"].pop("values") == [2, 6]
        assert rule == seen_rule


def test_the_shipped_role_allows_what_a_training_job_asks_for_and_nothing_else(
    server, api, backend
):
    course = Course(
        lambda: server.start_pods(NAME), lambda: server.finish(NAME, succeeded=True), lambda: None
    )
    _run(api, backend, course)
    api.delete(NAME)
    role, binding = yaml.safe_load_all(
        resources.files("yt8m.kubeflow").joinpath("rbac.yaml").read_text()
    )
    assert binding["roleRef"]["name"] == role["metadata"]["name"]
    allowed = {
        (resource, verb)
        for rule in role["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    verbs = {"POST": "create", "DELETE": "delete", "GET": "get", "PATCH": "patch"}
    asked = set()
    for request in server.requests:
        method, path = request.split()
        resource = next(r for r in ("tfjobs", "jobsets", "pods", "events") if f"/{r}" in path)
        is_list = path.endswith(f"/{resource}") and method == "GET"
        subresource = "/log" if path.endswith("/log") else ""
        asked.add((resource + subresource, "list" if is_list else verbs[method]))
    assert asked <= allowed
    assert {verb for _, verb in allowed} == {"get", "list", "create", "patch", "delete"}


def _trainer_pod(server, workflow):
    owner = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Workflow", "name": workflow}
    owner |= {"uid": f"uid-of-{workflow}"}
    metadata = {"name": f"{workflow}-trainer", "labels": {}, "ownerReferences": [owner]}
    server.pods[metadata["name"]] = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
    return metadata["name"], owner


def test_a_job_belongs_to_the_workflow_that_waits_for_it(server, api, backend):
    """It goes when that is deleted; the next try, perhaps of another Workflow, takes it over."""
    manifest = create_manifest(backend, REQUEST)
    for workflow in ("first", "second"):
        pod, owner = _trainer_pod(server, workflow)
        course = Course(lambda: server.finish(NAME, succeeded=True))
        attempt = Attempt(pod=pod)
        run_to_completion(api, backend, manifest, say=print, clock=course.clock, attempt=attempt)
        assert server.jobs[NAME]["metadata"]["ownerReferences"] == [owner]
        assert server.jobs[NAME]["metadata"]["annotations"][TRAINER] == attempt.trainer
        del server.pods[pod]
        server.jobs[NAME]["status"] = {}


def test_outside_of_kubeflow_a_job_belongs_to_nobody(server, api, backend):
    course = Course(lambda: server.finish(NAME, succeeded=True))
    manifest = create_manifest(backend, REQUEST)
    run_to_completion(
        api, backend, manifest, say=print, clock=course.clock, attempt=Attempt(pod="laptop")
    )
    assert "ownerReferences" not in server.jobs[NAME]["metadata"]


def test_the_namespace_is_the_kubeconfigs_where_none_is_named(tmp_path, monkeypatch):
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "c",
        "clusters": [{"name": "k", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u", "namespace": "team"}}],
    }
    file = tmp_path / "config"
    file.write_text(json.dumps(config))
    monkeypatch.setattr("kubernetes.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION", str(file))
    kind = kind_of(JobSetBackend())
    assert connect(kind, "", patience_s=1).namespace == "team"
    assert connect(kind, "other", patience_s=1).namespace == "other"


def test_a_job_deleted_by_somebody_else_is_noticed(server, api, backend):
    with pytest.raises(Yt8mError, match="deleted by somebody else"):
        _run(api, backend, Course(server.jobs.clear))


def test_ctrl_c_deletes_the_job(server, api, backend):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _run(api, backend, Course(lambda: server.start_pods(NAME), interrupt))
    assert server.jobs == {}


# Pods that are not made, or do not go.


def _wait(server, api, backend, *steps):
    """What is said, and when, until the job has succeeded, two minutes after these steps."""
    said, backend = [], replace(backend, poll_s=10.0, start_timeout_s=600.0)
    course = Course(*steps, *[lambda: None] * 12, lambda: server.finish(NAME, succeeded=True))

    def say(text):
        said.append((course.time, text))

    manifest = create_manifest(backend, REQUEST)
    run_to_completion(api, backend, manifest, say=say, clock=course.clock)
    return said


QUOTA = 'Error creating: pods "{}-chief-0-0-x{}" is forbidden: exceeded quota: team'
SECURITY = 'Error creating: pods "{}-chief-0-0-x{}" is forbidden: violates PodSecurity "restricted"'


@pytest.mark.parametrize("message", [QUOTA, SECURITY], ids=["quota", "pod security"])
def test_pods_that_may_not_be_made_are_told_once_within_a_minute(server, api, backend, message):
    def refuse(number):
        server.warn(f"{NAME}-chief-0", "FailedCreate", message.format(NAME, number))

    steps = [lambda number=number: refuse(number) for number in range(5)]
    server.warn("another-job-chief-0", "FailedCreate", "Error creating: nothing of ours")
    ((at, told),) = [line for line in _wait(server, api, backend, *steps) if "waiting" in line[1]]
    assert at < 60
    assert told == f"waiting: pods cannot be made: {message.format('', '')}".replace(
        '"-chief-0-0-x"', ""
    ).replace("pods  is", "pod is")


def test_an_event_of_a_job_before_is_not_told(server, api, backend):
    def make_later():
        server.jobs[NAME]["metadata"]["creationTimestamp"] = "2026-01-01T00:10:00Z"
        server.warn(f"{NAME}-chief-0", "FailedCreate", "Error creating: of yesterday")
        server.events[-1]["lastTimestamp"] = "2026-01-01T00:09:59Z"

    assert len(_wait(server, api, backend, make_later)) == 1


def test_events_that_may_not_be_read_end_nothing(server, api, backend, caplog):
    server.forbidden = "/events$"
    _wait(server, api, backend)
    assert caplog.text.count("the reasons for missing pods are not shown") == 1


def test_the_reason_is_in_the_error_where_the_pods_are_never_made(server, api, backend):
    def refuse():
        server.warn(f"{NAME}-chief-0", "FailedCreate", QUOTA.format(NAME, 1))

    with pytest.raises(Yt8mError, match=r"did not start within 60 s .*exceeded quota: team"):
        _run(api, backend, Course(refuse))


def test_a_suspended_job_is_waited_for_and_has_its_time_to_start_afterwards(server, api, backend):
    def suspend(is_suspended):
        spec = server.jobs[NAME]["spec"]
        (spec if "replicatedJobs" in spec else spec["runPolicy"])["suspend"] = is_suspended

    def start():
        suspend(False)
        server.start_pods(NAME)

    course = [lambda: suspend(True), *[lambda: None] * 12, start]
    said = _wait(server, api, backend, *course)
    assert [text for _, text in said if "waiting" in text] == [
        "waiting: the job is suspended, as by a queue (Kueue) that has not admitted it yet"
    ]
    server.jobs.clear()
    server.pods.clear()
    slow, never = replace(backend, poll_s=10.0), Course(*course[:-1], lambda: suspend(False))
    with pytest.raises(Yt8mError, match="never made"):
        _run(api, slow, never)
    assert 180 < never.time < 240


def test_a_pod_that_does_not_go_is_named_with_its_node(server, api, backend):
    def terminate():
        server.start_pods(NAME)
        worker = server.pods[server.pod_name(NAME, "worker", 1)]
        worker["metadata"]["deletionTimestamp"] = "2020-01-01T00:00:00Z"  # by its node's clock
        worker["spec"]["nodeName"] = "node-7"

    said = _wait(server, api, backend, terminate)
    ((at, told),) = [line for line in said if "waiting" in line[1]]
    assert at >= 60
    assert re.search(r"worker 1 \(pod .*\) has been terminating for over 60 s; .*node-7", told)


# The chief's lines, whatever the clocks of the nodes say.


def _heard(api, backend, course):
    return [line.partition(" ")[2] for line in _run(api, backend, course) if "chief: " in line]


def test_a_clock_that_is_behind_or_set_back_loses_no_line(server, api, backend):
    def say(stamp, *lines):
        server.logs[server.pod_name(NAME, "chief")] += [f"{stamp} {line}" for line in lines]

    course = Course(
        lambda: server.start_pods(NAME),
        lambda: say("2026-01-01T00:01:00.1Z", "one", "two"),
        lambda: say("2026-01-01T00:00:20.1Z", "three"),  # 40 s before
        lambda: say("2026-01-01T00:00:20.1Z", "three"),  # the same line at the same time
        lambda: None,
        lambda: say("2026-01-01T00:00:21.1Z", "four"),
        lambda: server.finish(NAME, succeeded=True),
    )
    assert _heard(api, backend, course) == ["one", "two", "three", "three", "four"]


def test_more_lines_than_are_asked_for_and_a_log_that_began_anew_are_told(server, api, backend):
    many = [f"step {number}" for number in range(1000)]

    def say(*lines):
        server.say(server.pod_name(NAME, "chief"), *lines)

    def restart():
        server.logs[server.pod_name(NAME, "chief")].clear()
        say("again")

    course = Course(
        lambda: server.start_pods(NAME),
        lambda: say("one"),
        lambda: say(*many),
        restart,
        lambda: say("last"),
        lambda: server.finish(NAME, succeeded=True),
    )
    assert _heard(api, backend, course) == ["one", *many, "again", "last"]


def test_a_chief_on_another_node_is_heard_from_its_first_line(server, api, backend):
    def move():
        old = server.pods.pop(server.pod_name(NAME, "chief"))
        name = "moved-chief"
        server.pods[name] = {**old, "metadata": {**old["metadata"], "name": name}}
        server.logs[name] = ["2020-01-01T00:00:00Z restored", "2020-01-01T00:00:01Z step 5"]

    course = Course(
        lambda: server.start_pods(NAME),
        lambda: server.say(server.pod_name(NAME, "chief"), "step 4"),
        move,
        lambda: None,
        lambda: server.finish(NAME, succeeded=True),
    )
    assert _heard(api, backend, course) == ["step 4", "restored", "step 5"]


# Twins: two runs with one key, and so with jobs of one name.


def _job_of(server, api, backend, pod="", workflow="first", **changes):
    """A running job that another Trainer has made."""
    manifest = create_manifest(backend, replace(REQUEST, **changes))
    other = Attempt(pod=pod)
    manifest["metadata"]["annotations"][TRAINER] = other.trainer
    if pod:
        owner = _trainer_pod(server, workflow)[1]
        server.pods[pod]["status"] = {"phase": "Running"}
        manifest["metadata"]["ownerReferences"] = [owner]
    api.create(manifest)
    server.start_pods(NAME)
    return other


def _follow(api, backend, course, **attempt):
    said, attempt = [], Attempt(**attempt)
    manifest = create_manifest(backend, REQUEST)
    run_to_completion(api, backend, manifest, say=said.append, clock=course.clock, attempt=attempt)
    return said


SAME, OTHER_IMAGE, OTHER_VARIABLE = {}, {"image": "registry/yt8m:2"}, {"environment": {"A": "c"}}


@pytest.mark.parametrize("changes", [SAME, OTHER_IMAGE, OTHER_VARIABLE], ids=str)
def test_a_job_whose_trainer_lives_is_waited_for_and_left_as_it_is(server, api, backend, changes):
    other = _job_of(server, api, backend, "first-trainer", **changes)
    seen = []

    def look():
        job = server.jobs[NAME]
        seen.append((job["metadata"]["uid"], job["metadata"]["annotations"][TRAINER]))

    def end():
        server.finish(NAME, succeeded=True)
        server.pods["first-trainer"]["status"]["phase"] = "Succeeded"

    course = Course(*[look] * 20, end, lambda: None, lambda: server.finish(NAME, succeeded=True))
    said = _follow(api, backend, course, pod="second-trainer")
    assert len(set(seen)) == 1
    assert seen[0][1] == other.trainer
    assert "is followed by pod first-trainer of Workflow first" in said[0]
    assert len([line for line in said if line.startswith("waiting")]) == 1
    assert server.count("PATCH") == 0
    assert server.count("DELETE") == (0 if changes is SAME else 1)


@pytest.mark.parametrize("changes", [SAME, OTHER_IMAGE], ids=str)
def test_who_is_interrupted_while_waiting_deletes_nobodys_job(server, api, backend, changes):
    _job_of(server, api, backend, "first-trainer", **changes)

    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _follow(api, backend, Course(lambda: None, interrupt), pod="second-trainer")
    assert list(server.jobs) == [NAME]
    assert server.count("DELETE") == 0


def _vanish(pods):
    del pods["first-trainer"]


def _terminate(pods):
    pods["first-trainer"]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"


def _fail(pods):
    pods["first-trainer"]["status"]["phase"] = "Failed"


@pytest.mark.parametrize("end", [_vanish, _terminate, _fail])
def test_a_job_whose_trainer_has_gone_is_adopted_and_then_ones_own(server, api, backend, end):
    _job_of(server, api, backend, "first-trainer")
    end(server.pods)

    def interrupt():
        assert server.jobs[NAME]["metadata"]["annotations"][TRAINER].startswith("second-trainer/")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _follow(api, backend, Course(interrupt), pod="second-trainer")
    assert server.jobs == {}


def test_the_next_try_of_the_same_workflow_adopts_at_once(server, api, backend):
    """Its node may be lost, and its pod said to run for minutes."""
    _job_of(server, api, backend, "first-trainer")
    again, _ = _trainer_pod(server, "first")
    course = Course(lambda: server.finish(NAME, succeeded=True))
    said = _follow(api, backend, course, pod=again)
    assert "of an earlier attempt; following it" in said[0]


def test_without_pods_a_heartbeat_alone_tells_whether_a_trainer_lives(
    server, api, backend, tmp_path
):
    beat, times = tmp_path / "heartbeat", iter(range(99))
    beat.write_text("from before")
    _job_of(server, api, backend)

    def renew():
        beat.write_text(str(next(times)))

    course = Course(*[renew] * 10, *[lambda: None] * 4, lambda: server.finish(NAME, succeeded=True))
    before = server.jobs[NAME]["metadata"]["annotations"][TRAINER]
    lines = _follow(api, backend, course, heartbeat=str(beat), heartbeat_every_s=1.0)
    assert lines[0].endswith("is followed by another process")
    assert "of an earlier attempt; following it" in lines[1]
    assert course.time >= 13  # ten renewals, and then none for three times as long as usual
    assert server.jobs[NAME]["metadata"]["annotations"][TRAINER] != before


def test_a_trainer_that_was_frozen_and_lost_its_job_waits_and_deletes_nothing(server, api, backend):
    def take():
        _trainer_pod(server, "second")
        server.pods["second-trainer"]["status"] = {"phase": "Running"}
        job = {"metadata": {**server.jobs[NAME]["metadata"]}}
        assert api.take_over(job, {"annotations": {TRAINER: "second-trainer/1"}})

    def interrupt():
        raise KeyboardInterrupt

    said = []
    with pytest.raises(KeyboardInterrupt):
        run_to_completion(
            api,
            backend,
            create_manifest(backend, REQUEST),
            say=said.append,
            clock=Course(lambda: server.start_pods(NAME), take, interrupt).clock,
            attempt=Attempt(pod="laptop"),
        )
    assert "is followed by pod second-trainer" in said[-2]
    assert said[-1] == f"cancelled: {NAME} stays, for pod second-trainer follows it"
    assert list(server.jobs) == [NAME]


def test_of_two_that_adopt_at_the_same_time_one_does(server, api, backend, monkeypatch):
    _job_of(server, api, backend)
    take_over, first = api.take_over, []

    def late(job, metadata):
        if not first:
            first.append(take_over(job, {"annotations": {TRAINER: "faster-trainer/1"}}))
            _trainer_pod(server, "faster")
            server.pods["faster-trainer"]["status"] = {"phase": "Running"}
        return take_over(job, metadata)

    monkeypatch.setattr(api, "take_over", late)
    said = _follow(api, backend, Course(lambda: server.finish(NAME, succeeded=True)))
    assert "is followed by pod faster-trainer" in said[0]
    assert server.jobs[NAME]["metadata"]["annotations"][TRAINER] == "faster-trainer/1"


def test_another_job_of_the_same_name_is_not_deleted(server, api, backend):
    _job_of(server, api, backend)
    api.delete(NAME, uid="that of a job before")
    assert list(server.jobs) == [NAME]
    api.delete(NAME, uid=server.jobs[NAME]["metadata"]["uid"])
    assert server.jobs == {}


# An API server that starts has not read its roles yet.


@pytest.mark.parametrize(
    ("pattern", "times", "is_allowed_before", "ends"),
    [
        (".", 3, True, True),
        ("GET .*/(tfjobs|jobsets)/", 6, True, True),  # for about half a minute
        ("GET .*/pods$", 6, True, True),
        ("POST", 2, False, True),  # asked for the first time: it is believed after ten seconds
        ("POST", 99, False, False),
        ("GET .*/(tfjobs|jobsets)/", 99, True, False),
    ],
)
def test_a_refusal_of_what_was_allowed_before_is_waited_for(
    server, backend, pattern, times, is_allowed_before, ends
):
    course = Course()
    with serve(server) as client:
        api = KubernetesApi(kind_of(backend), "team", client, patience_s=60, clock=course.clock)
        began = []

        def refuse():
            began.append(course.time)
            server.lack_roles(pattern, times=times)

        if not is_allowed_before:
            refuse()
        course.steps = [lambda: server.start_pods(NAME)] if is_allowed_before else []
        following = Course(
            lambda: server.start_pods(NAME),
            refuse if is_allowed_before else lambda: None,
            lambda: server.finish(NAME, succeeded=True),
        )
        if ends:
            _run(api, backend, following)
        else:
            with pytest.raises(UserError, match="service account needs"):
                _run(api, backend, following)
            patience = 60 if is_allowed_before else 10
            assert patience / 2 < course.time - began[0] <= patience
    assert not server.jobs or server.count("DELETE") == 0


_CALLER = """
import sys
from kubernetes import client
from yt8m.components.trainer.backends.kubernetes_api import KubernetesApi
from yt8m.components.trainer.kubernetes_config import TFJobBackend
from yt8m.components.trainer.backends.kubernetes_job import Attempt, run_to_completion
from yt8m.components.trainer.backends.kubernetes_manifest import *
api = KubernetesApi(TFJOB, "team", client.ApiClient(client.Configuration(host=sys.argv[1])))
backend = TFJobBackend(poll_s=0.1)
request = JobRequest(key="k", image="i", command=("yt8m",))
{more}
run_to_completion(api, backend, create_manifest(backend, request), say=print)
"""

# Where the signal comes, once the job is made.
_MOMENTS = {
    "while Python finalizes an object": """
import signal
from dropped_signal import drop_signal
def print(text):
    if text.startswith("created"):
        drop_signal(signal.SIGTERM)
""",
    "while the client takes a lock": """
import signal, threading
created = []
print = created.append
class Condition(threading.Condition):
    def __enter__(self):
        entered = super().__enter__()
        if created:
            created.clear()
            signal.raise_signal(signal.SIGTERM)
        return entered
threading.Condition = Condition
""",
    "in a pause": """
import os, signal, threading
backend = TFJobBackend(poll_s=600)
def print(text):
    if text.startswith("created"):
        threading.Timer(2.0, os.kill, [os.getpid(), signal.SIGTERM]).start()
""",
}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_a_terminated_process_deletes_its_job_and_a_killed_one_leaves_it_to_be_adopted(server, how):
    with serve(server) as client:
        command = [sys.executable, "-c", _CALLER.format(more=""), client.configuration.host]
        caller = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        _until(lambda: server.count("GET .*/pods"))
        caller.send_signal(how)
        caller.wait(timeout=30)
        assert len(server.jobs) == (0 if how is signal.SIGTERM else 1)
        if how is signal.SIGKILL:
            again = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
            (name,) = server.jobs
            threading.Timer(1.0, server.finish, [name], {"succeeded": True}).start()
            said, _ = again.communicate(timeout=60)
            assert "earlier attempt" in said
            assert again.returncode == 0


@pytest.mark.parametrize("moment", _MOMENTS)
def test_a_terminated_process_deletes_its_job_whenever_the_signal_comes(server, moment):
    with serve(server) as client:
        script = _CALLER.format(more=_MOMENTS[moment])
        caller = subprocess.run(
            [sys.executable, "-c", script, client.configuration.host],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "PYTHONPATH": str(Path(dropped_signal.__file__).parent)},
        )
    assert caller.stderr.splitlines()[-1].endswith("continues from its last checkpoint")
    assert server.count("POST") == server.count("DELETE") == 1
    assert not server.jobs


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("is_done", [False, True])
def test_a_signal_makes_no_job_and_deletes_none_that_has_succeeded(
    api, server, backend, number, is_done
):
    def send():
        signal.raise_signal(number)

    def finish():
        server.finish(NAME, succeeded=True)
        pods = api.pods
        api.pods = lambda name: (send(), pods(name))[1]

    course = Course(finish) if is_done else Course()
    with pytest.raises(KeyboardInterrupt if number == signal.SIGINT else Terminated):
        run_to_completion(
            api,
            backend,
            create_manifest(backend, REQUEST),
            say=print,
            clock=course.clock,
            attempt=Attempt() if is_done else Attempt(prepare=send),
        )
    assert server.count("POST") == len(server.jobs) == is_done


def _until(condition, timeout_s=60):
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)
