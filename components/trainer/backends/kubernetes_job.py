"""Run one training job on a cluster to its end, and come back to it after a restart."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from yt8m.components.trainer.backends import kubernetes_status as status
from yt8m.components.trainer.backends.kubernetes_api import Clock, ForbiddenError, KubernetesApi
from yt8m.components.trainer.backends.kubernetes_manifest import DIGEST, TRAINER, kind_of
from yt8m.components.trainer.cluster.heartbeat import Pulse, sending_heartbeats
from yt8m.components.trainer.cluster.stop_signal import StopSignal
from yt8m.components.trainer.kubernetes_config import KubernetesBackend
from yt8m.schemas.errors import Terminated, UserError, Yt8mError

Say = Callable[[str], None]
_TAIL_LINES, _KNOWN_LINES = 200, 3
_UNMADE_S = 15.0  # between two looks at why pods are not made
_TERMINATING_S = 60.0  # longer than the grace that pods usually have
_DELETION_S = 120.0  # after which a job that is being deleted is no longer waited for


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One Trainer's try to have a job trained. Several may want the same job at the same time."""

    pod: str = ""  # that asks; empty outside of Kubernetes
    heartbeat: str = ""  # the file by which a Trainer shows that it follows the job
    heartbeat_every_s: float = 0.0
    prepare: Callable[[], None] = lambda: None  # puts what the job reads where its pods see it
    before_create: Callable[[], None] = lambda: None  # not called where a job is adopted
    name: str = field(default_factory=lambda: uuid.uuid4().hex[:12])

    @property
    def trainer(self) -> str:
        """The Trainer's mark on the job that this attempt follows."""
        return f"{self.pod}/{self.name}"

    def following(self) -> AbstractContextManager[None]:
        if not self.heartbeat:
            return nullcontext()
        return sending_heartbeats(self.heartbeat, every_s=self.heartbeat_every_s)


def run_to_completion(
    api: KubernetesApi,
    backend: KubernetesBackend,
    manifest: Mapping[str, Any],
    *,
    say: Say,
    attempt: Attempt | None = None,
    clock: Clock | None = None,
) -> None:
    """Create the job, or adopt the one that runs already; return when it has succeeded.

    A job has one Trainer, which stands on it: the one that made it, or adopted it from one that has
    gone. Another that wants the same training waits. Cancelled (by a signal), a Trainer deletes
    its own job and no other. Killed, it leaves it running, and the next call with the same run key
    finds it. The job belongs to the Workflow of the pod that asks: it goes when that is deleted.
    """
    with _StopSignal() as stop:
        heard = stop.heard_by(clock or Clock())
        course = _Course(api, backend, manifest, say, attempt or Attempt(), heard, stop)
        before, api.clock = api.clock, stop.heard_by(api.clock)
        try:
            course.run()
        except (KeyboardInterrupt, Terminated):
            api.clock = before
            course.cancel()
            raise
        stop.obey_if_requested()


class _Course:
    """The steps from a manifest to a job that has succeeded."""

    def __init__(
        self,
        api: KubernetesApi,
        backend: KubernetesBackend,
        manifest: Mapping[str, Any],
        say: Say,
        attempt: Attempt,
        clock: Clock,
        stop: _StopSignal,
    ) -> None:
        self._api, self._backend, self._say, self._clock = api, backend, say, clock
        self._stop = stop
        self._attempt, self._manifest = attempt, manifest
        self._kind, self._name = kind_of(backend), str(manifest["metadata"]["name"])
        self._label = f"{self._kind.kind} {self._name}"
        self._owners: list[dict[str, Any]] = []
        # The Trainer that stands on the job while this attempt follows it.
        self._trainer = attempt.trainer

    def run(self) -> None:
        if self._attempt.pod:
            self._owners = self._api.workflows_of(self._attempt.pod)
        while True:
            if self._create_or_adopt():
                return
            with self._attempt.following():
                if self._follow():
                    return

    def cancel(self) -> None:
        """Delete the job, if it is this attempt's."""
        job = self._api.get(self._name)
        if job is not None and _trainer_of(job) in (self._attempt.trainer, self._trainer):
            self._say(f"cancelled: deleting {self._name}; its checkpoints stay")
            self._api.delete(self._name, uid=_uid(job))
        elif job is not None:
            self._say(f"cancelled: {self._name} stays, for {_described(job)} follows it")

    def _create_or_adopt(self) -> bool:
        """Become the job's Trainer; True where it has succeeded already."""
        # Longer than a few lost renewals; nobody's clock is compared with another's.
        within_s = 3 * self._attempt.heartbeat_every_s + self._backend.poll_s
        pulse = Pulse(self._attempt.heartbeat, within_s=within_s, now=self._clock.now)
        waits_for, deleted_since = "", None
        while True:
            job = self._api.get(self._name)
            if job is None:
                deleted_since = None
                if self._create():
                    return False
                continue  # made by an attempt whose answer was lost, or by a twin: look again
            if "deletionTimestamp" in job["metadata"]:
                deleted_since = deleted_since or self._clock.now()
                if self._clock.now() - deleted_since > _DELETION_S:
                    raise Yt8mError(f"{self._label} is still being deleted; try again later")
                self._clock.sleep(2.0)
                continue
            is_same = _digest(job) == _digest(self._manifest)
            phase = status.read_status(job).phase
            if is_same and phase is status.Phase.SUCCEEDED:
                self._say(f"found {self._label} of an earlier attempt, which has succeeded")
                return True
            has_trainer = self._has_another_trainer(job, pulse)
            if has_trainer is not False:
                if has_trainer and waits_for != _trainer_of(job):
                    waits_for = _trainer_of(job)
                    self._say(f"waiting: {self._label} is followed by {_described(job)}")
                self._clock.sleep(self._backend.poll_s)
            elif is_same and phase is status.Phase.RUNNING:
                if self._adopt(job):
                    return False
            else:
                self._say(f"replacing {self._label}, which failed or was described otherwise")
                self._api.delete(self._name, uid=_uid(job))
                self._clock.sleep(2.0)

    def _create(self) -> bool:
        self._attempt.prepare()
        self._stop.obey_if_requested()
        self._attempt.before_create()
        metadata = self._manifest["metadata"]
        annotations = {**metadata["annotations"], TRAINER: self._attempt.trainer}
        metadata = {**metadata, "annotations": annotations}
        if self._owners:
            metadata["ownerReferences"] = self._owners
        made = self._api.create({**self._manifest, "metadata": metadata})
        if made:
            self._trainer = self._attempt.trainer
            self._say(f"created {self._label}")
        return made

    def _has_another_trainer(self, job: Mapping[str, Any], pulse: Pulse) -> bool | None:
        """Whether the job's Trainer lives and is another one; None where it is not known yet."""
        trainer = _trainer_of(job)
        if trainer == self._attempt.trainer or self._is_of_our_workflow(job):
            return False  # a create whose answer was lost, or the try before this one
        pod = trainer.partition("/")[0]
        if pod and self._api.is_running(pod):
            return True
        return pulse.beats()

    def _is_of_our_workflow(self, job: Mapping[str, Any]) -> bool:
        theirs = job["metadata"].get("ownerReferences") or []
        return bool({o["uid"] for o in theirs} & {o["uid"] for o in self._owners})

    def _adopt(self, job: Mapping[str, Any]) -> bool:
        """Stand on the job as its Trainer; False where another was faster."""
        metadata: dict[str, Any] = {"annotations": {TRAINER: self._attempt.trainer}}
        if self._owners:
            metadata["ownerReferences"] = self._owners
        try:
            if not self._api.take_over(job, metadata):
                return False
            self._trainer = self._attempt.trainer
        except ForbiddenError as error:
            self._say(f"{error}; the job goes with the Workflow that made it")
            self._trainer = _trainer_of(job)
        self._say(f"found {self._label} of an earlier attempt; following it")
        self._attempt.prepare()
        return True

    def _follow(self) -> bool:
        """Wait until the job has succeeded; False where another Trainer has taken it over."""
        log = _ChiefLog(self._api, self._say)
        pending = _Pending(self._api, self._backend, self._name, self._clock)
        deadline = self._clock.now() + self._backend.start_timeout_s
        waiting_for = ""
        while True:
            job = self._api.get(self._name)
            if job is None:
                raise Yt8mError(f"{self._label} was deleted by somebody else while it ran")
            if _trainer_of(job) != self._trainer:
                return False
            pods = self._api.pods(self._name)
            chief = next((p for p in pods if status.is_chief(p, self._kind)), None)
            if status.is_suspended(job):
                deadline = self._clock.now() + self._backend.start_timeout_s
            if chief is not None and status.has_started(chief):
                deadline = math.inf
                log.read(chief)
            state = status.read_status(job)
            if state.phase is status.Phase.SUCCEEDED:
                return True
            if state.phase is status.Phase.FAILED:
                why = status.explain_failure(pods, self._kind) or state.message
                # What a person can put right, and what no restart does.
                failure = UserError if status.is_user_error(pods) else Yt8mError
                raise failure(f"{self._label} failed: {why or 'it does not say why'}")
            waiting = pending.explain(job, pods)
            if waiting and waiting != waiting_for:
                self._say(f"waiting: {waiting}")
            waiting_for = waiting
            if self._clock.now() > deadline:
                self._api.delete(self._name, uid=_uid(job))
                why = waiting or "its pods were never made; does the operator run?"
                raise Yt8mError(
                    f"{self._label} did not start within {self._backend.start_timeout_s:.0f} s "
                    f"(trainer.backend.start_timeout_s): {why}"
                )
            self._clock.sleep(self._backend.poll_s)


class _Pending:
    """Why a job does not run, or not with all of its pods."""

    def __init__(
        self, api: KubernetesApi, backend: KubernetesBackend, name: str, clock: Clock
    ) -> None:
        self._api, self._name, self._clock = api, name, clock
        self._kind = kind_of(backend)
        self._wanted = sum(role.replicas for role in backend.roles.values())
        self._asked_at = clock.now()  # pods are made within seconds, if nothing is wrong
        self._unmade = ""
        self._terminating_since: dict[str, float] = {}

    def explain(self, job: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> str:
        if status.is_suspended(job):
            return "the job is suspended, as by a queue (Kueue) that has not admitted it yet"
        reasons = (
            status.explain_waiting(pods, self._kind),
            self._explain_unmade(job, pods),
            self._explain_terminating(pods),
        )
        return "; ".join(filter(None, reasons))

    def _explain_unmade(self, job: Mapping[str, Any], pods: Sequence[Mapping[str, Any]]) -> str:
        now = self._clock.now()
        if len(pods) >= self._wanted:
            self._asked_at, self._unmade = now, ""
        elif now - self._asked_at >= _UNMADE_S:
            self._asked_at = now
            warnings = self._api.warnings(self._name)
            self._unmade = status.explain_unmade(job, warnings)
        return self._unmade

    def _explain_terminating(self, pods: Sequence[Mapping[str, Any]]) -> str:
        """A lost node's pods stay for as long as nobody removes the node."""
        now, terminating = self._clock.now(), status.terminating(pods)
        since = {uid: self._terminating_since.get(uid, now) for uid in terminating}
        self._terminating_since = since
        return "; ".join(
            f"{status.task_name(pod, self._kind)} has been terminating for over "
            f"{_TERMINATING_S:.0f} s; is its node {pod.get('spec', {}).get('nodeName', '')} lost?"
            for uid, pod in terminating.items()
            if now - since[uid] >= _TERMINATING_S
        )


def _digest(job: Mapping[str, Any]) -> str:
    return str(job["metadata"].get("annotations", {}).get(DIGEST, ""))


def _trainer_of(job: Mapping[str, Any]) -> str:
    return str(job["metadata"].get("annotations", {}).get(TRAINER, ""))


def _uid(job: Mapping[str, Any]) -> str:
    return str(job["metadata"].get("uid", ""))


def _described(job: Mapping[str, Any]) -> str:
    """The job's Trainer, as a person finds it."""
    pod = _trainer_of(job).partition("/")[0]
    owners = job["metadata"].get("ownerReferences") or []
    of = "".join(f" of {o['kind']} {o['name']}" for o in owners)
    return (f"pod {pod}" if pod else "another process") + of


class _ChiefLog:
    """Lines that the chief has logged since the last look.

    A line is known by what stands before it. Its time is that of its node's clock, which may be
    behind another node's, or be set back.
    """

    def __init__(self, api: KubernetesApi, say: Say) -> None:
        self._api, self._say = api, say
        self._pod = ""
        self._last: list[str] = []

    def read(self, chief: Mapping[str, Any]) -> None:
        name = str(chief["metadata"]["name"])
        if name != self._pod:
            self._pod, self._last = name, []
        lines = self._api.log(name, tail=_TAIL_LINES).splitlines() if self._last else []
        new = _after(lines, self._last) if lines else None
        if new is None:  # the first time; more was said than the tail; the container is another
            lines = self._api.log(name, tail=None).splitlines()
            new = _after(lines, self._last)
        for line in lines if new is None else new:
            self._say(f"chief: {line.partition(' ')[2]}")
        if lines:
            self._last = lines[-_KNOWN_LINES:]


def _after(lines: list[str], known: list[str]) -> list[str] | None:
    """The lines that follow `known`; None where that is not among them, or nothing is known."""
    for end in range(len(lines), len(known) - 1, -1) if known else ():
        if lines[end - len(known) : end] == known:
            return lines[end:]
    return None


class _StopSignal(StopSignal):
    """A request to stop, which is obeyed between two calls of the API, and immediately in a pause.

    What a handler raises within a call may leave the client's lock taken, so that the next call,
    and the process's end, wait for ever; or Python drops it, where it finalizes an answer.
    """

    _is_asleep = False

    def obey_if_requested(self) -> None:
        if self.requested:
            self.obey("terminated; the same run continues from its last checkpoint")

    def heard_by(self, clock: Clock) -> Clock:
        """The clock, whose sleep a signal ends, also one that came before."""

        def sleep(seconds: float) -> None:
            self._is_asleep = True
            try:
                self.obey_if_requested()
                clock.sleep(seconds)
            finally:
                self._is_asleep = False

        return Clock(now=clock.now, sleep=sleep)

    def _receive(self, number: int, frame: FrameType | None) -> None:
        super()._receive(number, frame)
        if self._is_asleep:
            self.obey_if_requested()
