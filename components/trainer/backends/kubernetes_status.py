"""Status of a job and its pods: whether it is over, and why it failed."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from yt8m.components.trainer.backends.kubernetes_manifest import Kind
from yt8m.schemas.errors import EXIT_USER

_OVER = {"Succeeded": True, "Failed": False, "Completed": True}
# Reasons for which waiting longer is no use, unless it heals within the time to start.
_STUCK = (
    "ImagePullBackOff",
    "ErrImagePull",
    "InvalidImageName",
    "CreateContainerConfigError",
    "CreateContainerError",
    "CrashLoopBackOff",
)

# Each try to make a pod has a name of its own.
_NAME_OF_POD = re.compile(r'pods? "[^"]*"')


class Phase(enum.Enum):
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True)
class JobStatus:
    phase: Phase
    message: str = ""


def read_status(job: Mapping[str, Any]) -> JobStatus:
    """The job's phase, from its conditions."""
    for condition in job.get("status", {}).get("conditions", []):
        if condition.get("status") == "True" and condition.get("type") in _OVER:
            succeeded = _OVER[condition["type"]]
            phase = Phase.SUCCEEDED if succeeded else Phase.FAILED
            return JobStatus(phase=phase, message=str(condition.get("message", "")))
    return JobStatus(phase=Phase.RUNNING)


def explain_failure(pods: Iterable[Mapping[str, Any]], kind: Kind) -> str:
    """Why the pods failed, the most telling first; empty when none says anything."""
    reasons = [(rank, f"{task_name(p, kind)}: {text}") for p in pods for rank, text in _reasons(p)]
    return "; ".join(text for _, text in sorted(reasons)[:3])


def is_user_error(pods: Iterable[Mapping[str, Any]]) -> bool:
    """True where a process ended with the exit code of a mistake in what it was given."""
    return any(
        (status.get("state", {}).get("terminated") or {}).get("exitCode") == EXIT_USER
        for pod in pods
        for status in _containers(pod)
    )


def explain_waiting(pods: Iterable[Mapping[str, Any]], kind: Kind) -> str:
    """Why pods do not run yet."""
    texts = []
    for pod in pods:
        for status in _containers(pod):
            waiting = status.get("state", {}).get("waiting") or {}
            if waiting.get("reason") in _STUCK:
                detail = waiting.get("message", "")
                texts.append(f"{task_name(pod, kind)}: {waiting['reason']} {detail}".strip())
        for condition in pod.get("status", {}).get("conditions", []):
            if condition.get("reason") == "Unschedulable":
                texts.append(
                    f"{task_name(pod, kind)}: no node fits, {condition.get('message', '')}"
                )
    return "; ".join(texts)


def is_suspended(job: Mapping[str, Any]) -> bool:
    """Whether somebody, such as a queue, lets no pod of the job be made yet."""
    spec = job.get("spec", {})
    return bool(spec.get("suspend") or spec.get("runPolicy", {}).get("suspend"))


def explain_unmade(job: Mapping[str, Any], warnings: Iterable[Mapping[str, Any]]) -> str:
    """Why pods cannot be made: a quota, a rule of the namespace, an admission webhook."""
    made = str(job["metadata"].get("creationTimestamp") or "")
    texts = {
        str(event.get("message", "")).strip()
        for event in warnings
        if str(event.get("reason", "")).startswith("Failed")
        # Not of a job of this name before; both times are the control plane's.
        and str(event.get("lastTimestamp") or event.get("eventTime") or made) >= made
    }
    known = sorted({_NAME_OF_POD.sub("pod", text) for text in texts if text})
    return f"pods cannot be made: {'; '.join(known[:2])}" if known else ""


def terminating(pods: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The pods that are about to go, by their uids."""
    return {
        str(pod["metadata"].get("uid", pod["metadata"]["name"])): pod
        for pod in pods
        if pod["metadata"].get("deletionTimestamp")
    }


def task_name(pod: Mapping[str, Any], kind: Kind) -> str:
    """`worker 1 (pod yt8m-...-worker-1)`."""
    labels = pod["metadata"].get("labels", {})
    role, index = labels.get(kind.role_label, "pod"), labels.get(kind.index_label, "")
    return f"{role} {index} (pod {pod['metadata']['name']})".replace("  ", " ")


def is_chief(pod: Mapping[str, Any], kind: Kind) -> bool:
    return str(pod["metadata"].get("labels", {}).get(kind.role_label)) in ("chief", "master")


def has_started(pod: Mapping[str, Any]) -> bool:
    return pod.get("status", {}).get("phase") in ("Running", "Succeeded", "Failed")


def _reasons(pod: Mapping[str, Any]) -> list[tuple[int, str]]:
    reasons = []
    if pod.get("status", {}).get("reason") == "Evicted":
        reasons.append((0, f"evicted, {pod['status'].get('message', '')}"))
    for status in _containers(pod):
        for state in (status.get("state", {}), status.get("lastState", {})):
            ended = state.get("terminated") or {}
            if ended.get("exitCode"):
                reasons.append(_ended(ended))
                break
    return reasons


def _ended(ended: Mapping[str, Any]) -> tuple[int, str]:
    if ended.get("reason") == "OOMKilled":
        return (
            0,
            "killed for using more memory than its limit; raise trainer.backend.roles.*.memory",
        )
    last_words = str(ended.get("message", "")).strip().splitlines()
    said = f": {last_words[-1]}" if last_words else ""
    # A survivor of a lost peer also ends with a code; the one that broke first says more.
    rank = 2 if "UnavailableError" in said else 1
    return rank, f"exit code {ended['exitCode']}{said}"


def _containers(pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return list(pod.get("status", {}).get("containerStatuses") or [])
