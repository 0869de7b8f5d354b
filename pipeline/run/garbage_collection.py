"""Garbage collection: the runs of a root that nothing needs, and their removal.

What an execution left is found by its number, which TFX puts into each path below the pipeline
root: so also what one that failed left, and in a root that was moved or copied.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISDIR

from yt8m.components import storage
from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.components.registry.versions import UnusableVersionError, list_versions, load_record
from yt8m.components.trainer.state.done_marker import read_done
from yt8m.pipeline.config import RetentionConfig
from yt8m.pipeline.lineage import ArtifactFacts, ExecutionFacts, Lineage
from yt8m.pipeline.run_record import read_run_records, unreadable_runs
from yt8m.pipeline.workspace import Layout

_DAY_S = 86400.0
_SYSTEM = ".system"  # TFX's folder beside a node's outputs
_ENDED_WELL = ("COMPLETE", "CACHED")
_CURVES = "model_run"  # the Trainer's output that has the marker of its training

Executions = Mapping[str, Sequence[ExecutionFacts]]  # by the run


@dataclass(frozen=True)
class Waste:
    """Removable things: runs, their own artifacts, and checkpoints that nobody continues."""

    runs: tuple[str, ...] = ()
    artifact_ids: tuple[int, ...] = ()
    paths: tuple[str, ...] = ()  # runs are the last, for nothing else leads to what they left
    notes: tuple[str, ...] = ()  # what cannot go, and why

    @property
    def bytes(self) -> int:
        """The bytes to gain; links count as themselves, a file's second name as nothing."""
        return sum(_size(path) for path in self.paths)


def find_waste(layout: Layout, lineage: Lineage, policy: RetentionConfig, *, now: float) -> Waste:
    """Find what `policy` lets go of. Artifacts that a kept run reused from the cache stay."""
    records = list(read_run_records(layout))
    old = _old_runs(records, policy, now=now)
    # A run whose record is damaged is kept, with what it took from the cache.
    runs = {*(record.run_id for record in records), *storage.list_directories(layout.runs)}
    executions = {run_id: lineage.executions(run_id) for run_id in sorted(runs)}
    places = _places(layout, executions, old)
    artifacts = {
        output.artifact_id
        for output in _outputs(executions, old)
        if (place := _place(layout, output)) in places and _is_there(place, output)
    }
    aside = {
        *_unused_since(_kept_since(records, policy, now=now), layout),
        *_finished_checkpoints(layout, records, executions),
    }
    logs, folders = map(layout.logs, old), map(layout.run, old)
    paths = [*sorted(places), *sorted(aside), *sorted(logs), *sorted(folders)]
    return Waste(
        runs=tuple(sorted(old)),
        artifact_ids=tuple(sorted(artifacts)),
        paths=tuple(path for path in paths if storage.exists(path)),
        notes=(*_missing_registries(records), *unreadable_runs(layout, records)),
    )


def remove(waste: Waste, lineage: Lineage) -> None:
    """First MLMD forgets the artifacts, so that the cache never offers a half-removed one."""
    lineage.mark_deleted(waste.artifact_ids)
    for path in waste.paths:
        if storage.is_dir(path):
            storage.remove_tree(path)  # unlike TFX's own removal, it follows no links
        else:
            storage.remove(path)


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
    """Runs whose model is a version; all that pushed, where the registry is not to be found."""
    keys: dict[str, set[str]] = {}
    kept = set()
    for record in records:
        if record.push_dir and record.push_dir not in keys:
            keys[record.push_dir] = _run_keys(record.push_dir)
        is_lost = record.verdict is Verdict.PUSHED and not storage.is_dir(record.push_dir)
        if is_lost or record.run_key in keys.get(record.push_dir, set()):
            kept.add(record.run_id)
    return kept


def _missing_registries(records: Iterable[RunRecord]) -> Iterator[str]:
    pushed = {record.push_dir for record in records if record.verdict is Verdict.PUSHED}
    for push_dir in sorted(pushed):
        if not storage.is_dir(push_dir):
            yield (
                f"{push_dir}: there is no such registry, so its versions are unknown, and the runs "
                "that pushed to it are kept. If it was moved, create a link to it at this path, "
                "or remove these runs' directories"
            )


def _run_keys(push_dir: str) -> set[str]:
    """The run keys of all versions; a version that cannot be read protects nothing by itself."""
    keys = set()
    for number in list_versions(push_dir):
        try:
            record = load_record(push_dir, number)
        except UnusableVersionError:
            continue
        keys |= {record.run_key, record.origin_run_key}
    return keys - {""}


def _places(layout: Layout, executions: Executions, old: set[str]) -> set[str]:
    """Places of old runs' outputs, except those that a kept run uses.

    What a run took from the cache has the number of the run that made it. That run may have gone
    before, while another one still used what it had made.
    """

    def places_of(runs: set[str]) -> set[str]:
        return {_place(layout, output) for output in _outputs(executions, runs)}

    numbers = {str(e.execution_id) for run_id in old for e in executions[run_id]}
    folders = {*_below(layout.artifacts, "*/*/*"), *_below(layout.artifacts, f"*/{_SYSTEM}/*/*")}
    left = {path for path in folders if _name(path) in numbers} | (folders & places_of(old))
    return left - places_of(set(executions) - old)


def _below(folder: str, pattern: str) -> list[str]:
    return storage.glob(storage.join(storage.escape(folder), pattern))


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _outputs(executions: Executions, runs: set[str]) -> Iterator[ArtifactFacts]:
    return (output for run_id in runs for e in executions[run_id] for output in e.outputs)


def _place(layout: Layout, output: ArtifactFacts) -> str:
    """Where the artifact is in this root, whose former place MLMD may have."""
    return storage.join(layout.artifacts, *output.uri.split("/")[-3:])


def _is_there(place: str, output: ArtifactFacts) -> bool:
    """Whether MLMD means `place`, and not its original in the root that this one is a copy of."""
    if place == output.uri or not storage.exists(output.uri):
        return True
    here, there = storage.local_path(place), storage.local_path(output.uri)
    return here is not None and there is not None and here.exists() and there.samefile(here)


def _kept_since(records: list[RunRecord], policy: RetentionConfig, *, now: float) -> float:
    """When the oldest run within the limits began; 0 where none is beyond them.

    One that is kept for its version does not count: a champion may be in service for years.
    """
    limit = now - policy.keep_days * _DAY_S
    within = [*records[: policy.keep_runs], *(r for r in records if r.started >= limit)]
    beyond = len(records) > len({record.run_id for record in within})
    return min(record.started for record in within) if beyond else 0.0


def _unused_since(moment: float, layout: Layout) -> list[str]:
    """Checkpoints last written, and memories of shards last used, before `moment`.

    Memories in an object store stay: it knows only when they were written.
    """
    checkpoints = _below(layout.checkpoints, "*")
    shards = [] if layout.is_remote else _below(layout.verified, "*/*.npz")
    return [path for path in (*checkpoints, *shards) if _newest_change(path) < moment]


def _finished_checkpoints(
    layout: Layout, records: list[RunRecord], executions: Executions
) -> Iterator[str]:
    """Checkpoints of trainings whose model is exported: the next one starts from that.

    The newest run, if a person started it, keeps its own, which more steps may continue.
    """
    trainings = _below(layout.checkpoints, "*")
    finished = {path: done.id for path in trainings if (done := read_done(path))}
    if not finished:
        return
    exported = {
        done.id
        for record in records
        if record is not records[0] or record.retraining
        for execution in executions[record.run_id]
        if execution.state in _ENDED_WELL
        for output in execution.outputs
        if output.key == _CURVES and (done := read_done(_place(layout, output)))
    }
    yield from (path for path, marker in finished.items() if marker in exported)


def _newest_change(path: str) -> float:
    return max((written for _, written in _contents(path)), default=time.time())


def _size(path: str) -> int:
    return sum(size for size, _ in _contents(path))


def _contents(path: str) -> Iterator[tuple[int, float]]:
    """The bytes that would be gained, and the time, of the path and of all below it."""
    local = storage.local_path(path)
    if local is None:
        yield from ((found.size, found.mtime) for found in storage.listed(path).values())
        return
    for status in _statuses(local):
        counts = status.st_nlink == 1 and not S_ISDIR(status.st_mode)
        yield (status.st_size if counts else 0), status.st_mtime


def _statuses(path: Path) -> Iterator[os.stat_result]:
    """Of the path and all below it, but for what a run removes meanwhile; follows no link."""
    below = (
        Path(folder, name)
        for folder, folders, files in os.walk(path)
        for name in (*folders, *files)
    )
    for place in (path, *below):
        with contextlib.suppress(FileNotFoundError):
            yield place.lstat()
