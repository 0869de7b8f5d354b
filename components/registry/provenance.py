"""The origin of a version: an in-toto statement with SLSA provenance, written from its record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.schemas.json_file import own_version

STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE = "https://slsa.dev/provenance/v1"
_BUILD_TYPE = "urn:yt8m:pipeline:v1"
_MODEL_DIGEST = "yt8mModel"  # of all files of a model, so that it is no SHA-256 in in-toto's sense
_BUILDER = "urn:yt8m:registry"


def provenance(record: VersionRecord) -> str:
    """The statement about a numbered version, as JSON. Its subjects are the pushed files."""
    statement = {
        "_type": STATEMENT_TYPE,
        "subject": [
            {"name": name, "digest": {"sha256": file.sha256}}
            for name, file in sorted(record.given_files.items())
        ],
        "predicateType": PREDICATE_TYPE,
        "predicate": {
            "buildDefinition": {
                "buildType": _BUILD_TYPE,
                "externalParameters": {
                    "version": record.version,
                    "origin": record.origin.value,
                    "originVersion": record.origin_version,
                    "originPath": record.origin_path,
                    "configuration": record.configuration,
                },
                "internalParameters": {"codeVersion": record.code_version},
                "resolvedDependencies": [*_dependencies(record)],
            },
            "runDetails": {
                "builder": {"id": _BUILDER, "version": {"yt8m": own_version()}},
                "metadata": {"invocationId": record.run_key, "finishedOn": record.created},
                "byproducts": [
                    _byproduct("gate decision", record.decision),
                    _byproduct("infra check", record.infra_check),
                ],
            },
        },
    }
    return json.dumps(statement, indent=1, sort_keys=True) + "\n"


def _dependencies(record: VersionRecord) -> Iterator[dict[str, Any]]:
    """The data, and the version that the model was compared with or that it is again."""
    data = record.data
    if data.manifest_digest:
        yield {
            "name": "data manifest",
            "digest": {"yt8mManifest": data.manifest_digest},
            "annotations": {
                "level": data.level,
                "spans": [*data.spans],
                "examples": dict(data.examples),
            },
        }
    for name, number, digest in (
        ("baseline", record.baseline_version, record.baseline_digest),
        ("origin", record.origin_version, record.model_digest),
    ):
        if number:
            of_model = {"digest": {_MODEL_DIGEST: digest}} if digest else {}
            yield {"name": name, "uri": f"urn:yt8m:version:{number}", **of_model}
    champion = record.decision.get("champion") or {}
    if champion.get("digest"):
        yield {"name": "champion", "digest": {_MODEL_DIGEST: champion["digest"]}}


def _byproduct(name: str, content: Mapping[str, Any]) -> dict[str, Any]:
    text = json.dumps(content, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    return {"name": name, "digest": {"sha256": digest}, "annotations": dict(content)}
