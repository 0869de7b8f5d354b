"""Slices of the evaluation data."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from yt8m.components.evaluator.config import SliceBy, SliceConfig
from yt8m.components.evaluator.score_table import ScoreTable
from yt8m.schemas.vocabulary import Vocabulary

MAX_VALUES = 50  # of a feature; a slice for every video id would be no slice
_REST = "(other)"


@dataclass(frozen=True, kw_only=True, eq=False)
class Slice:
    """The rows where `column` has `value`."""

    column: str
    value: str
    chosen: np.ndarray  # [N] bool

    @property
    def name(self) -> str:
        """As thresholds name it."""
        return f"{self.column}={self.value}"


def slices_of(
    scored: ScoreTable, configs: Sequence[SliceConfig], vocabulary: Vocabulary | None
) -> Iterator[Slice]:
    """Every slice that has rows, in the order of the configuration."""
    for config in configs:
        for value, chosen in _parts(scored, config, vocabulary):
            if chosen.any():
                yield Slice(column=config.column, value=value, chosen=chosen)


def _parts(
    scored: ScoreTable, config: SliceConfig, vocabulary: Vocabulary | None
) -> Iterator[tuple[str, np.ndarray]]:
    if config.by is SliceBy.NUM_LABELS:
        yield from _ranges(scored.candidate.rows.label_counts, config.edges)
    elif config.by is SliceBy.NUM_FRAMES:
        frames = scored.num_frames
        yield from _ranges(frames, config.edges) if frames is not None else ()
    elif config.by is SliceBy.VERTICAL:
        yield from _verticals(scored, vocabulary) if vocabulary is not None else ()
    else:
        yield from _values(scored, config.feature)


def _ranges(counts: np.ndarray, edges: Sequence[int]) -> Iterator[tuple[str, np.ndarray]]:
    place = np.searchsorted(np.asarray(edges), counts, side="right")
    for i, name in enumerate(range_names(edges)):
        yield name, place == i


def range_names(edges: Sequence[int]) -> list[str]:
    """[2, 5] gives <2, 2-4 and 5+."""
    between = [
        str(low) if high == low + 1 else f"{low}-{high - 1}"
        for low, high in itertools.pairwise(edges)
    ]
    return [f"<{edges[0]}", *between, f"{edges[-1]}+"]


def _verticals(scored: ScoreTable, vocabulary: Vocabulary) -> Iterator[tuple[str, np.ndarray]]:
    rows = scored.candidate.rows
    row = np.repeat(np.arange(len(rows), dtype=np.int32), rows.label_counts)
    for number, name in enumerate(vocabulary.verticals):
        of_class = np.array([number in known for known in vocabulary.verticals_of_class])
        chosen = np.zeros(len(rows), bool)
        chosen[row[of_class[rows.labels]]] = True
        yield name, chosen


def _values(scored: ScoreTable, feature: str) -> Iterator[tuple[str, np.ndarray]]:
    column = scored.values[feature]
    counts = np.bincount(column.codes, minlength=len(column.table))
    frequent = np.argsort(-counts, kind="stable")[:MAX_VALUES]
    for code in sorted(frequent.tolist()):
        yield column.table[code], column.codes == code
    if len(column.table) > MAX_VALUES:
        yield _REST, ~np.isin(column.codes, frequent)
