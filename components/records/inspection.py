"""Contents of a set of shards: counts, sizes, labels and problems; one pass, flat memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from yt8m.components.records.decode import MalformedRecord, Record, decode_record
from yt8m.components.records.validation import (
    NO_LABELS,
    NO_RATINGS,
    Expected,
    check_record,
    expected_like,
    not_a_record,
    unasked_features,
)
from yt8m.components.storage.errors import OF_THE_FILE
from yt8m.schemas.features import (
    ID,
    LABELS,
    PRESENT_SCORE,
    SEGMENT_LABELS,
    SEGMENT_SCORES,
    Level,
)

KEPT_PROBLEMS = 1000  # are listed; beyond that they are counted


@dataclass(frozen=True)
class Problem:
    """One fault or warning: where, and what."""

    shard: str
    record: int | None  # None: the file as a whole
    reason: str

    def __str__(self) -> str:
        where = f"{self.shard}, record {self.record}" if self.record is not None else self.shard
        return f"{where}: {self.reason}"


@dataclass
class Inspection:
    """Figures of all records added so far."""

    num_classes: int | None = None  # of the vocabulary, where one is given
    shards: int = 0
    records: int = 0
    size_bytes: int = 0
    levels: Counter[str] = field(default_factory=Counter)
    unlabelled: int = 0
    label_counts: Counter[int] = field(default_factory=Counter)
    rated_counts: Counter[int] = field(default_factory=Counter)
    positive_ratings: int = 0
    frames: int = 0
    min_frames: int | None = None
    max_frames: int | None = None
    value_range: dict[str, tuple[float, float]] = field(default_factory=dict)
    expected: Expected | None = None
    problems: list[Problem] = field(default_factory=list)
    num_problems: int = 0
    warnings: Counter[str] = field(default_factory=Counter)  # number of records each is said of

    @property
    def labels(self) -> int:
        return sum(self.label_counts.values())

    def add_problem(self, shard: str, record: int | None, reason: str) -> None:
        """A fault that the reader found."""
        self.num_problems += 1
        if len(self.problems) < KEPT_PROBLEMS:
            self.problems.append(Problem(shard, record, reason))

    def add_shard(self, shard: str, records: Iterable[tuple[int, bytes]]) -> None:
        """The readable records of one shard, each with its number."""
        self.shards += 1
        seen: dict[bytes, int] = {}  # ids of this shard alone, so that memory stays flat
        unlabelled: list[int] = []
        before = self.records
        try:
            for number, data in records:
                self._add_record(shard, number, data, seen, unlabelled)
        except OF_THE_FILE as error:
            self.add_problem(shard, None, f"cannot be read ({error.strerror or error})")
            return
        if self.records == before:
            self.add_problem(shard, None, "holds no readable record")
        self._judge_unlabelled(shard, unlabelled, self.records - before)

    def _judge_unlabelled(self, shard: str, unlabelled: list[int], records: int) -> None:
        """Shards of a test set have no labels at all; where some records have, all must."""
        rated = self.expected is not None and self.expected.level is Level.SEGMENT
        fault = NO_RATINGS if rated else NO_LABELS
        if len(unlabelled) < records:
            for number in unlabelled:
                self.add_problem(shard, number, fault)
        elif unlabelled:
            self.warnings[f"{fault} in the whole shard, which only a test split may have"] += (
                records
            )

    def _add_record(
        self, shard: str, number: int, data: bytes, seen: dict[bytes, int], unlabelled: list[int]
    ) -> None:
        self.records += 1
        self.size_bytes += len(data)
        try:
            record = decode_record(data)
        except MalformedRecord as error:
            self.add_problem(shard, number, not_a_record(error))
            return
        if self.expected is None:
            self.expected = expected_like(record, num_classes=self.num_classes)
        findings = check_record(record, self.expected)
        for fault in findings.faults:
            self.add_problem(shard, number, fault)
        self.warnings.update(findings.warnings)
        for name in unasked_features(record, self.expected):
            self.warnings[f"feature {name} is not among those of the first record"] += 1
        key = SEGMENT_LABELS if self.expected.level is Level.SEGMENT else LABELS
        if not findings.faults and not len(record.features.get(key, ())):
            unlabelled.append(number)
        self.levels[record.level.value] += 1
        self._count_id(shard, number, record, seen)
        if not findings.faults:
            self._count(record)

    def _count_id(self, shard: str, number: int, record: Record, seen: dict[bytes, int]) -> None:
        values = record.features.get(ID)
        if not (isinstance(values, tuple) and len(values) == 1):
            return  # is a fault already
        first = seen.setdefault(values[0], number)
        if first != number:
            name = values[0].decode(errors="replace")
            self.add_problem(shard, number, f"has the id {name!r} of record {first}")

    def _count(self, record: Record) -> None:
        labels = np.asarray(record.features.get(LABELS, ()), dtype=np.int64).tolist()
        self.label_counts.update(labels)
        self.unlabelled += not labels
        if SEGMENT_LABELS in record.features:
            self.rated_counts.update(np.asarray(record.features[SEGMENT_LABELS]).tolist())
            self.positive_ratings += int(
                (np.asarray(record.features[SEGMENT_SCORES]) >= PRESENT_SCORE).sum()
            )
        if record.is_sequence:
            count = record.num_frames
            self.frames += count
            self.min_frames = min(self.min_frames or count, count)
            self.max_frames = max(self.max_frames or count, count)
        for name, values in (record.feature_lists or record.features).items():
            if name != LABELS and isinstance(values, np.ndarray) and values.size:
                low, high = self.value_range.get(name, (np.inf, -np.inf))
                self.value_range[name] = (
                    min(low, float(values.min())),
                    max(high, float(values.max())),
                )
