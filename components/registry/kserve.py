"""A version as KServe serves it: an InferenceService of TensorFlow Serving and that version alone.

TensorFlow Serving looks for numbered versions below its base path, so the version is fetched to
a directory of its number: `storageUris` with a mount path, which KServe has since 0.16.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yt8m.components.registry.versions import Version
from yt8m.schemas.errors import UserError
from yt8m.schemas.kubernetes import DNS_LABEL

_BASE_PATH = "/mnt/models"  # of KServe's runtime for TensorFlow
_SCHEMES = ("gs://", "s3://", "pvc://", "hdfs://", "webhdfs://", "https://")
# What was measured was one client's; several in parallel need room for their requests.
_ROOM = 1.5
_LABEL_VALUE = re.compile(r"[A-Za-z0-9]([-._A-Za-z0-9]{0,61}[A-Za-z0-9])?")


@dataclass(frozen=True, kw_only=True)
class ServiceRequest:
    """Settings of a KServe service beside the version."""

    name: str = "yt8m"
    namespace: str = ""  # "": whoever applies it says
    storage_uri: str = ""  # of the version's directory; "": where it is in the registry
    service_account: str = ""  # with the right to read it
    runtime_version: str = ""  # the tag of TensorFlow Serving's image; "": as the cluster has it
    min_replicas: int = 1


def inference_service(version: Version, request: ServiceRequest) -> dict[str, Any]:
    """The manifest; UserError where no cluster would take it."""
    for option, name in (("--name", request.name), ("--namespace", request.namespace)):
        if name and not DNS_LABEL.fullmatch(name):
            raise UserError(
                f"{option} {name}: at most 63 lower-case letters, digits and dashes, and neither "
                "first nor last a dash"
            )
    if request.runtime_version and not _LABEL_VALUE.fullmatch(request.runtime_version):
        raise UserError(f"--serving-version {request.runtime_version}: must be an image's tag")
    record = version.record
    labels = {"app.kubernetes.io/name": "yt8m", "yt8m/version": str(version.number)}
    annotations = {"yt8m/model-digest": record.model_digest, "yt8m/run-key": record.run_key}
    metadata: dict[str, Any] = {
        "name": request.name,
        "labels": labels,
        "annotations": {key: value for key, value in annotations.items() if value},
    }
    if request.namespace:
        metadata["namespace"] = request.namespace
    model: dict[str, Any] = {
        "modelFormat": {"name": "tensorflow", "version": "2"},
        "protocolVersion": "v1",
        # A version says itself whether and how requests for it are joined.
        "args": ["--enable_batching", "--enable_per_model_batching_parameters"],
    }
    if request.runtime_version:
        model["runtimeVersion"] = request.runtime_version
    memory = _memory(record.infra_check)
    if memory:
        model["resources"] = {"requests": {"memory": memory}, "limits": {"memory": memory}}
    place = _storage_uri(version, request.storage_uri)
    predictor: dict[str, Any] = {
        "minReplicas": request.min_replicas,
        "model": model,
        "storageUris": [{"uri": place, "mountPath": f"{_BASE_PATH}/{version.number}"}],
    }
    if request.service_account:
        predictor["serviceAccountName"] = request.service_account
    return {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": metadata,
        "spec": {"predictor": predictor},
    }


def _storage_uri(version: Version, given: str) -> str:
    uri = given or version.path
    if not uri.startswith(_SCHEMES):
        raise UserError(
            f"{'--storage-uri ' if given else ''}{uri}: KServe fetches models from "
            f"{', '.join(_SCHEMES)}; name the version's directory there with --storage-uri"
        )
    return uri.rstrip("/")


def _memory(infra_check: Mapping[str, Any]) -> str:
    """As a quantity; "" where nobody measured it, and the cluster's default holds."""
    measured = (infra_check.get("serving") or {}).get("memory_mb")
    return f"{math.ceil(_ROOM * measured)}M" if measured else ""
