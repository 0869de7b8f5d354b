"""Action of `yt8m kubeflow wait`."""

from __future__ import annotations

from yt8m.cli.arguments.kubeflow import WaitArguments
from yt8m.cli.selection import connection_of
from yt8m.components.console.console import Console
from yt8m.kubeflow.server.client import KfpClient, PipelineRun, connect
from yt8m.kubeflow.server.connection import link
from yt8m.kubeflow.server.runs import Polling, own_tasks, step_names, wait


def run(args: WaitArguments, console: Console) -> int:
    connection = connection_of(args)
    client, page = connect(connection), link(connection, "run", args.run)
    if args.dry_run:
        return show(client, client.run(args.run), console, page, is_over=False)
    return follow(client, args.run, console, page, Polling(args.every, args.timeout, args.patience))


def follow(client: KfpClient, run_id: str, console: Console, page: str, polling: Polling) -> int:
    """Wait, then show the end; the return value is the exit code."""
    ended = wait(client, run_id, say=console.info, polling=polling)
    return show(client, ended, console, page, is_over=True)


def show(client: KfpClient, run: PipelineRun, console: Console, page: str, *, is_over: bool) -> int:
    tasks = own_tasks(run, step_names(client, run))
    rows = [[t.name, t.state, t.pod, t.error] for t in tasks]
    value = {
        "run_id": run.id,
        "name": run.name,
        "state": run.state,
        "error": run.error,
        "link": page,
        "tasks": [
            {"name": t.name, "state": t.state, "pod": t.pod, "error": t.error} for t in tasks
        ],
    }
    table = console.table(["task", "state", "pod", "error"], rows)
    why = f": {run.error}" if run.error else ""
    if run.state == "FAILED" and not run.error and not any(t.error for t in tasks):
        # 2.17 keeps no text of failed tasks in its answer.
        why = f"; why: `yt8m kubeflow logs {run.id}`, or executor-logs below"
    console.result(value, f"{table}\n{run.name}: {run.state}{why}\n{page}")
    return 1 if is_over and run.state not in ("SUCCEEDED", "SKIPPED") else 0
