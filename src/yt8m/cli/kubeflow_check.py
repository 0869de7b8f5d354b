"""Ask the cluster whether it has what a compiled pipeline needs, before its first night.

Permissions, volume claims, secrets with their keys, image, artifact root, and everything that
`compile` checks. Talks to Kubernetes as kubectl does, and changes nothing. Ends with 0 when nothing
is missing, with 1 otherwise; what may not be looked at is `not known`, and no fault.

examples:
  yt8m kubeflow check pipeline.yaml --namespace team-a
  yt8m kubeflow check pipeline.yaml --namespace team-a --run-as pipeline-runner --json
"""

from __future__ import annotations

import argparse
from dataclasses import asdict

from yt8m.components.console.console import Console


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", help="YAML written by `yt8m kubeflow compile`")
    parser.add_argument(
        "--namespace", default="", help="where it will run (default: the kubeconfig's)"
    )
    parser.add_argument(
        "--run-as", default="", metavar="ACCOUNT", help="whose permissions (default: yours)"
    )
    parser.add_argument("--dry-run", action="store_true", help="no effect: it changes nothing")


def run(args: argparse.Namespace, console: Console) -> int:
    from yt8m.components.trainer.backends.kubernetes_api import reach_cluster
    from yt8m.kubeflow.server.check import MISSING, ClusterAccess, check
    from yt8m.kubeflow.spec.spec_file import read_spec

    spec = read_spec(args.file)
    client, own = reach_cluster()
    namespace = args.namespace or own or "default"
    found = check(spec, ClusterAccess(client, namespace, args.run_as))
    missing = sum(finding.state == MISSING for finding in found)
    columns = ["what", "name", "state", "detail"]
    table = console.table(columns, [[f.kind, f.name, f.state, f.detail] for f in found])
    end = f"{missing} of {len(found)} are missing" if missing else "nothing is missing"
    value = {
        "pipeline": spec.name,
        "namespace": namespace,
        "missing": missing,
        "findings": [asdict(finding) for finding in found],
    }
    console.result(value, f"{table}\n{end} in namespace {namespace}")
    return 1 if missing else 0
