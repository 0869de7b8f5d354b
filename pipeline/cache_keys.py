"""Dependencies of a run besides its configuration: source files, registry, vocabulary, code.

Worked out just before `create_pipeline`, so that it enters TFX's cache keys as parameters.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from yt8m.components import storage
from yt8m.components.artifacts.run_record import FILE_NAME, RunRecord, Verdict
from yt8m.components.example_gen.sources import source_digest
from yt8m.components.registry.registry_digest import registry_digest
from yt8m.components.registry.versions import UnusableVersionError, load_version
from yt8m.components.trainer.state.content_digest import content_digest
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.run_record import read_run_records
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.code_digest import code_digest
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.roles import (
    Content,
    FilePath,
    Judging,
    ResultNeutral,
    RoleField,
    SourcePath,
    fields_with,
    own_modules,
    without,
)

_MODEL_CODE = (
    "yt8m.components.example_gen.executor",
    "yt8m.components.transform.preprocessing",
    "yt8m.components.trainer.backends.run",
)
_TUNER_CODE = "yt8m.components.tuner.run"
_ALL_CODE = "yt8m.pipeline.graph"
_LIBRARIES = ("tfx", "tensorflow", "apache-beam")


@dataclass(frozen=True, kw_only=True)
class ExternalInputs:
    """Empty on Kubeflow, where components with external inputs are not cached."""

    digests: Mapping[str, str] = field(default_factory=dict)  # of sources, by the keys of the paths
    registry_digest: str = ""
    run_key: str = ""
    run_file: str = ""  # the runner's record of the run under way; the same path in every run

    def digest(self, path: str) -> str:
        """The digest of what the key `path` leads to; empty where nothing was looked at."""
        return self.digests.get(path, "")


def resolve_external_inputs(config: PipelineConfig, layout: Layout) -> ExternalInputs:
    """The world as the run will see it."""
    digests = {source.path: digest_of(config, source) for source in fields_with(config, SourcePath)}
    key = _run_key(config, digests)
    return ExternalInputs(
        digests=digests,
        registry_digest=registry_digest(config.pusher.push_dir, exclude_run_key=key),
        run_key=key,
        run_file=storage.join(layout.newest, FILE_NAME),
    )


def digest_of(config: PipelineConfig, source: RoleField[SourcePath]) -> str:
    """Digest the content of a source path; UserError where it is absent or something else."""
    if source.role.content is Content.RECORDS:  # which are also chosen by patterns and spans
        return source_digest(config.data)
    return content_digest(source.role.content, source.value, key=source.path)


def fingerprint(config: PipelineConfig, external: ExternalInputs) -> str:
    """Equal for two runs exactly when the second would find everything in the cache."""
    libraries = {name: version(name) for name in _LIBRARIES}
    code = code_digest(_ALL_CODE, *own_modules(config))
    return _digest(to_dict(config), to_dict(external), code, libraries)


def _run_key(config: PipelineConfig, digests: Mapping[str, str]) -> str:
    """Names the model that a run makes: its own versions are no baseline for it.

    Without this a repeated run would find the version it pushed itself, and train again on it.
    """
    values = without(config, ResultNeutral, FilePath, Judging)
    sources = {source.path for source in fields_with(config, SourcePath, outside=(Judging,))}
    if config.trainer.learns_verticals:
        sources.add("evaluator.vocabulary")
    content = {path: digests.get(path, "") for path in sorted(sources)}
    code = (*_MODEL_CODE, *([_TUNER_CODE] if config.tuner else []))
    return _digest(values, content, code_digest(*code, *own_modules(config, outside=(Judging,))))


def _digest(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def find_up_to_date_run(
    layout: Layout, config: PipelineConfig, fingerprint: str
) -> RunRecord | None:
    """The newest run, when it was complete, the same, and what it left is still there."""
    newest = next(read_run_records(layout), None)
    if newest is None or newest.fingerprint != fingerprint or not newest.is_settled:
        return None
    if config.metadata.mysql is None and not layout.database.is_file():
        return None
    if newest.report and not storage.exists(newest.report):
        return None
    if newest.verdict is Verdict.PUSHED and not _is_there(newest):
        return None
    return newest


def _is_there(record: RunRecord) -> bool:
    try:
        load_version(record.push_dir, record.version)
    except UnusableVersionError:
        return False
    return True
