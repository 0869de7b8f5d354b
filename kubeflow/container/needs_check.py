"""Check by the first pod that the cluster has what later tasks need.

Kubernetes would let a pod without its secret or claim wait for ever.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from yt8m.components.trainer.backends.kubernetes_api import reach_cluster
from yt8m.kubeflow.cluster_needs import (
    MISSING,
    OK,
    ClusterAccess,
    ClusterNeeds,
    Finding,
    check_needs,
)
from yt8m.kubeflow.config import NEEDS_VARIABLE
from yt8m.schemas.errors import UserError

_IN_CLUSTER = "KUBERNETES_SERVICE_HOST"  # set by Kubernetes in every pod
_log = logging.getLogger(__name__)


def check_cluster(
    environ: Mapping[str, str], *, reach: Callable[[], tuple[Any, str]] = reach_cluster
) -> None:
    """UserError that names what is missing. What this pod may not look at is logged.

    Does nothing in the other pods, to which no needs are given, and outside of a cluster.
    """
    given = environ.get(NEEDS_VARIABLE)
    if not given or not environ.get(_IN_CLUSTER):
        return
    try:
        client, namespace = reach()
    except UserError as error:  # an account without a token
        _log.info(
            "this pod cannot ask Kubernetes whether later tasks have what they need: %s", error
        )
        return
    access = ClusterAccess(client, namespace)
    findings = list(check_needs(ClusterNeeds.from_json(given), access, modes=False))
    for finding in findings:
        if finding.state not in (OK, MISSING):
            _log.info("%s is not known to be there", _text(finding))
    if missing := [_text(finding) for finding in findings if finding.state == MISSING]:
        raise UserError(
            "\n".join(
                f"{text} (namespace {namespace}), and a later task needs it" for text in missing
            )
        )


def _text(finding: Finding) -> str:
    detail = f": {finding.detail}" if finding.detail else ""
    return f"{finding.kind} {finding.name}{detail}"
