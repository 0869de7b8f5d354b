"""Action of `yt8m kubeflow cancel`."""

from __future__ import annotations

from yt8m.cli.arguments.kubeflow import CancelArguments
from yt8m.cli.kubeflow_runs import change_run
from yt8m.components.console.console import Console


def run(args: CancelArguments, console: Console) -> None:
    change_run(args, console, "canceled", lambda client: client.cancel_run(args.run))
