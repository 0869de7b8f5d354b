"""Logs of a run's pods, from Kubernetes: Kubeflow's own answers name no pods."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yt8m.kubeflow.cluster_needs import ClusterAccess
from yt8m.schemas.errors import UserError, Yt8mError

_RUN = "pipeline/runid"
_NODE = "workflows.argoproj.io/node-name"
_CONTAINER = "main"
_ATTEMPT = re.compile(r"\(\d+\)$")
_EXECUTOR = "executor"
_TIMEOUT_S = (5, 60)
_SERVERS_FAULT = 500


@dataclass(frozen=True, kw_only=True)
class StepLog:
    """The log of one pod of a step."""

    step: str  # `Trainer`, or `Trainer-driver`
    pod: str
    phase: str
    text: str
    problem: str = ""  # the reason why it has no text: the pod is gone, or its node


def read_logs(cluster: ClusterAccess, run_id: str, *, step: str, tail: int) -> list[StepLog]:
    """The last `tail` lines of each pod of `step`, oldest first; without one, of those that failed.

    UserError where there are no such pods. A log that cannot be read costs no other one.
    """
    import urllib3
    from kubernetes import client as k8s
    from kubernetes.client.exceptions import ApiException

    api = k8s.CoreV1Api(cluster.client)
    selector = f"{_RUN}={run_id}"
    try:
        listed = api.list_namespaced_pod(
            cluster.namespace, label_selector=selector, _request_timeout=_TIMEOUT_S
        ).items
        pods = [cluster.client.sanitize_for_serialization(pod) for pod in listed]
        pods.sort(key=lambda pod: str(pod["metadata"].get("creationTimestamp", "")))
        chosen = [pod for pod in pods if _is_wanted(pod, step)]
        if not chosen:
            raise UserError(_none(cluster, run_id, step, pods))
        logs, unread = [], None
        for pod in chosen:
            if _phase(pod) == "Pending":
                continue
            name, text, problem = pod["metadata"]["name"], "", ""
            try:
                text = api.read_namespaced_pod_log(
                    name,
                    cluster.namespace,
                    container=_CONTAINER,
                    tail_lines=tail,
                    timestamps=True,
                    _request_timeout=_TIMEOUT_S,
                )
            except ApiException as error:  # the pod has gone since, or its node does not answer
                unread, problem = error, _said(error)
            log = StepLog(
                step=step_of(pod), pod=name, phase=_phase(pod), text=text, problem=problem
            )
            logs.append(log)
        if unread is not None and all(log.problem for log in logs):
            raise unread
        return logs
    except ApiException as error:
        kind = Yt8mError if not error.status or error.status >= _SERVERS_FAULT else UserError
        raise kind(f"Kubernetes: {_said(error)}") from None
    except (urllib3.exceptions.HTTPError, ValueError) as error:
        host = cluster.client.configuration.host
        raise Yt8mError(
            f"no answer of a Kubernetes API from {host} ({error}); is it up, and the cluster that "
            "kubectl's current context should name?"
        ) from None


def _said(error: Any) -> str:
    """Status and message of a Kubernetes ApiException."""
    try:
        said = json.loads(error.body)["message"]
    except (TypeError, ValueError, KeyError):  # not of Kubernetes itself
        said = error.body
    return f"{error.status} {error.reason}, {said}"


def step_of(pod: Mapping[str, Any]) -> str:
    """`smoke-x7.root(0).Trainer(0).executor(0)` is a node of the step Trainer."""
    name = str(pod["metadata"].get("annotations", {}).get(_NODE, ""))
    words = [_ATTEMPT.sub("", word) for word in name.split(".")]
    while len(words) > 1 and words[-1] == _EXECUTOR:
        words.pop()
    return words[-1]


def _is_wanted(pod: Mapping[str, Any], step: str) -> bool:
    return step_of(pod) == step if step else _phase(pod) == "Failed"


def _phase(pod: Mapping[str, Any]) -> str:
    return str(pod.get("status", {}).get("phase", ""))


def _none(cluster: ClusterAccess, run_id: str, step: str, pods: list[Mapping[str, Any]]) -> str:
    if not pods:
        return (
            f"namespace {cluster.namespace} has no pods of run {run_id}: is it another namespace "
            "(--namespace), or are they gone? The artifact executor-logs has what they said"
        )
    known = ", ".join(sorted({step_of(pod) for pod in pods}))
    return (
        f"no pod of {step}; there are {known}" if step else f"no pod has failed; name one: {known}"
    )
