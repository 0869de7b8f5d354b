"""The command of every container: what TFX's own entry point lacks on open-source Kubeflow.

TFX's was written for Vertex. Here the driver hands over input artifacts without their type, the
URIs are those of the object store while the files are in the launcher's local directories, and
unset properties come back as nulls at which the launcher stops. All of it is put right around
TFX's own code, which then runs the executor.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from yt8m.schemas.errors import EXIT_FAILED, Yt8mError

_log = logging.getLogger(__name__)

# Where the launcher keeps a scheme's files. YT8M_LAUNCHER_ROOT moves them, for a launcher that
# may not write to the root directory (ours in the tests).
_LOCAL_ROOTS = {"gs://": "/gcs/", "s3://": "/s3/", "minio://": "/minio/"}
_UNTYPED = ("", "system.Artifact")
# Artifact types of our own: TFX would take the schema's title for the path of the class.
_OWN_TYPES = {"yt8m.Report": "yt8m.components.report.component.ReportArtifact"}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the executor that the arguments name; the value is the exit code."""
    args, beam_args = _parse(sys.argv[1:] if argv is None else argv)
    logging.basicConfig(level=logging.INFO)
    root = os.environ.get("YT8M_LAUNCHER_ROOT", "")
    invocation = json.loads(args.json_serialized_invocation_args)
    inputs = json.loads(args.json_serialized_inputs_spec_args or "{}")
    outputs = json.loads(args.outputs_spec or "{}")
    uri_by_path = prepare(invocation, inputs, outputs, launcher_root=root)
    args.json_serialized_invocation_args = json.dumps(invocation)
    try:
        _run(args, beam_args)
    except Yt8mError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        return error.exit_code
    except Exception as error:
        known = _explained(error)
        if known is None:
            raise
        print(f"error: {known}", file=sys.stderr, flush=True)
        return known.exit_code
    finish(Path(invocation["outputs"]["outputFile"]), uri_by_path)
    return 0


def prepare(
    invocation: dict[str, Any],
    inputs_spec: Mapping[str, Any],
    outputs_spec: Mapping[str, Any],
    *,
    launcher_root: str = "",
) -> dict[str, str]:
    """Give artifacts their types and local paths, in place; the value leads from path to URI."""
    uri_by_path: dict[str, str] = {}
    for side, spec in (("inputs", inputs_spec), ("outputs", outputs_spec)):
        declared = spec.get("artifacts", {})
        for key, given in invocation.get(side, {}).get("artifacts", {}).items():
            for artifact in given.get("artifacts", []):
                _restore_type(artifact, declared.get(key, {}), f"{side}.{key}")
                artifact.setdefault("name", artifact["uri"])  # TFX looks ids up by it
                path = local_path(artifact["uri"], launcher_root)
                uri_by_path[path] = artifact["uri"]
                artifact["uri"] = path
    outputs = invocation.setdefault("outputs", {})
    outputs["outputFile"] = local_path(outputs["outputFile"], launcher_root)
    return uri_by_path


def local_path(uri: str, launcher_root: str = "") -> str:
    """Where the launcher keeps `uri`; other addresses are left as they are."""
    for scheme, directory in _LOCAL_ROOTS.items():
        if uri.startswith(scheme):
            return launcher_root + directory + uri.removeprefix(scheme)
    return uri


def finish(output_file: Path, uri_by_path: Mapping[str, str]) -> None:
    """Rewrite what TFX reports: the store's URIs, and no null."""
    report = json.loads(output_file.read_text(encoding="utf-8"))
    for given in report.get("artifacts", {}).values():
        for artifact in given.get("artifacts", []):
            artifact["uri"] = uri_by_path.get(artifact["uri"], artifact["uri"])
            metadata = artifact.get("metadata", {})
            artifact["metadata"] = {k: v for k, v in metadata.items() if v is not None}
    partial = output_file.with_name(output_file.name + ".partial")
    partial.write_text(json.dumps(report), encoding="utf-8")
    partial.replace(output_file)


def _restore_type(artifact: dict[str, Any], declared: Mapping[str, Any], where: str) -> None:
    given = artifact.get("type") or {}
    title = given.get("schemaTitle", "")
    if given.get("instanceSchema") or title not in _UNTYPED:
        return
    if "artifactType" not in declared:
        raise Yt8mError(f"{where}: the artifact has no type and the component declares none")
    artifact["type"] = dict(declared["artifactType"])


def _run(args: argparse.Namespace, beam_args: list[str]) -> None:
    from tfx.orchestration.kubeflow.v2 import compiler_utils
    from tfx.orchestration.kubeflow.v2.container import kubeflow_v2_run_executor

    compiler_utils.TITLE_TO_CLASS_PATH.update(_OWN_TYPES)
    kubeflow_v2_run_executor.main((args, beam_args))


def _explained(error: BaseException | None) -> Yt8mError | None:
    """Our own error, if Beam or TFX wrapped one into its own."""
    while error is not None:
        if isinstance(error, Yt8mError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _parse(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(prog="yt8m.kubeflow.entrypoint", allow_abbrev=False)
    for name in ("executor_class_path", "json_serialized_invocation_args"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--json_serialized_inputs_spec_args", default="")
    parser.add_argument("--outputs_spec", default="")
    return parser.parse_known_args(list(argv))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Yt8mError as error:
        print(f"error: {error}", file=sys.stderr, flush=True)
        sys.exit(error.exit_code)
    except Exception:
        _log.exception("the component failed")
        sys.exit(EXIT_FAILED)
