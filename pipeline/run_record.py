"""The records of the runs of a root: written at every event, listed, and marked where killed."""

from __future__ import annotations

import dataclasses
import datetime
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from yt8m.components import storage
from yt8m.components.artifacts.read import read_file
from yt8m.components.artifacts.run_record import FILE_NAME, RunRecord, State, Verdict
from yt8m.pipeline.workspace import Layout, is_held
from yt8m.schemas.errors import UserError
from yt8m.schemas.json_file import DamagedFileError

_RUN_ID = "%Y%m%d-%H%M%S-%f"
_ADVICE = "restore it from a copy, or remove its directory"


@dataclass(frozen=True)
class RunResult:
    """Result of the run; `is_new` is False where an earlier run is up to date."""

    record: RunRecord
    is_new: bool = True


def next_run_id(layout: Layout, now: datetime.datetime) -> str:
    """From the time, and after every run there is: their order must outlive a clock set back."""
    wanted = now.strftime(_RUN_ID)
    newest = max(storage.list_directories(layout.runs), default="")
    if wanted > newest:
        return wanted
    try:
        last = datetime.datetime.strptime(newest, _RUN_ID)
    except ValueError:  # somebody else's directory
        return wanted
    return (last + datetime.timedelta(microseconds=1)).strftime(_RUN_ID)


def display_status(verdict: str, reason: str) -> str:
    """The outcome in words; what ended badly says so itself."""
    if not reason:
        return verdict
    match Verdict(verdict):
        case Verdict.FAILED | Verdict.INTERRUPTED | Verdict.TERMINATED:
            return reason
        case Verdict.KILLED:
            return f"{verdict} {reason}"  # in a component
        case _:
            return f"{verdict}: {reason}"


def write_record(layout: Layout, record: RunRecord) -> None:
    """Replace the run's record, in one rename."""
    text = record.to_json()
    storage.write_text(storage.join(layout.run(record.run_id), FILE_NAME), text)
    if layout.is_remote and record.verdict is not Verdict.KILLED:  # no link leads there
        storage.write_text(storage.join(layout.newest, FILE_NAME), text)


def begin_record(layout: Layout, record: RunRecord) -> None:
    """Write the first record of a run, and make it the newest run."""
    write_record(layout, record)
    newest = storage.local_path(layout.newest)
    if newest is None:
        return
    if newest.is_dir() and not newest.is_symlink():  # the root was copied with its links followed
        shutil.rmtree(newest)
    partial = newest.with_name(f".{newest.name}")
    partial.unlink(missing_ok=True)
    # Relative, so that it holds where the root is moved or mounted elsewhere.
    partial.symlink_to(Path(layout.run(record.run_id)).relative_to(layout.root))
    partial.replace(newest)


def read_record(layout: Layout, run_id: str) -> RunRecord | None:
    """The record of `run_id`, whose root may have moved; None when none can be read."""
    try:
        return _read(layout, run_id)
    except (OSError, DamagedFileError):
        return None


def _read(layout: Layout, run_id: str) -> RunRecord:
    path = storage.join(layout.run(run_id), FILE_NAME)
    record = read_file(path, RunRecord.from_json, advice=_ADVICE)
    return dataclasses.replace(record, report=record.place_in(layout.root, record.report))


def read_run_records(layout: Layout) -> Iterator[RunRecord]:
    """All runs of the root, the newest first."""
    for name in sorted(storage.list_directories(layout.runs), reverse=True):
        record = read_record(layout, name)
        if record is not None:
            yield record


def unreadable_runs(
    layout: Layout, records: Iterable[RunRecord], *, after: str = ""
) -> Iterator[str]:
    """The runs that are missing in `records`, the newest first, each with what is wrong.

    Only those that are newer than the run `after`.
    """
    read = {record.run_id for record in records}
    names = {name for name in storage.list_directories(layout.runs) if name > after}
    for name in sorted(names - read, reverse=True):
        try:
            _read(layout, name)
        except FileNotFoundError:
            continue  # somebody else's directory, or a run that was removed meanwhile
        except (OSError, DamagedFileError) as error:
            yield f"the record of run {name} cannot be used: {error}"


def list_runs(layout: Layout) -> list[RunRecord]:
    """All runs of the root, the newest first; those without a process are marked killed."""
    records = list(read_run_records(layout))
    if all(record.verdict is not Verdict.RUNNING for record in records):
        return records  # another machine's lock is looked at for seconds
    held = is_held(layout.lock)
    records = list(read_run_records(layout))
    held = held or is_held(layout.lock)  # one may have begun meanwhile
    return records if held else [mark_killed(record) for record in records]


def newest_retraining(records: Iterable[RunRecord]) -> RunRecord | None:
    """The first of `records` that `yt8m retrain` began."""
    return next((record for record in records if record.retraining), None)


def record_named(layout: Layout, run_id: str) -> RunRecord:
    """The record of a run; of the newest one where no id is given, which must be readable."""
    records = list_runs(layout)
    newest = records[0].run_id if records else ""
    if not run_id and (problem := next(unreadable_runs(layout, records, after=newest), "")):
        raise UserError(f"{problem}; or name an older run{newest and f', such as {newest}'}")
    for record in records:
        if run_id in ("", record.run_id):
            return record
    if run_id and storage.exists(storage.join(layout.run(run_id), FILE_NAME)):
        return _read(layout, run_id)  # which says what is wrong with it
    known = ", ".join(record.run_id for record in records[:5]) or "none"
    raise UserError(f"no run {run_id} in {layout.root}; the newest are {known}")


def mark_killed(record: RunRecord) -> RunRecord:
    """Complete `record`, whose run is known to be over."""
    if record.verdict is not Verdict.RUNNING:
        return record
    nodes = tuple(
        dataclasses.replace(node, state=State.KILLED) if node.state is State.RUNNING else node
        for node in record.nodes
    )
    return dataclasses.replace(
        record,
        verdict=Verdict.KILLED,
        nodes=nodes,
        reason=f"{_where(record)} (kill -9, out of memory, power loss)",
    )


def _where(record: RunRecord) -> str:
    running = [node.name for node in record.nodes if node.state is State.RUNNING]
    if running:
        return f"while {running[0]} was running"
    ended = [node for node in record.nodes if node.state is not State.WAITING]
    if not ended:
        return "before its first component"
    return f"after {max(ended, key=lambda node: node.started).name}"
