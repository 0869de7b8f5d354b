"""Action of `yt8m kubeflow check`."""

from __future__ import annotations

from dataclasses import asdict

from yt8m.cli.arguments.kubeflow import CheckArguments
from yt8m.components.console.console import Console
from yt8m.components.trainer.backends.kubernetes_api import reach_cluster
from yt8m.kubeflow.cluster_needs import MISSING, ClusterAccess
from yt8m.kubeflow.server.check import check
from yt8m.kubeflow.spec_file import read_spec


def run(args: CheckArguments, console: Console) -> int:
    spec = read_spec(args.file)
    client, own = reach_cluster()
    namespace = args.namespace or own or "default"
    account = args.run_as or spec.service_account
    findings = check(spec, ClusterAccess(client, namespace, account))
    missing = sum(finding.state == MISSING for finding in findings)
    columns = ["what", "name", "state", "detail"]
    table = console.table(columns, [[f.kind, f.name, f.state, f.detail] for f in findings])
    end = f"{missing} of {len(findings)} are missing" if missing else "nothing is missing"
    value = {
        "pipeline": spec.name,
        "namespace": namespace,
        "missing": missing,
        "findings": [asdict(finding) for finding in findings],
    }
    console.result(value, f"{table}\n{end} in namespace {namespace}")
    return 1 if missing else 0
