"""What a run depends on beyond its configuration: source files, registry, vocabulary, our code.

Worked out just before `create_pipeline`, so that it enters TFX's cache keys as parameters.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from yt8m.components.artifacts.run_record import FILE_NAME, RunRecord, Verdict
from yt8m.components.example_gen.sources import source_digest
from yt8m.components.records.vocabulary import vocabulary_digest
from yt8m.components.registry.versions import UnusableVersionError, load_version, registry_digest
from yt8m.components.trainer.state.warm_start import weights_digest
from yt8m.components.trainer.teacher import teacher_digest
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.run_record import read_run_records
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.code_digest import code_digest
from yt8m.schemas.config_tree import to_dict

_MODEL_CODE = (
    "yt8m.components.example_gen.executor",
    "yt8m.components.transform.preprocessing",
    "yt8m.components.trainer.backends.run",
)
_TUNER_CODE = "yt8m.components.tuner.run"
_ALL_CODE = "yt8m.pipeline.graph"
_LIBRARIES = ("tfx", "tensorflow", "apache-beam")
# What decides which model comes out; the rest (gate, report, retention) judges or keeps it.
_MODEL_NODES = ("data", "features", "transform", "baseline", "tuner", "trainer", "models")


@dataclass(frozen=True, kw_only=True)
class ExternalInputs:
    """Empty on Kubeflow, where components with external inputs are not cached."""

    source_digest: str = ""
    registry_digest: str = ""
    vocabulary_digest: str = ""
    warm_start_digest: str = ""
    teacher_digest: str = ""
    run_key: str = ""
    run_file: str = ""  # the runner's record of the run under way; the same path in every run


def resolve_external_inputs(config: PipelineConfig, layout: Layout) -> ExternalInputs:
    """The world as the run will see it."""
    source = source_digest(config.data)
    vocabulary = vocabulary_digest(config.evaluator.vocabulary)
    weights = weights_digest(config.trainer.warm_start)
    learned = vocabulary if config.trainer.learns_verticals else ""
    teacher = teacher_digest(config.trainer.teacher)
    key = _run_key(config, source, learned, weights, teacher)
    registry = registry_digest(config.pusher.push_dir, exclude_run_key=key)
    return ExternalInputs(
        source_digest=source,
        registry_digest=registry,
        vocabulary_digest=vocabulary,
        warm_start_digest=weights,
        teacher_digest=teacher,
        run_key=key,
        run_file=str(layout.newest / FILE_NAME),
    )


def fingerprint(config: PipelineConfig, external: ExternalInputs) -> str:
    """Equal for two runs exactly when the second would find everything in the cache."""
    libraries = {name: version(name) for name in _LIBRARIES}
    code = code_digest(_ALL_CODE, *config.evaluator.own_modules)
    return _digest(to_dict(config), to_dict(external), code, libraries)


def _run_key(config: PipelineConfig, *world: str) -> str:
    """Names the model that a run makes: its own versions are no baseline for it.

    Without this a repeated run would find the version it pushed itself, and train again on it.
    """
    given = to_dict(config).items()
    nodes = {key: node for key, node in given if key in _MODEL_NODES and node is not None}
    paths = (config.trainer.network, config.data.rewrite.keep, config.transform.function)
    code = (*_MODEL_CODE, *([_TUNER_CODE] if config.tuner else []), *paths)
    return _digest(nodes, *world, code_digest(*code))


def _digest(*parts: Any) -> str:
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def find_up_to_date_run(
    layout: Layout, config: PipelineConfig, fingerprint: str
) -> RunRecord | None:
    """The newest run, when it was complete, the same, and what it left is still there."""
    newest = next(read_run_records(layout), None)
    if newest is None or newest.fingerprint != fingerprint or not newest.verdict.is_complete:
        return None
    if config.metadata.mysql is None and not layout.database.is_file():
        return None
    if newest.report and not Path(newest.report).is_file():
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
