"""The whole way: groups of shards to parts, here or elsewhere, and the parts to one file."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.console.console import Console
from yt8m.components.inputs.shards import GROUP_BYTES, group_shards
from yt8m.components.predictions.formats import WRITINGS
from yt8m.components.predictions.plan import PredictionPlan
from yt8m.components.predictions.predictor import Predictor, ScoredRows
from yt8m.components.predictions.work import WorkDirectory, work_key
from yt8m.components.records.unchanged import RecordsChangedError, while_unchanged
from yt8m.components.storage.lock import LockedError, file_lock
from yt8m.schemas.errors import UserError

Groups = Mapping[int, Sequence[Shard]]
# Writes the part of each group into the work directory, and says how many shards are done.
RunGroups = Callable[[PredictionPlan, Groups, WorkDirectory, Callable[[int], None]], None]


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """Result of a prediction."""

    out: str
    bytes: int
    shards: int
    continued: int  # shards whose part an earlier run of the same command had left


def predict(
    plan: PredictionPlan,
    shards: Sequence[Shard],
    out: str,
    *,
    run_groups: RunGroups,
    console: Console,
    group_bytes: int = GROUP_BYTES,
) -> Predicted:
    """Write what `plan` says of `shards` to `out`: complete, or not at all."""
    groups = group_shards(shards, group_bytes=group_bytes)
    key = work_key(plan, groups)
    work = WorkDirectory(out, key, len(groups))
    with _alone(work, out):
        work.open()
        missing = work.missing()
        waiting = {number: groups[number] for number in missing}
        before = len(shards) - sum(map(len, waiting.values()))
        with console.progress("predict", total=len(shards), unit="shards", done=before) as progress:
            if waiting:
                _run_unchanged(run_groups, plan, waiting, work, progress.advance)
        if work_key(plan, groups) != key:  # workers load the model each at its time
            work.remove()
            models = " or ".join(filter(None, (plan.model, plan.context)))
            raise UserError(
                f"{models}: the model's files changed during the prediction; run the command again"
            )
        with storage.atomic_write(out) as file:
            WRITINGS[plan.format].join(plan, work.parts, file)
        size = storage.stat(out).size
        work.remove()
    return Predicted(out=out, bytes=size, shards=len(shards), continued=before)


def _run_unchanged(
    run_groups: RunGroups,
    plan: PredictionPlan,
    groups: Groups,
    work: WorkDirectory,
    advance: Callable[[int], None],
) -> None:
    """`run_groups`, none of whose parts stays where a shard is replaced meanwhile."""
    try:
        with while_unchanged([s for group in groups.values() for s in group], "prediction"):
            run_groups(plan, groups, work, advance)
    except RecordsChangedError:
        work.remove()
        raise


def write_part(
    predictor: Predictor, shards: Sequence[Shard], uri: str, *, stop: threading.Event | None = None
) -> None:
    """The part of one group."""
    batches = predictor.batches(shards)
    with storage.atomic_write(uri) as file:
        WRITINGS[predictor.plan.format].write_part(
            predictor.plan, _until(stop, batches) if stop else batches, file
        )


def run_here(workers: int | None = None) -> RunGroups:
    """Groups in threads of this process: TensorFlow and numpy leave Python while they work."""

    def run(
        plan: PredictionPlan, groups: Groups, work: WorkDirectory, advance: Callable[[int], None]
    ) -> None:
        predictor, stop = Predictor(plan), threading.Event()
        with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
            futures = {
                pool.submit(write_part, predictor, group, work.part(number), stop=stop): len(group)
                for number, group in groups.items()
            }
            try:
                for future in as_completed(futures):
                    future.result()
                    advance(futures[future])
            except BaseException:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    return run


class _StoppedError(Exception):
    """Another group failed, or the user has interrupted: this one's part is not wanted."""


def _until(stop: threading.Event, batches: Iterator[ScoredRows]) -> Iterator[ScoredRows]:
    for batch in batches:
        if stop.is_set():
            raise _StoppedError
        yield batch


@contextlib.contextmanager
def _alone(work: WorkDirectory, out: str) -> Iterator[None]:
    """The only one that writes `out`, where this machine can tell."""
    lock = storage.local_path(work.lock)
    if lock is None:
        yield
        return
    if storage.is_dir(out):
        raise UserError(f"--out {out}: a directory; name a file in it")
    with contextlib.ExitStack() as stack:
        try:
            take_lock(lock, stack)
        except LockedError as error:
            raise UserError(
                f"--out {out}: process {error.holder or 'unknown'} is writing it; wait for its "
                "end, or name another file"
            ) from error
        try:
            yield
        finally:
            with contextlib.suppress(OSError):  # holds parts, or another's lock
                lock.parent.rmdir()


def take_lock(lock: Path, stack: contextlib.ExitStack) -> None:
    """Hold it until the stack ends; its directory may go in between."""
    while True:
        lock.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # its last holder has just removed all of it
            stack.enter_context(file_lock(lock, holder=str(os.getpid())))
            return
