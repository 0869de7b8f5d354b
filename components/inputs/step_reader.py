"""One worker's rows of each step's global batch; it reads no other rows.

Rows are read a group at a time: a block of the order, or where batches are of like length the
window that they are cut from. Of a group the worker reads its own records alone. A step's rows
depend on nothing but its number; that the newest group is kept only saves reading it again.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
import tensorflow as tf

from yt8m.components.inputs.assemble import (
    Row,
    segment_rows,
    stack_means,
    stack_segments,
    stack_videos,
)
from yt8m.components.inputs.batch_memory import BatchMemory
from yt8m.components.inputs.bucketing import cut_into_batches
from yt8m.components.inputs.config import BatchSlice, FrameSampling, InputConfig, Source
from yt8m.components.inputs.frame_cache import CachedReader, FrameCache
from yt8m.components.inputs.frame_choice import FrameChooser
from yt8m.components.inputs.frame_record import FrameRecord
from yt8m.components.inputs.order import Order, Part, create_order
from yt8m.components.inputs.record_index import RecordIndex, index_of
from yt8m.components.inputs.record_reader import RecordReader
from yt8m.schemas.batch import MEAN_FRAMES, NUM_FRAMES, POSITION, RATED, VIDEO_LABELS
from yt8m.schemas.features import LABELS, Level

Columns = dict[str, tf.TensorSpec]
_STEPS_AHEAD = 2  # of which the records are fetched where no block is
RECORDS = "records"  # of a video-level batch, which TensorFlow parses as a whole


def columns_of(source: Source, rows: int | None = None) -> Columns:
    """The columns that `StepReader` gives, in their order, of so many rows."""
    columns = {POSITION: tf.TensorSpec([rows], tf.int64)}
    if source.level is Level.VIDEO:
        return {**columns, RECORDS: tf.TensorSpec([rows], tf.string)}
    if source.averaged:
        columns[MEAN_FRAMES] = tf.TensorSpec([rows, sum(source.features.sizes)], tf.float32)
    else:
        for name, size in source.features.size_by_name.items():
            columns[name] = tf.TensorSpec([rows, None, size], tf.uint8)
        columns[NUM_FRAMES] = tf.TensorSpec([rows], tf.int32)
    of_segments = (RATED, VIDEO_LABELS) if source.level is Level.SEGMENT else ()
    lists = (LABELS, *of_segments, *source.column_names)
    return {**columns, **{key: tf.TensorSpec([rows, None], tf.int64) for key in lists}}


class _Share(NamedTuple):
    """This worker's rows of a group."""

    positions: np.ndarray
    rows: np.ndarray  # by number
    of_step: dict[int, slice]  # which of them each step is given


class _Groups(Protocol):
    """Groups of a training's rows for reading."""

    def numbers(self, step: int) -> Iterable[int]:
        """The groups that hold rows of `step`."""
        ...

    def share(self, number: int) -> _Share:
        """This worker's rows of a group."""
        ...


@dataclass(frozen=True, kw_only=True)
class _Blocks:
    """The order's own blocks, which may begin and end within a step."""

    order: Order
    taken: BatchSlice

    def numbers(self, step: int) -> Iterable[int]:
        size = self.taken.global_batch_size
        start = self.taken.origin + step * size
        number, _ = self.order.find(start)
        while self.order.span(number)[0] < start + size:
            yield number
            number += 1

    def share(self, number: int) -> _Share:
        part = self.order.part(number, self.taken)
        steps = (part.positions - self.taken.origin) // self.taken.global_batch_size
        starts = np.flatnonzero(np.diff(steps, prepend=steps[:1] - 1))
        slices = map(slice, starts.tolist(), [*starts[1:].tolist(), len(steps)])
        return _Share(*part, dict(zip(steps[starts].tolist(), slices, strict=True)))


@dataclass(frozen=True, kw_only=True)
class _Windows:
    """The rows of so many batches, cut into as many batches of like length.

    For a record's length stands that of its serialized form: bytes are frames.
    """

    order: Order
    taken: BatchSlice
    config: InputConfig
    index: RecordIndex

    def numbers(self, step: int) -> Iterable[int]:
        return (step // self.config.bucket_batches,)

    def share(self, number: int) -> _Share:
        rows = self._window(number)
        batches = cut_into_batches(
            self.index.lengths[rows.rows],
            batches=self.config.bucket_batches,
            multiple=self.config.bucket_multiple,
            seed=self.taken.seed,
            first_position=int(rows.positions[0]),
        )
        mine = [batch[self.taken.worker_index :: self.taken.num_workers] for batch in batches]
        chosen = np.concatenate(mine)
        first = number * self.config.bucket_batches
        ends = np.cumsum([len(batch) for batch in mine]).tolist()
        starts = [0, *ends[:-1]]
        of_step = {
            first + n: slice(*edges) for n, edges in enumerate(zip(starts, ends, strict=True))
        }
        return _Share(rows.positions[chosen], rows.rows[chosen], of_step)

    def _window(self, number: int) -> Part:
        size = self.config.bucket_batches * self.taken.global_batch_size
        whole = replace(self.taken, num_workers=1, worker_index=0)
        start = self.taken.origin + number * size
        end = start + size
        block, _ = self.order.find(start)
        parts = []
        while self.order.span(block)[0] < end:
            parts.append(_part(self.order, block, whole))
            block += 1
        positions = np.concatenate([part.positions for part in parts])
        within = slice(*np.searchsorted(positions, (start, end)))
        return Part(positions[within], np.concatenate([part.rows for part in parts])[within])


@functools.lru_cache(maxsize=4)  # the next window begins in the block where this one ends
def _part(order: Order, number: int, taken: BatchSlice) -> Part:
    return order.part(number, taken)


class _Rows(Protocol):
    """Rows of a group, as the level has them."""

    def __getitem__(self, chosen: slice, /) -> Iterable[Any]: ...


@dataclass(frozen=True)
class _Unread:
    """Records that nobody keeps: each is read when it is asked for."""

    reader: RecordReader | CachedReader
    numbers: np.ndarray

    def __getitem__(self, chosen: slice, /) -> Iterator[memoryview] | Iterator[FrameRecord]:
        return self.reader.read_one_by_one(self.numbers[chosen])

    def announce(self, chosen: slice) -> None:
        """Have the system fetch these before they are asked for."""
        self.reader.announce(np.sort(self.numbers[chosen]))


@dataclass(frozen=True)
class _Loaded:
    share: _Share
    rows: _Rows


class StepReader:
    """Gives the batches of one worker by their steps. Safe to use from several threads."""

    def __init__(
        self,
        source: Source,
        taken: BatchSlice,
        *,
        sampling: FrameSampling | None,
        config: InputConfig,
        by_length: bool,
        cache: bool = False,
    ) -> None:
        self._source, self._index = source, index_of(source)
        self._sampling, self._seed = sampling, taken.seed
        self._names = tuple(columns_of(source))
        rows = tuple(self._index.rows_by_shard.tolist())
        shuffle_mb = source.shuffle_mb(config)
        order = create_order(
            source.shards, rows, taken, shuffle_mb=shuffle_mb, fraction=source.fraction
        )
        self._is_over_epoch = shuffle_mb is None
        self._announced = -1  # the last step whose records were
        self._groups: _Groups = (
            _Windows(order=order, taken=taken, config=config, index=self._index)
            if by_length
            else _Blocks(order=order, taken=taken)
        )
        # Block by block a single process reads each shard once an epoch, and finds it in its cache.
        is_block_wise = taken.num_workers == 1 and not self._is_over_epoch
        is_whole = is_block_wise or not source.index
        self._reader: RecordReader | CachedReader = RecordReader(
            source, self._index, whole_shards=is_whole
        )
        if cache:
            self._reader = CachedReader(self._reader, FrameCache(source, self._index))
        self._memory = BatchMemory()
        self._loaded: dict[int, Future[_Loaded]] = {}
        self._lock = threading.Lock()
        # What is far away is fetched while the group before it is used up.
        is_fetched = self._reader.is_remote and not self._is_over_epoch
        self._ahead = ThreadPoolExecutor(1) if is_fetched else None

    def _batch(self, step: int) -> dict[str, np.ndarray]:
        """The rows of `step` as arrays, at video level as serialized records."""
        chosen_rows = [(group, group.share.of_step.get(step, slice(0))) for group in self._of(step)]
        if self._is_over_epoch:  # of which no more than the next steps' records are fetched
            self._announce(chosen_rows[-1][0], step)
        positions = np.concatenate([group.share.positions[chosen] for group, chosen in chosen_rows])
        rows = chain.from_iterable(group.rows[chosen] for group, chosen in chosen_rows)
        batch = {POSITION: positions}
        features, columns = self._source.features, self._source.column_names
        match self._source.level:
            case Level.VIDEO:
                return {**batch, RECORDS: np.array(list(rows), dtype=object)}
            case Level.FRAME if self._source.averaged:
                means = stack_means(rows, len(positions), features, columns, self._memory)
                return {**batch, **means}
            case Level.FRAME:
                numbers = np.concatenate(
                    [group.share.rows[chosen] for group, chosen in chosen_rows]
                )
                lengths = self._index.lengths[numbers]  # a row is a record
                chooser = self._chooser(positions)
                videos = stack_videos(rows, lengths, features, columns, chooser, self._memory)
                return {**batch, **videos}
            case Level.SEGMENT:
                segments = stack_segments(list(rows), features, columns, self._memory)
                return {**batch, **segments}

    def _chooser(self, positions: np.ndarray) -> FrameChooser | None:
        if self._sampling is None:
            return None
        return FrameChooser(self._sampling, seed=self._seed, positions=positions)

    def _announce(self, group: _Loaded, step: int) -> None:
        """Have the records of `step` and of those after it fetched, as far as `group` has them.

        Of what nobody has announced the system reads more, up to the end of a small shard.
        """
        for number in range(max(step, self._announced + 1), step + _STEPS_AHEAD + 1):
            chosen = group.share.of_step.get(number)
            if chosen is None or not isinstance(group.rows, _Unread):
                return
            group.rows.announce(chosen)
            self._announced = number

    def _of(self, step: int) -> list[_Loaded]:
        return [self._group(number) for number in self._groups.numbers(step)]

    def arrays(self, step: int) -> list[np.ndarray]:
        """The rows of `step`: a value for each of `columns_of`."""
        batch = self._batch(step)
        return [batch[name] for name in self._names]

    def _group(self, number: int) -> _Loaded:
        with self._lock:
            for old in [n for n in self._loaded if n < number]:
                del self._loaded[old]
            for wanted in (number,) if self._ahead is None else (number, number + 1):
                if wanted not in self._loaded:
                    self._loaded[wanted] = self._submit(wanted)
            group = self._loaded[number]
        return group.result()

    def _submit(self, number: int) -> Future[_Loaded]:
        if self._ahead is not None:
            return self._ahead.submit(self._load, number)
        done: Future[_Loaded] = Future()
        done.set_result(self._load(number))
        return done

    def _load(self, number: int) -> _Loaded:
        share = self._groups.share(number)
        if self._source.level is Level.SEGMENT:
            return _Loaded(share, self._segments(share.rows))
        is_single = self._is_over_epoch or self._reader.has_single_records
        if self._source.level is Level.FRAME and is_single:
            if (
                len(share.of_step) > 2 and not self._is_over_epoch
            ):  # else nearly all of them are read in one pass
                self._reader.announce(np.unique(share.rows))
            return _Loaded(share, _Unread(self._reader, share.rows))
        wanted, place = np.unique(share.rows, return_inverse=True)  # a row is a record
        records = self._reader.read(wanted)
        return _Loaded(share, [records[at] for at in place.tolist()])

    def _segments(self, rows: np.ndarray) -> list[Row]:
        """The segments of these numbers; each of their records is parsed once."""
        wanted, place = np.unique(self._index.records_of(rows), return_inverse=True)
        one_by_one = self._reader.has_single_records
        read = self._reader.read_one_by_one if one_by_one else self._reader.read
        source = self._source
        segments = [segment_rows(r, source.features, source.column_names) for r in read(wanted)]
        which = rows - self._index.first_row[wanted][place]
        return [segments[at][n] for at, n in zip(place.tolist(), which.tolist(), strict=True)]
