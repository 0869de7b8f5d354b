"""Recurring runs by name, although Kubeflow's names are not unique and nothing can be updated.

A changed schedule is created switched off, the old one is deleted, and then the new one is
switched on: interrupted at any point, two never run side by side, and the same command repairs it.

People share an experiment. A schedule is its owner's, who is written into it, and a pipeline's: any
other of the same name is left alone.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace

from yt8m.kubeflow.server.client import KfpClient, Launch, Schedule, Timing, find_pipeline
from yt8m.schemas.errors import UserError


class Change(enum.Enum):
    """A change of a schedule, made or planned."""

    NONE = "already there"
    CREATED = "created"
    REPLACED = "replaced"
    ENABLED = "enabled"
    DISABLED = "disabled"


@dataclass(frozen=True, kw_only=True)
class Scheduled:
    """The schedule as it is now, and the ids of those it took the place of."""

    schedule: Schedule
    change: Change
    removed: tuple[str, ...] = ()


def schedule(
    client: KfpClient, launch: Launch, timing: Timing, *, enabled: bool, dry_run: bool = False
) -> Scheduled:
    """Exactly one schedule of this name, as wanted, in the experiment."""
    if not 1 <= timing.max_concurrency <= 10:
        raise UserError(f"--max-concurrency {timing.max_concurrency}: Kubeflow takes 1 to 10")
    named = _own(client, launch.name, launch.pipeline_id, launch.experiment_id)
    same = [s for s in named if _same(s, launch, timing)]
    keep = next((s for s in same if s.enabled == enabled), same[0] if same else None)
    others = [s for s in named if keep is None or s.id != keep.id]
    change = _change(keep, others, enabled)
    if dry_run:
        planned = keep or Schedule(id="", launch=launch, timing=timing, enabled=enabled)
        return _scheduled(replace(planned, enabled=enabled), change, others)
    kept = keep or client.create_schedule(launch, timing, enabled=False)
    for other in others:
        client.delete_schedule(other.id)
    if keep is None or kept.enabled != enabled:
        client.set_enabled(kept.id, enabled)
    return _scheduled(replace(kept, enabled=enabled), change, others)


def unschedule(
    client: KfpClient, experiment_id: str, name: str, *, dry_run: bool = False
) -> tuple[Schedule, ...]:
    """Delete the owner's schedules of this name, or the one of this id; those that were there.

    UserError where the name is somebody else's alone.
    """
    if not experiment_id:  # no such experiment; asked without one, the server would list all
        return ()
    named = [s for s in client.schedules(experiment_id) if name in (s.launch.name, s.id)]
    chosen = [s for s in named if s.id == name or _is_owners(s, client)]
    if named and not chosen:
        raise UserError(
            f"{_described(client, named)}; not yours ({client.owner or 'nobody'}), so it stays: "
            "`yt8m kubeflow unschedule ID` deletes it by its id"
        )
    for one in [] if dry_run else chosen:
        client.delete_schedule(one.id)
    return tuple(chosen)


def scheduled_version(client: KfpClient, *, name: str, pipeline: str, experiment: str) -> str:
    """The id of the version that the schedule runs; empty where it is not there yet.

    UserError where the version is not on the server any more.
    """
    known = find_pipeline(client, pipeline)
    if known is None:
        return ""
    own = _own(client, name, known.id, client.experiment_id(experiment, create=False))
    own.sort(key=lambda existing: existing.enabled)  # an interrupted change leaves one switched off
    if not own:
        return ""
    version_id = own[-1].launch.version_id
    if version_id not in [version.id for version in client.versions(known.id)]:
        raise UserError(
            f"schedule {name!r} runs version {version_id} of {pipeline}, which was deleted "
            "from the server: --latest moves it to the newest one, --version to one that you name"
        )
    return version_id


def _own(client: KfpClient, name: str, pipeline_id: str, experiment_id: str) -> list[Schedule]:
    """The schedules that may be changed; UserError where others alone have the name."""
    if not experiment_id:  # a dry run, and the experiment is not there yet
        return []
    named = [s for s in client.schedules(experiment_id) if s.launch.name == name]
    own = [s for s in named if s.launch.pipeline_id == pipeline_id and _is_owners(s, client)]
    if named and not own:
        # Of another pipeline, or of one that was deleted and uploaded again.
        is_mine = any(_is_owners(s, client) for s in named)
        way = f", or delete yours with `yt8m kubeflow unschedule {name}`" if is_mine else ""
        raise UserError(
            f"{_described(client, named)}; it is left alone: give this schedule another --name"
            f"{way}. (You are {client.owner or 'nobody'}, by --owner or your login.)"
        )
    return own


def _is_owners(existing: Schedule, client: KfpClient) -> bool:
    return bool(existing.owner) and existing.owner == client.owner


def _described(client: KfpClient, schedules: Sequence[Schedule]) -> str:
    names = {pipeline.id: pipeline.name for pipeline in client.pipelines()}
    return "; ".join(
        f"there is a schedule {s.launch.name!r} of pipeline "
        f"{names.get(s.launch.pipeline_id, s.launch.pipeline_id or 'unknown')}, "
        f"made by {s.owner or 'another client'} (id {s.id})"
        for s in schedules
    )


def _same(existing: Schedule, launch: Launch, timing: Timing) -> bool:
    there = existing.launch
    # The server may fill in a service account of its own.
    if not launch.service_account:
        there = replace(there, service_account="")
    return there == launch and existing.timing == timing


def _change(keep: Schedule | None, others: Sequence[Schedule], enabled: bool) -> Change:
    if keep is None:
        return Change.REPLACED if others else Change.CREATED
    if keep.enabled != enabled:
        return Change.ENABLED if enabled else Change.DISABLED
    return Change.REPLACED if others else Change.NONE


def _scheduled(schedule: Schedule, change: Change, others: Sequence[Schedule]) -> Scheduled:
    return Scheduled(schedule=schedule, change=change, removed=tuple(o.id for o in others))
