"""Action of `yt8m kubeflow delete`."""

from __future__ import annotations

from yt8m.cli.arguments.kubeflow import DeleteArguments
from yt8m.cli.kubeflow_runs import change_run
from yt8m.components.console.console import Console
from yt8m.kubeflow.server.client import FINAL_STATES


def run(args: DeleteArguments, console: Console) -> None:
    change_run(
        args,
        console,
        "deleted",
        lambda client: client.delete_run(args.run),
        states=FINAL_STATES,
    )
