"""Action of `yt8m kubeflow logs`."""

from __future__ import annotations

from dataclasses import asdict

from yt8m.cli.arguments.kubeflow import LogsArguments
from yt8m.components.console.console import Console
from yt8m.components.trainer.backends.kubernetes_api import reach_cluster
from yt8m.kubeflow.cluster_needs import ClusterAccess
from yt8m.kubeflow.server.logs import read_logs


def run(args: LogsArguments, console: Console) -> None:
    client, own = reach_cluster()
    cluster = ClusterAccess(client, args.namespace or own or "default")
    logs = read_logs(cluster, args.run, step=args.step, tail=args.tail)
    for log in logs:
        if log.problem:
            console.warn(
                f"the log of {log.step} (pod {log.pod}) cannot be read: {log.problem}; the "
                "artifact executor-logs has it if the pod has ended"
            )
    text = "\n".join(
        f"== {log.step} (pod {log.pod}, {log.phase})\n{log.text}" for log in logs if not log.problem
    )
    console.result({"run_id": args.run, "logs": [asdict(log) for log in logs]}, text)
