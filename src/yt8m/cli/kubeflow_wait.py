"""Follow a run to its end and show its state by task.

Ends with 0 when the run succeeded, with 1 when it failed or was cancelled, and with 5 when the
server stayed away for longer than --patience, so that nobody knows.

examples:
  yt8m kubeflow wait 5f3c1a7e-0000-4000-8000-000000000000
  yt8m kubeflow wait RUN_ID --timeout 3600 --json
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from yt8m.components.console.console import Console
from yt8m.kubeflow.server.connection import add_connection_arguments, link, read_connection

if TYPE_CHECKING:
    from yt8m.kubeflow.server.client import KfpClient, PipelineRun
    from yt8m.kubeflow.server.runs import Polling


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run", help="id of the run")
    parser.add_argument(
        "--timeout", type=float, default=0, metavar="S", help="give up after S seconds (0: never)"
    )
    parser.add_argument("--every", type=float, default=10, metavar="S", help="ask every S seconds")
    parser.add_argument(
        "--patience",
        type=float,
        default=600,
        metavar="S",
        help="how long a server that does not answer is waited for (600)",
    )
    parser.add_argument("--dry-run", action="store_true", help="show the state now, do not wait")
    add_connection_arguments(parser)


def run(args: argparse.Namespace, console: Console) -> int:
    from yt8m.kubeflow.server.client import connect
    from yt8m.kubeflow.server.runs import Polling

    connection = read_connection(args)
    client, page = connect(connection), link(connection, "run", args.run)
    if args.dry_run:
        return show(client.run(args.run), console, page, is_over=False)
    return follow(client, args.run, console, page, Polling(args.every, args.timeout, args.patience))


def follow(client: KfpClient, run_id: str, console: Console, page: str, polling: Polling) -> int:
    """Wait, then show the end; the return value is the exit code."""
    from yt8m.kubeflow.server.runs import wait

    return show(
        wait(client, run_id, say=console.info, polling=polling), console, page, is_over=True
    )


def show(run: PipelineRun, console: Console, page: str, *, is_over: bool) -> int:
    from yt8m.kubeflow.server.runs import own_tasks

    tasks = own_tasks(run)
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
        why = f"; why: `kubectl logs -l pipeline/runid={run.id} --tail=50`, or executor-logs below"
    console.result(value, f"{table}\n{run.name}: {run.state}{why}\n{page}")
    return 1 if is_over and run.state not in ("SUCCEEDED", "SKIPPED") else 0
