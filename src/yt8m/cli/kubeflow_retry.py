"""Action of `yt8m kubeflow retry`."""

from __future__ import annotations

from yt8m.cli.arguments.kubeflow import RetryArguments
from yt8m.cli.kubeflow_runs import change_run
from yt8m.components.console.console import Console


def run(args: RetryArguments, console: Console) -> None:
    change_run(
        args,
        console,
        "retried",
        lambda client: client.retry_run(args.run),
        states=("FAILED", "CANCELED"),
    )
