"""The vocabulary: the classes' names, and the verticals that they are grouped into.

`vocabulary.csv` as published has nine columns; a copy without WikiUrl and WikiDescription is read
as well. Its rows are in no particular order (the published ones do not follow the Index).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from yt8m.schemas.errors import DataError

FILE_NAME = "vocabulary.csv"
COLUMNS = (
    "Index",
    "TrainVideoCount",
    "KnowledgeGraphId",
    "Name",
    "WikiUrl",
    "Vertical1",
    "Vertical2",
    "Vertical3",
    "WikiDescription",
)
_INDEX, _NAME = "Index", "Name"
_VERTICALS = ("Vertical1", "Vertical2", "Vertical3")
UNKNOWN_VERTICAL = "(Unknown)"

# The 25 of the 2018 vocabulary. A vertical's position here is its class in the verticals' head.
VERTICALS = (
    UNKNOWN_VERTICAL,
    "Arts & Entertainment",
    "Autos & Vehicles",
    "Beauty & Fitness",
    "Books & Literature",
    "Business & Industrial",
    "Computers & Electronics",
    "Finance",
    "Food & Drink",
    "Games",
    "Health",
    "Hobbies & Leisure",
    "Home & Garden",
    "Internet & Telecom",
    "Jobs & Education",
    "Law & Government",
    "News",
    "People & Society",
    "Pets & Animals",
    "Real Estate",
    "Reference",
    "Science",
    "Shopping",
    "Sports",
    "Travel",
)
_VERTICAL_IDS = {name: i for i, name in enumerate(VERTICALS)}


@dataclass(frozen=True, kw_only=True)
class Vocabulary:
    """Names by class id, and for each class the verticals that it belongs to."""

    names: tuple[str, ...]
    verticals_of_class: tuple[tuple[int, ...], ...]  # positions in `verticals`, one or more each
    verticals: tuple[str, ...] = VERTICALS

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True)
class _Row:
    line: int
    index: int
    name: str
    verticals: tuple[int, ...]


def parse_vocabulary(
    text: str, *, source: str = "the vocabulary", num_classes: int | None = None
) -> Vocabulary:
    """The vocabulary in a file's content; DataError names the line of `source` that is wrong.

    With `num_classes` the vocabulary must have exactly that many classes.
    """
    by_index: dict[int, _Row] = {}
    for row in _rows(text, source):
        if row.index in by_index:
            first = by_index[row.index].line
            raise DataError(
                f"{source}, line {row.line}: Index {row.index} is that of line {first}; "
                "each class has one line"
            )
        by_index[row.index] = row
    _check_complete(by_index, source, num_classes)
    ordered = [by_index[i] for i in range(len(by_index))]
    return Vocabulary(
        names=tuple(row.name for row in ordered),
        verticals_of_class=tuple(row.verticals for row in ordered),
    )


def _rows(text: str, source: str) -> Iterator[_Row]:
    reader = csv.DictReader(io.StringIO(text))
    missing = {_INDEX, _NAME, *_VERTICALS} - set(reader.fieldnames or ())
    if missing:
        raise DataError(
            f"{source}, line 1: no column {', '.join(sorted(missing))}; "
            f"needed are {', '.join((_INDEX, _NAME, *_VERTICALS))}"
        )
    for row in reader:
        where = f"{source}, line {reader.line_num}"
        if None in row or None in row.values():
            fields = len(reader.fieldnames or ())
            raise DataError(f"{where}: does not have the {fields} fields that line 1 names")
        if not row[_INDEX].strip().isdecimal():
            raise DataError(f"{where}: Index is {row[_INDEX]!r}, must be a class id from 0 on")
        verticals = _verticals((row[column] for column in _VERTICALS), where)
        yield _Row(reader.line_num, int(row[_INDEX]), row[_NAME].strip(), verticals)


def _verticals(names: Iterable[str], where: str) -> tuple[int, ...]:
    present = [name.strip() for name in names if name.strip()]
    for name in present:
        if name not in _VERTICAL_IDS:
            raise DataError(f"{where}: {name!r} is not one of the {len(VERTICALS)} verticals")
    ids = dict.fromkeys(_VERTICAL_IDS[name] for name in present)
    return tuple(ids) or (_VERTICAL_IDS[UNKNOWN_VERTICAL],)


def _check_complete(by_index: dict[int, _Row], source: str, num_classes: int | None) -> None:
    if not by_index:
        raise DataError(f"{source}: holds no class")
    absent = [i for i in range(max(by_index) + 1) if i not in by_index]
    if absent:
        raise DataError(
            f"{source}: no line for class {absent[0]} ({len(absent)} such gaps below "
            f"{max(by_index)}); classes are numbered from 0 without a gap"
        )
    if num_classes is not None and len(by_index) != num_classes:
        raise DataError(
            f"{source}: has {len(by_index)} classes, but features.num_classes is {num_classes}; "
            "give the vocabulary that belongs to the data, or set features.num_classes"
        )
