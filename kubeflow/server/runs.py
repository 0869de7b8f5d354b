"""A run from the user's parameters (`--param span=3`) to its end, task by task."""

from __future__ import annotations

import difflib
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from yt8m.kubeflow.container.run_parameters import check_gate_parameters
from yt8m.kubeflow.server.client import (
    FINAL_STATES,
    KfpClient,
    Launch,
    PipelineRun,
    Task,
    choose_version,
    find_pipeline,
)
from yt8m.kubeflow.server.http import RefusedError, ServerError, UnknownOutcomeError
from yt8m.kubeflow.spec.lint import root_problem
from yt8m.kubeflow.spec_file import Spec, server_spec
from yt8m.schemas.errors import UserError

DEFAULT_EXPERIMENT = "yt8m"
_NEEDED = ("data_root", "push_dir")
_MOST_NAMED = 10
# The driver of each task and the graph itself are tasks too; people ask about their own.
_MACHINERY = ("-driver", "executor", "root")
_ATTEMPT = re.compile(r"\((\d+)\)$")
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NOT_STARTED, _RUNNING = "PENDING", "RUNNING"
# The server learns that a run is over before it has the last states of its steps.
_SETTLING_S = 30.0
_A_MINUTE = 60
_GONE = 404
_USUAL_STATES = (_NOT_STARTED, _RUNNING, *FINAL_STATES)


@dataclass(frozen=True, kw_only=True)
class LaunchOptions:
    """A run or a schedule as asked for."""

    pipeline: str
    name: str
    version: str = ""
    experiment: str = DEFAULT_EXPERIMENT
    root: str = ""
    parameters: Sequence[str] = ()
    service_account: str = ""


def resolve(client: KfpClient, options: LaunchOptions, *, dry_run: bool = False) -> Launch:
    """Look up pipeline, version and experiment, and check the parameters against the spec."""
    pipeline = find_pipeline(client, options.pipeline)
    if pipeline is None:
        known = _name_some(options.pipeline, [p.name for p in client.pipelines()])
        raise UserError(
            f"no pipeline {options.pipeline!r} on the server (there: {known}); "
            "`yt8m kubeflow upload pipeline.yaml` uploads it"
        )
    version, newest = choose_version(client, pipeline, options.version)
    spec = server_spec(version.spec)
    root = options.root or spec.root
    if not root:
        raise UserError(
            "no pipeline root: give --root s3://bucket/path (a compiled YAML cannot carry it "
            "to the server unless it was compiled with --root)"
        )
    if problem := root_problem(root):
        raise UserError(f"--root {root}: {problem}")
    parameters = spec.parse_parameters(options.parameters)
    _check_values(spec, parameters)
    return Launch(
        name=options.name,
        pipeline_id=pipeline.id,
        version_id=version.id,
        experiment_id=client.experiment_id(options.experiment, create=not dry_run),
        pipeline_root=root,
        parameters=parameters,
        service_account=options.service_account or spec.service_account,
        version=version.name,
        version_owner=version.owner,
        newest=newest.name,
    )


def _check_values(spec: Spec, parameters: Mapping[str, Any]) -> None:
    """Refuse values that the pipeline's components would refuse, some only after the training."""
    for name in _NEEDED:
        default = spec.parameters.get(name, {}).get("defaultValue")
        if name in spec.parameters and not (parameters.get(name) or default):
            raise UserError(f"--param {name}=...: give one, for none was compiled into {spec.name}")
    check_gate_parameters(parameters)


@dataclass(frozen=True)
class Polling:
    """Interval of the requests to the server, and their time limit (0: none)."""

    every_s: float = 10.0
    timeout_s: float = 0.0
    patience_s: float = 600.0  # with a server that does not answer
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


def wait(
    client: KfpClient, run_id: str, *, say: Callable[[str], None], polling: Polling
) -> PipelineRun:
    """The finished run; `say` hears each change of a task's state once, and of a run that halts.

    A server that is away for less than `polling.patience_s` is waited for: the run goes on without
    it. UnknownOutcomeError where it stays away, a login has run out meanwhile, or the time limit
    ends before the run. A step that still runs when its run is over is asked for again, for half a
    minute.
    """
    deadline = polling.clock() + polling.timeout_s if polling.timeout_s else None
    last_state: dict[str, str] = {}
    steps: tuple[str, ...] | None = None
    away_since: float | None = None
    is_known = False  # whether this server has shown the run
    over: PipelineRun | None = None
    settled_at = 0.0
    while True:
        run = None
        try:
            run = client.run(run_id)
            away_since, is_known = None, True
        except (ServerError, RefusedError) as error:
            if over is not None:
                return over
            if isinstance(error, RefusedError):
                if is_known and error.status != _GONE:
                    raise _unknown(str(error), run_id, is_known=True) from None
                raise
            if away_since is None:
                away_since = polling.clock()
                if polling.patience_s:
                    say(f"{error}; asking again for {_duration(polling.patience_s)}")
            elif polling.clock() - away_since >= polling.patience_s:
                raise _unknown(str(error), run_id, is_known=is_known) from None
        else:
            if steps is None:
                steps = step_names(client, run)
            tasks = own_tasks(run, steps)
            for task in tasks:
                if last_state.get(task.name, _NOT_STARTED) != task.state:
                    last_state[task.name] = task.state
                    say(_line(task))
            if run.state not in _USUAL_STATES and run.state != last_state.get(""):
                say(f"run {run_id}: {run.state}; waiting until it is {' or '.join(FINAL_STATES)}")
            last_state[""] = run.state
            if run.is_over:
                now = polling.clock()
                settled_at = settled_at if over else now + _SETTLING_S
                over = run
                if now >= settled_at or not any(task.state == _RUNNING for task in tasks):
                    return run
        if not over and deadline is not None and polling.clock() >= deadline:
            state = run.state if run else "not known, for the server is away"
            what = f"run {run_id}: still {state} after {polling.timeout_s:.0f} s (--timeout)"
            raise _unknown(what, run_id, is_known=is_known)
        polling.sleep(polling.every_s)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < _A_MINUTE else f"{seconds / 60:.0f} min"


def _unknown(what: str, run_id: str, *, is_known: bool) -> UnknownOutcomeError:
    again = f"`yt8m kubeflow wait {run_id}`"
    if is_known:
        return UnknownOutcomeError(f"{what}; the run goes on, and {again} follows it again")
    return UnknownOutcomeError(f"{what}; the server has not shown such a run; {again} asks again")


def step_names(client: KfpClient, run: PipelineRun) -> tuple[str, ...]:
    """The steps of the pipeline that runs; none where its version is not to be had any more.

    The run is known, and its state counts, whatever the server says of its version.
    """
    if not run.version_id:
        return ()
    try:
        versions = client.versions(run.pipeline_id)
    except (RefusedError, ServerError):
        return ()
    spec = next((v.spec for v in versions if v.id == run.version_id), {})
    return tuple(server_spec(spec).pipeline.get("root", {}).get("dag", {}).get("tasks", {}))


def own_tasks(run: PipelineRun, steps: Sequence[str] = ()) -> list[Task]:
    """The pipeline's own steps, each once, oldest first.

    The server lists every node of the Workflow: drivers, the graph, and each attempt at a step as
    `Trainer(0)`, beside the step itself. `steps` are the names that the pipeline has; without them
    what is known to be no step is left out.
    """
    attempts: dict[str, list[Task]] = {step: [] for step in steps}
    for task in run.tasks:
        name = _ATTEMPT.sub("", task.name)
        if name in attempts or (not steps and _may_be_step(name, task, run)):
            attempts.setdefault(name, []).append(task)
    tasks = [_as_one(name, several) for name, several in attempts.items()]
    return sorted(tasks, key=lambda t: (t.started.timestamp() if t.started else 9e12, t.name))


def _may_be_step(name: str, task: Task, run: PipelineRun) -> bool:
    is_machinery = name.endswith(_MACHINERY) or name == run.name or _UUID.fullmatch(name)
    return not is_machinery and not _is_workflow(name, task)


def _as_one(name: str, several: Sequence[Task]) -> Task:
    """A step and its attempts. The step's own entry has the state, once it has one."""
    if not several:
        return Task(name=name, state=_NOT_STARTED)
    newest = max(several, key=_attempt)
    own = next((t for t in several if t.name == name and t.state != _NOT_STARTED), newest)
    started = [t.started for t in several if t.started]
    error = own.error or (newest.error if own.state == "FAILED" else "")
    return replace(
        own,
        name=name,
        pod=own.pod or newest.pod,
        error=error,
        started=min(started, default=None),
    )


def _attempt(task: Task) -> int:
    """The number of an attempt; the step itself is before the first one."""
    match = _ATTEMPT.search(task.name)
    return int(match[1]) if match else -1


def _is_workflow(name: str, task: Task) -> bool:
    """The Workflow itself is listed as a task; its nodes are called after it and numbered."""
    return any(re.fullmatch(rf"{re.escape(name)}-\d+", node) for node in task.nodes)


def _name_some(asked: str, names: list[str]) -> str:
    """The names nearest to what was asked for, or a few of them, and how many more there are."""
    if len(names) <= _MOST_NAMED:
        return ", ".join(sorted(names)) or "none"
    some = difflib.get_close_matches(asked, names, n=3) or sorted(names)[:_MOST_NAMED]
    return f"{', '.join(some)} and {len(names) - len(some)} others"


def _line(task: Task) -> str:
    pod = f" (pod {task.pod})" if task.pod else ""
    why = f": {task.error}" if task.error else ""
    return f"{task.name}: {task.state}{why}{pod if task.state == 'FAILED' else ''}"
