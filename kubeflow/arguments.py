"""The flags that say which server, shared by the commands, and the links into its pages."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from yt8m.kubeflow.credentials import SERVICE_ACCOUNT_TOKEN, Connection, load_connection

if TYPE_CHECKING:
    from yt8m.kubeflow.client import Launch
    from yt8m.kubeflow.kfp_client import KfpClient

_TEXTS = {
    "host": ("URL", "address of Kubeflow Pipelines, e.g. http://localhost:8080"),
    "ui-host": ("URL", "address for the printed links, where it is another"),
    "namespace": ("NAME", "your profile's namespace, on a multi-user installation"),
    "token": ("TOKEN", "bearer token (other users can see it in `ps`; --token-file is better)"),
    "token-file": ("FILE", "file with the bearer token, read for every request"),
    "cookie": ("COOKIE", "login cookie, e.g. authservice_session=... (better: --cookie-file)"),
    "cookie-file": ("FILE", "file with the cookie"),
    "ca-file": ("FILE", "certificate authority of the server"),
}


def add_connection_arguments(parser: argparse.ArgumentParser) -> None:
    """--host and how to log in."""
    group = parser.add_argument_group(
        "connection (or YT8M_KUBEFLOW_HOST and so on, or ~/.config/yt8m/kubeflow.yaml)"
    )
    for name, (metavar, text) in _TEXTS.items():
        group.add_argument(f"--{name}", metavar=metavar, help=text)
    group.add_argument(
        "--service-account",
        action="store_true",
        help=f"inside a pod: the token mounted at {SERVICE_ACCOUNT_TOKEN}",
    )
    group.add_argument("--connection", metavar="FILE", default="", help="a file of these settings")


def add_experiment_argument(
    parser: argparse.ArgumentParser, text: str = "experiment (default yt8m)"
) -> None:
    parser.add_argument("--experiment", metavar="NAME", help=text)


def add_launch_arguments(parser: argparse.ArgumentParser) -> None:
    """What a run starts with, for `run` and `schedule` alike."""
    parser.add_argument("pipeline", help="name or id of an uploaded pipeline")
    parser.add_argument("--version", default="", help="its version (default: the newest)")
    parser.add_argument(
        "--param", metavar="NAME=VALUE", action="append", default=[], help="a run-time parameter"
    )
    parser.add_argument("--root", default="", metavar="URI", help="where artifacts go, s3://...")
    parser.add_argument(
        "--run-as", default="", metavar="ACCOUNT", help="Kubernetes service account of the pods"
    )
    add_experiment_argument(parser)


def read_connection(args: argparse.Namespace) -> Connection:
    names = [name.replace("-", "_") for name in _TEXTS] + ["service_account", "experiment"]
    flags = {name: getattr(args, name, None) for name in names}
    return load_connection(flags, os.environ, args.connection)


def connect(connection: Connection) -> KfpClient:
    """A client; nothing is sent yet."""
    from yt8m.kubeflow.http import Wire
    from yt8m.kubeflow.kfp_client import KfpClient

    return KfpClient(Wire(connection), namespace=connection.namespace)


def resolve_launch(
    args: argparse.Namespace, connection: Connection, client: KfpClient, *, name: str
) -> Launch:
    """What the arguments of `add_launch_arguments` mean on this server."""
    from yt8m.kubeflow.launch import DEFAULT_EXPERIMENT, Wanted, resolve

    wanted = Wanted(
        pipeline=args.pipeline,
        name=name,
        version=args.version,
        experiment=connection.experiment or DEFAULT_EXPERIMENT,
        root=args.root,
        parameters=args.param,
        service_account=args.run_as,
    )
    return resolve(client, wanted, dry_run=args.dry_run)


def link(connection: Connection, kind: str, identifier: str) -> str:
    """The page of a run, a recurring run or a pipeline version in the user interface."""
    pages = {
        "run": "runs/details",
        "schedule": "recurringrun/details",
        "pipeline": "pipelines/details",
    }
    return f"{(connection.ui_host or connection.host).rstrip('/')}/#/{pages[kind]}/{identifier}"
