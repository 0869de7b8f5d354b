"""Interface between Kubeflow's launcher and a component.

The driver gives input artifacts without their type, URIs are those of the object store while the
files are in the launcher's local directories, and the outputs hold artifacts of the launcher's own
(`executor-logs`, from 2.5.0). What a component reports is checked here before the launcher sees it,
which would stop without saying which component's property it was, or upload half and call it
success (observed with 2.0.5, 2.5.0 and 2.17.0: tests/golden/kubeflow/records).
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yt8m.components import storage
from yt8m.schemas.errors import Yt8mError

_log = logging.getLogger(__name__)

# Where the launcher keeps a scheme's files.
_LOCAL_ROOTS = {"gs://": "/gcs/", "s3://": "/s3/", "minio://": "/minio/"}
_UNTYPED = ("", "system.Artifact")
# TFX's paths in this pod, and hashes of names in the place of ids: they mean nothing outside, where
# the lineage says which models were scored.
_OF_THIS_POD = ("current_model", "current_model_id", "baseline_model", "baseline_model_id")
# The launcher describes the store in every artifact that does not have this property, for the user
# interface alone: a fifth of the Workflow's status (`spec/workflow_size.py`).
_STORE = {"store_session_info": ""}
_ARTIFACT_FIELDS = {"name", "type", "uri", "metadata", "properties", "customProperties"}


@dataclass(frozen=True)
class Place:
    """An artifact's directory in this pod, and what the store calls it."""

    uri: str
    name: str


Places = dict[str, Place]  # by local path


def local_path(uri: str, launcher_root: str = "") -> str:
    """Where the launcher keeps `uri`; other addresses are left as they are."""
    for scheme, directory in _LOCAL_ROOTS.items():
        if uri.startswith(scheme):
            return launcher_root + directory + uri.removeprefix(scheme)
    return uri


def prepare_input(
    executor_input: dict[str, Any],
    input_types: Mapping[str, str],
    output_types: Mapping[str, str],
    *,
    launcher_root: str = "",
) -> Places:
    """Make the driver's ExecutorInput one that TFX understands, in place.

    Artifacts get their types, which are given by title, and local paths. Outputs that the
    component does not declare belong to the launcher, which writes and uploads them itself: they
    are taken out.
    """
    places: Places = {}
    outputs = executor_input.setdefault("outputs", {})
    given = outputs.get("artifacts", {})
    outputs["artifacts"] = {k: v for k, v in given.items() if k in output_types}
    for side, types in (("inputs", input_types), ("outputs", output_types)):
        for key, artifacts in executor_input.get(side, {}).get("artifacts", {}).items():
            for artifact in artifacts.get("artifacts", []):
                _restore_type(artifact, types.get(key, ""), f"{side}.{key}")
                name = artifact.setdefault("name", artifact["uri"])  # TFX looks ids up by it
                path = local_path(artifact["uri"], launcher_root)
                places[path] = Place(uri=artifact["uri"], name=name)
                artifact["uri"] = path
    outputs["outputFile"] = local_path(outputs["outputFile"], launcher_root)
    return places


def finish_output(output_file: Path, places: Places, passed_on: Collection[str] = ()) -> None:
    """Rewrite what TFX reports so that it holds outside of this pod, and check it.

    passed_on: outputs that other tasks take. The launcher does not describe the store in these.
    Yt8mError names the outputs at which the launcher would stop, or which it would lose.
    """
    report = json.loads(output_file.read_text(encoding="utf-8"))
    problems: list[str] = []
    for key, given in report.get("artifacts", {}).items():
        for artifact in given.get("artifacts", []):
            problems += [f"output {key}: {problem}" for problem in _find_problems(artifact, places)]
            place = places.get(artifact["uri"])
            artifact["uri"] = place.uri if place else artifact["uri"]
            metadata = _portable(artifact.get("metadata", {}), places, key)
            artifact["metadata"] = metadata | (_STORE if key in passed_on else {})
    if problems:
        raise Yt8mError("\n".join(problems))
    storage.write_text(str(output_file), json.dumps(report, allow_nan=False))


def _restore_type(artifact: dict[str, Any], title: str, where: str) -> None:
    given = artifact.get("type") or {}
    if given.get("instanceSchema") or given.get("schemaTitle", "") not in _UNTYPED:
        return
    if not title:
        raise Yt8mError(f"{where}: the artifact has no type and the component declares none")
    artifact["type"] = {"instanceSchema": f"title: {title}\n"}  # TFX asks for no more


def _portable(metadata: Mapping[str, Any], places: Places, key: str) -> dict[str, Any]:
    """Without null and NaN, at which the launcher stops, and without paths of this pod."""
    kept: dict[str, Any] = {}
    for name, value in metadata.items():
        if value is None or name in _OF_THIS_POD:  # the former: a property that was never set
            continue
        if isinstance(value, float) and not math.isfinite(value):
            _log.warning("output %s: %s is %s; recorded as text", key, name, value)
            value = str(value)
        kept[name] = _outside(value, places) if isinstance(value, str) else value
    return kept


def _outside(text: str, places: Places) -> str:
    """`text` with the store's URI where it is a path in one of the pod's artifacts."""
    for path, place in places.items():
        if text == path or text.startswith(f"{path}/"):
            return place.uri + text.removeprefix(path)
    return text


def _find_problems(artifact: Mapping[str, Any], places: Places) -> Iterator[str]:
    unknown = sorted(set(artifact) - _ARTIFACT_FIELDS)
    if unknown:
        yield f"fields {', '.join(unknown)}, which the launcher does not know"
    path = Path(artifact["uri"])
    if artifact["uri"] not in places:  # a place of its own outside: recorded, not uploaded
        return
    if path.is_symlink() or not path.exists():
        yield f"nothing was written to {path}"
        return
    for below in path.rglob("*"):
        if not below.is_symlink():
            continue
        if not below.exists():
            yield f"{below} is a link to {below.readlink()}, which is not there"
        elif below.is_dir():
            yield f"{below} is a link to a directory, which cannot be uploaded"
