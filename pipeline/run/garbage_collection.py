"""Which of a root's runs nothing needs any more, and their removal."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.components.registry.versions import UnusableVersionError, list_versions, load_record
from yt8m.pipeline.config import RetentionConfig
from yt8m.pipeline.metadata import Lineage
from yt8m.pipeline.run_record import read_run_records
from yt8m.pipeline.workspace import Layout

_DAY_S = 86400.0


@dataclass(frozen=True)
class Waste:
    """What may go: runs, artifacts that only they have, and checkpoints that nobody continues."""

    runs: tuple[str, ...] = ()
    artifact_ids: tuple[int, ...] = ()
    paths: tuple[Path, ...] = ()

    @property
    def bytes(self) -> int:
        """What would be gained; links count as themselves, not as what they lead to."""
        return sum(_size(path) for path in self.paths)


def find_waste(layout: Layout, lineage: Lineage, policy: RetentionConfig, *, now: float) -> Waste:
    """What `policy` lets go of. Artifacts that a kept run used too, from the cache, stay."""
    records = list(read_run_records(layout))
    old = _old_runs(records, policy, now=now)
    kept_artifacts = {
        output.artifact_id
        for record in records
        if record.run_id not in old
        for execution in lineage.executions(record.run_id)
        for output in execution.outputs
    }
    loose = {
        output.artifact_id: Path(output.uri)
        for run_id in old
        for execution in lineage.executions(run_id)
        for output in execution.outputs
        if output.artifact_id not in kept_artifacts
    }
    ours = {i: path for i, path in loose.items() if layout.artifacts in path.parents}
    folders = [folder for run_id in old for folder in (layout.run(run_id), layout.logs(run_id))]
    checkpoints = _old_checkpoints(layout, records, old)
    paths = [*ours.values(), *folders, *checkpoints]
    return Waste(
        runs=tuple(sorted(old)),
        artifact_ids=tuple(sorted(ours)),
        paths=tuple(sorted({path for path in paths if path.exists()})),
    )


def remove(waste: Waste, lineage: Lineage) -> None:
    """First MLMD forgets the artifacts, so that the cache never offers a half-removed one."""
    lineage.mark_deleted(waste.artifact_ids)
    for path in waste.paths:
        shutil.rmtree(path)  # unlike TFX's own removal, it follows no links


def _old_runs(records: list[RunRecord], policy: RetentionConfig, *, now: float) -> set[str]:
    """Runs beyond both limits; never the newest, nor one that made a version which is there."""
    in_registry = _runs_in_registry(records)
    limit = now - policy.keep_days * _DAY_S
    return {
        record.run_id
        for record in records[policy.keep_runs :]
        if record.started < limit
        and record.run_id not in in_registry
        and record.verdict is not Verdict.RUNNING
    }


def _runs_in_registry(records: Iterable[RunRecord]) -> set[str]:
    keys: dict[str, set[str]] = {}
    kept = set()
    for record in records:
        if record.push_dir and record.push_dir not in keys:
            keys[record.push_dir] = _run_keys(record.push_dir)
        if record.run_key in keys.get(record.push_dir, set()):
            kept.add(record.run_id)
    return kept


def _run_keys(push_dir: str) -> set[str]:
    """The run keys of all versions; a version that cannot be read protects nothing by itself."""
    found = set()
    for number in list_versions(push_dir):
        try:
            found.add(load_record(push_dir, number).run_key)
        except UnusableVersionError:
            continue
    return found - {""}


def _old_checkpoints(layout: Layout, records: list[RunRecord], old: set[str]) -> list[Path]:
    """Checkpoints last written before the oldest run that is kept began."""
    if not old or not layout.checkpoints.is_dir():
        return []
    kept_since = min(record.started for record in records if record.run_id not in old)
    return [path for path in layout.checkpoints.iterdir() if _newest_change(path) < kept_since]


def _newest_change(path: Path) -> float:
    return max((p.lstat().st_mtime for p in (path, *path.rglob("*"))), default=time.time())


def _size(path: Path) -> int:
    return sum(p.lstat().st_size for p in path.rglob("*") if p.is_symlink() or p.is_file())
