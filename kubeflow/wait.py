"""Follow a run to its end, task by task."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from yt8m.kubeflow.client import Run, RunStore, Task
from yt8m.schemas.errors import Yt8mError

# The driver of each task and the graph itself are tasks too; people ask about their own.
_MACHINERY = ("-driver", "executor", "root")


@dataclass(frozen=True)
class Pace:
    """How often the server is asked, and for how long at most (0: for ever)."""

    every_s: float = 10.0
    timeout_s: float = 0.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


def wait(client: RunStore, run_id: str, *, say: Callable[[str], None], pace: Pace) -> Run:
    """The finished run; `say` hears each change of a task's state once."""
    deadline = pace.clock() + pace.timeout_s if pace.timeout_s else None
    told: dict[str, str] = {}
    while True:
        run = client.run(run_id)
        for task in own_tasks(run):
            if told.get(task.name) != task.state:
                told[task.name] = task.state
                say(_line(task))
        if run.is_over:
            return run
        if deadline is not None and pace.clock() >= deadline:
            raise Yt8mError(
                f"run {run_id} is still {run.state} after {pace.timeout_s:.0f} s (--timeout); "
                f"it goes on; `yt8m kubeflow wait {run_id}` follows it again"
            )
        pace.sleep(pace.every_s)


def own_tasks(run: Run) -> list[Task]:
    """The pipeline's own steps, oldest first."""
    tasks = [t for t in run.tasks if not t.name.endswith(_MACHINERY) and t.name != run.name]
    return sorted(tasks, key=lambda t: (t.started.timestamp() if t.started else 9e12, t.name))


def _line(task: Task) -> str:
    pod = f" (pod {task.pod})" if task.pod else ""
    why = f": {task.error}" if task.error else ""
    return f"{task.name}: {task.state}{why}{pod if task.state == 'FAILED' else ''}"
