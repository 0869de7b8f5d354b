"""The score table: for each evaluated row the metrics of each model, and the columns to slice by.

Mergeable like the metrics themselves: pieces may come from any shard, process or machine.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import NamedTuple

import numpy as np

from yt8m.components.metrics import MetricAccumulator
from yt8m.schemas.errors import Yt8mError

WORST = 50  # rows that are kept whole
_MAX_UNSCORABLE = 0.01
_SHOWN = 5  # classes of each
CANDIDATE = "candidate"
BASELINE = "baseline"
CHAMPION = "champion"


@dataclass(frozen=True, kw_only=True, eq=False)
class TextColumn:
    """A text by row, as codes into a table."""

    codes: np.ndarray  # [N] int32
    table: tuple[str, ...]

    @classmethod
    def of(cls, texts: np.ndarray) -> TextColumn:
        """The column of `texts` [N]."""
        if not len(texts):
            return cls(codes=np.empty(0, np.int32), table=())
        table, codes = np.unique(texts.astype(str), return_inverse=True)
        return cls(codes=codes.reshape(-1).astype(np.int32), table=tuple(table.tolist()))


class WrongRow(NamedTuple):
    """A row that the candidate is most wrong about, whole."""

    loss: float
    name: str  # the video's id; `id:start` of a segment
    labels: tuple[int, ...]
    classes: tuple[int, ...]  # the best first
    scores: tuple[float, ...]


@dataclass(frozen=True)
class Unscorable:
    """Rows that baseline or champion give no finite scores for; all models do without them."""

    rows: int = 0
    first: str = ""  # the name of one
    model: str = ""  # the model that does not score it

    def __add__(self, other: Unscorable) -> Unscorable:
        first = self if self.rows else other
        return Unscorable(self.rows + other.rows, first.first, first.model)


@dataclass(kw_only=True, eq=False)
class ScoreTable:
    """Rows of all models in one order; a model's rows hold the labels too."""

    models: dict[str, MetricAccumulator]
    num_frames: np.ndarray | None = None  # [N] uint16
    values: dict[str, TextColumn] = field(default_factory=dict)
    # Why a model cannot be evaluated (predictions that are no numbers): its metrics are undefined.
    broken: dict[str, str] = field(default_factory=dict)
    worst: tuple[WrongRow, ...] = ()  # of the highest loss, those first
    unscorable: Unscorable = field(default_factory=Unscorable)

    def __len__(self) -> int:
        return len(self.candidate)

    @property
    def candidate(self) -> MetricAccumulator:
        """The metrics of the model under evaluation."""
        return self.models[CANDIDATE]

    @property
    def baseline(self) -> MetricAccumulator | None:
        """The metrics of what it is compared with."""
        return self.models.get(BASELINE)

    @property
    def videos(self) -> int:
        """Distinct videos; fewer than rows at segment level."""
        return len(np.unique(self.candidate.rows.keys))


def require_scorable(scored: ScoreTable, names: Mapping[str, str], *, remedy: str = "") -> None:
    """Yt8mError where a model scores so few rows that what is left says little.

    `names` says what baseline and champion are called.
    """
    lost = scored.unscorable
    rows = lost.rows + len(scored)
    if lost.rows > _MAX_UNSCORABLE * rows:
        raise Yt8mError(
            f"{names[lost.model]} predicts no finite numbers for {lost.rows:,} of {rows:,} "
            f"examples, {lost.first} among them, and at most {_MAX_UNSCORABLE:.0%} may be left "
            f"out: it is broken, or was exported from a diverged training{remedy}"
        )


def merge_tables(parts: Sequence[ScoreTable]) -> ScoreTable:
    """All rows of `parts`, which must come from the same models and slices."""
    first = parts[0]
    models = {}
    broken = {name: why for part in reversed(parts) for name, why in part.broken.items()}
    for name, metrics in first.models.items():
        models[name] = MetricAccumulator(metrics.num_classes, top_k=metrics.top_k)
        for part in parts:
            models[name].merge(part.models[name])
    frames = [part.num_frames for part in parts if part.num_frames is not None]
    return ScoreTable(
        models=models,
        num_frames=np.concatenate(frames) if frames else None,
        values={name: _merged([part.values[name] for part in parts]) for name in first.values},
        broken=broken,
        worst=_worst(row for part in parts for row in part.worst),
        unscorable=sum((part.unscorable for part in parts), Unscorable()),
    )


def to_bytes(scored: ScoreTable) -> bytes:
    """For other processes."""
    arrays: dict[str, np.ndarray] = {}
    for name, metrics in scored.models.items():
        arrays[f"model/{name}"] = np.frombuffer(metrics.to_bytes(), np.uint8)
    if scored.num_frames is not None:
        arrays["num_frames"] = scored.num_frames
    for name, column in scored.values.items():
        arrays[f"codes/{name}"] = column.codes
        arrays[f"table/{name}"] = np.array(column.table, dtype=str)
    arrays["worst"] = np.array(json.dumps(scored.worst))
    arrays["unscorable"] = np.array(json.dumps(astuple(scored.unscorable)))
    for name, why in scored.broken.items():
        arrays[f"broken/{name}"] = np.array(why)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def from_bytes(data: bytes) -> ScoreTable:
    """The inverse of `to_bytes`."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    tables = _below("table", arrays)
    return ScoreTable(
        models={
            name: MetricAccumulator.from_bytes(array.tobytes())
            for name, array in _below("model", arrays).items()
        },
        num_frames=arrays.get("num_frames"),
        values={
            name: TextColumn(codes=codes, table=tuple(tables[name].tolist()))
            for name, codes in _below("codes", arrays).items()
        },
        broken={name: str(why) for name, why in _below("broken", arrays).items()},
        worst=tuple(
            WrongRow(loss, name, *map(tuple, lists))
            for loss, name, *lists in json.loads(str(arrays["worst"]))
        ),
        unscorable=Unscorable(*json.loads(str(arrays["unscorable"]))),
    )


def worst_rows(metrics: MetricAccumulator, names: Sequence[str]) -> tuple[WrongRow, ...]:
    """The rows of highest loss; `names` has one for each."""
    rows = metrics.rows
    if rows.loss is None:
        return ()
    ends = np.cumsum(rows.label_counts, dtype=np.int64)
    return _worst(
        WrongRow(
            loss=float(rows.loss[i]),
            name=names[i],
            labels=tuple(rows.labels[ends[i] - rows.label_counts[i] : ends[i]].tolist()),
            classes=tuple(rows.classes[i, :_SHOWN].tolist()),
            scores=tuple(rows.scores[i, :_SHOWN].astype(float).round(4).tolist()),
        )
        for i in map(int, np.argsort(-rows.loss, kind="stable")[:WORST])
    )


def _worst(rows: Iterable[WrongRow]) -> tuple[WrongRow, ...]:
    return tuple(sorted(rows, key=lambda row: (-row.loss, row.name))[:WORST])


def _below(folder: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {
        name.partition("/")[2]: array
        for name, array in arrays.items()
        if name.startswith(f"{folder}/")
    }


def _merged(columns: Sequence[TextColumn]) -> TextColumn:
    table = sorted({text for column in columns for text in column.table})
    place = {text: i for i, text in enumerate(table)}
    codes = [
        np.array([place[text] for text in column.table] or [0], np.int32)[column.codes]
        for column in columns
    ]
    return TextColumn(codes=np.concatenate(codes), table=tuple(table))
