"""Check whether the served model is still good enough, and roll back if configured.

The version in service is held against the gate on the newest labelled records. Below it, or
damaged, the newest older version that passes on the same records is put in its place; where none
does, nothing changes.
"""

from __future__ import annotations

import contextlib
import logging
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.artifacts.spans import spans_text
from yt8m.components.evaluator.shard_selection import choose_shards
from yt8m.components.example_gen.config import Ingest
from yt8m.components.example_gen.materialize import materialize_shards
from yt8m.components.example_gen.sources import UNDIVIDED, resolve_sources
from yt8m.components.example_gen.verify import open_cache, verify_shards
from yt8m.components.records.find import find_shards
from yt8m.components.records.tfrecord import write_records
from yt8m.components.registry.push import rollback
from yt8m.components.registry.signature import (
    UnsignedVersionError,
    require_signed,
    required_trust,
    signer_of,
)
from yt8m.components.registry.versions import (
    DamagedVersionError,
    InService,
    UnusableVersionError,
    Version,
    in_service,
    list_versions,
    load_version,
)
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.errors import UserError

if TYPE_CHECKING:
    from yt8m.components.evaluator.served_model_gate import ServedModelDecision

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ServiceCheck:
    """Result of checking the version in service, and the action taken."""

    version: int  # in service when it was looked at; 0: none of ours
    text: str  # for people
    is_below: bool = False
    rolled_back_to: int = 0  # whose files are in service again
    new_version: int = 0  # under this number


def check_service(config: PipelineConfig) -> ServiceCheck:
    """Evaluate what is in service on the newest labelled records, and go back where it fails."""
    push_dir = config.pusher.push_dir
    served = in_service(push_dir)
    if not served or served.foreign:
        return ServiceCheck(version=0, text="no version of yt8m's is in service")
    with _newest_labelled(config) as (shards, where):
        return _check(config, served, shards, where)


def _check(
    config: PipelineConfig, served: InService, shards: list[Shard], where: str
) -> ServiceCheck:
    try:
        current = load_version(config.pusher.push_dir, served.version, verify=True)
    except DamagedVersionError as error:
        why = f"{error}, and it is in service"
    else:
        judged = _decide(config, current, shards)
        decision = judged.decision
        if not judged.has_enough_examples:
            return ServiceCheck(
                version=served.version,
                text=f"{served} was not judged: {where} has {decision.examples:,} examples, "
                f"gate.min_examples is {config.gate.min_examples:,}",
            )
        if decision.blessed:
            return ServiceCheck(version=served.version, text=f"{served} passes its gate on {where}")
        why = f"{served} fell below its gate on {where}: {decision.reason}"
    for older in _older(config, served):
        if _passes(config, older, shards):
            return _go_back(config, served, older, why)
    return ServiceCheck(
        version=served.version,
        text=f"{why}; no older version passes on {where}, so it stays in service",
        is_below=True,
    )


def _passes(config: PipelineConfig, older: Version, shards: list[Shard]) -> bool:
    try:
        judged = _decide(config, older, shards)
    except UserError as error:  # of other classes, say
        _log.warning("version %d cannot be judged, and is left out: %s", older.number, error)
        return False
    return judged.decision.blessed and judged.has_enough_examples


def _go_back(config: PipelineConfig, served: InService, older: Version, why: str) -> ServiceCheck:
    new = rollback(
        config.pusher.push_dir,
        older.number,
        keep=config.pusher.keep_versions,
        reason=f"version {older.number} again, by `yt8m retrain`: {why}",
        replaces=served,
        signer=signer_of(config.registry),
        trust=required_trust(config.registry),
    )
    return ServiceCheck(
        version=served.version,
        text=f"{why}; version {older.number}, which passes there, is in service again as "
        f"{new.number}",
        is_below=True,
        rolled_back_to=older.number,
        new_version=new.number,
    )


@contextlib.contextmanager
def _newest_labelled(config: PipelineConfig) -> Iterator[tuple[list[Shard], str]]:
    """The newest shards that the Evaluator would score, and their name."""
    divided = bool(config.data.divide.patterns) and config.data.ingest is Ingest.REWRITE
    wanted = replace(config.evaluator, split=UNDIVIDED) if divided else config.evaluator
    sources = resolve_sources(config.data)
    chosen = choose_shards(wanted, sources.shards, dated=sources.dated)
    if not chosen.shards:
        raise UserError(
            f"data.splits names no files of split {config.evaluator.split}, on "
            "which the version in service could be judged"
        )
    where = f"split {config.evaluator.split}"
    if chosen.spans:
        where = spans_text(chosen.spans, dated=chosen.dated)
    reports = verify_shards(
        chosen.shards,
        config.data,
        config.features,
        cache=open_cache(Layout(config.root).verified, config.data, config.features),
    )
    with tempfile.TemporaryDirectory() as directory:
        # Without the bad records, which ExampleGen leaves out, or reports when it comes to them.
        placed = materialize_shards(reports, ingest=Ingest.REFERENCE, root=directory)
        shards = [shard for shard in placed if shard.records]
        if config.data.ingest is Ingest.REWRITE:
            shards = _rewritten(shards, config, directory)
        if not shards:
            raise UserError(
                f"{where} has no good record of split {config.evaluator.split}, by which the "
                "version in service could be judged"
            )
        yield shards, where


def _rewritten(shards: list[Shard], config: PipelineConfig, directory: str) -> list[Shard]:
    """The records that a rewrite, which divides them and leaves some out, puts into the split."""
    from yt8m.components.example_gen.rewrite import records_of_split  # Beam takes seconds to import

    path = Path(directory) / "records.tfrecord"
    with path.open("wb") as file:
        write_records(file, records_of_split(shards, config.evaluator.split, config.data))
    return find_shards(storage.escape(str(path))) if path.stat().st_size else []


def _decide(config: PipelineConfig, version: Version, shards: list[Shard]) -> ServedModelDecision:
    # TensorFlow takes seconds to import.
    from yt8m.components.evaluator.served_model_gate import decide_served_model

    return decide_served_model(
        version.path,
        shards,
        config.evaluator,
        config.gate,
        level=config.data.level,
        features=config.features,
    )


def _older(config: PipelineConfig, served: InService) -> Iterator[Version]:
    """Sound and blessed versions before the one in service, the newest first, each model once.

    Where signatures are demanded, a version without a valid one is left out with a warning.
    """
    push_dir, trust, seen = config.pusher.push_dir, required_trust(config.registry), {served.digest}
    for number in reversed(list_versions(push_dir)):
        if number >= served.version:
            continue
        try:
            version = load_version(push_dir, number, verify=True)
            require_signed(version, trust)
        except UnsignedVersionError as error:
            _log.warning("%s", error)
            continue
        except UnusableVersionError:
            continue
        if version.record.blessed and version.record.model_digest not in seen:
            seen.add(version.record.model_digest)
            yield version
