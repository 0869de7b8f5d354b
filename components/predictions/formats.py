"""The files that predictions become: a part for each group of shards, and the parts joined.

A part of a text or TFRecord file is a piece of the whole. A Parquet part is a file of its own,
whose row group becomes one of the whole's. Those of segment submissions are in
`segment_submission.py`, for there every class's best segments are sought among all parts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from yt8m.components import storage
from yt8m.components.metrics.topk import top_k
from yt8m.components.predictions import segment_submission
from yt8m.components.predictions.plan import Format, PredictionPlan
from yt8m.components.predictions.submission import VIDEO_HEADER, require_distinct, require_plain
from yt8m.components.records.tfrecord import frame
from yt8m.components.records.wire import bytes_feature, encode_example, float_feature, int64_feature
from yt8m.schemas.features import Level

if TYPE_CHECKING:
    from yt8m.components.predictions.predictor import ScoredRows

# The columns, named as the signature `serving_default` names its outputs.
VIDEO_ID, SEGMENT_START, CLASS_IDS, SCORES = "video_id", "segment_start", "class_ids", "scores"
_COPIED_AT_ONCE = 1 << 20

Parts = Sequence[str]


@dataclass(frozen=True, kw_only=True)
class Best:
    """The best classes of each row, the highest score first; of equal scores the lower class."""

    ids: list[str]
    starts: list[int] | None
    class_ids: np.ndarray  # [R, K] int64
    scores: np.ndarray  # [R, K] float32
    accepted: np.ndarray  # [R, K] bool: what is written


@dataclass(frozen=True, kw_only=True)
class Writing:
    """Functions that write a format."""

    write_part: Callable[[PredictionPlan, Iterable[ScoredRows], BinaryIO], None]
    join: Callable[[PredictionPlan, Parts, BinaryIO], None]


def best_of(rows: ScoredRows, plan: PredictionPlan) -> Best:
    """The part of `rows` that is written."""
    scores, allowed = rows.scores, plan.classes
    if allowed is not None:
        scores = scores[:, list(allowed)]
    values, places = top_k(scores, plan.top_k or scores.shape[1])
    class_ids = places.astype(np.int64) if allowed is None else np.asarray(allowed)[places]
    lowest = -np.inf if rows.thresholds is None else rows.thresholds[class_ids]
    return Best(
        ids=rows.ids,
        starts=None if rows.starts is None else rows.starts.tolist(),
        class_ids=class_ids,
        scores=values,
        accepted=values >= lowest,
    )


def _write_pieces(
    encode: Callable[[Best], Iterator[bytes]],
) -> Callable[[PredictionPlan, Iterable[ScoredRows], BinaryIO], None]:
    def write(plan: PredictionPlan, batches: Iterable[ScoredRows], file: BinaryIO) -> None:
        for rows in batches:
            file.write(b"".join(encode(best_of(rows, plan))))

    return write


def _concatenate(plan: PredictionPlan, parts: Parts, out: BinaryIO) -> None:
    for part in parts:
        with storage.open_file(part) as file:
            while piece := file.read(_COPIED_AT_ONCE):
                out.write(piece)


def _join_videos(plan: PredictionPlan, parts: Parts, out: BinaryIO) -> None:
    """The header and all lines; what is held is a few bytes a video, to find repeated ones."""
    out.write(f"{VIDEO_HEADER}\n".encode())
    names = [np.empty(0, bytes)]
    for part in parts:
        with storage.open_file(part) as file:
            lines = file.readlines()
        names.append(np.array([line.partition(b",")[0] for line in lines], bytes))
        out.writelines(lines)
    require_distinct(np.concatenate(names))


def _video_lines(best: Best) -> Iterator[bytes]:
    line = " ".join(["%i %g"] * best.class_ids.shape[1]) + "\n"
    rows = zip(best.ids, best.class_ids.tolist(), best.scores.tolist(), strict=True)
    for name, classes, scores in rows:
        require_plain(name)
        pairs = line % tuple(chain.from_iterable(zip(classes, scores, strict=True)))
        yield f"{name},{pairs}".encode()


def _json_lines(best: Best) -> Iterator[bytes]:
    digits = best.scores.astype(np.str_)  # the fewest that name a float32
    for row, texts, accepted in zip(_rows_of(best), digits, best.accepted, strict=True):
        row[SCORES] = [float(text) for text in texts[accepted]]
        yield (json.dumps(row, ensure_ascii=False) + "\n").encode()


def _records(best: Best) -> Iterator[bytes]:
    for row in _rows_of(best):
        features = {VIDEO_ID: bytes_feature(row[VIDEO_ID].encode())}
        if SEGMENT_START in row:
            features[SEGMENT_START] = int64_feature([row[SEGMENT_START]])
        features[CLASS_IDS] = int64_feature(row[CLASS_IDS])
        features[SCORES] = float_feature(row[SCORES])
        yield frame(encode_example(features))


def _rows_of(best: Best) -> Iterator[dict[str, Any]]:
    rows = zip(best.ids, best.class_ids, best.scores, best.accepted, strict=True)
    for number, (name, classes, scores, accepted) in enumerate(rows):
        start = {} if best.starts is None else {SEGMENT_START: best.starts[number]}
        kept = {CLASS_IDS: classes[accepted].tolist(), SCORES: scores[accepted].tolist()}
        yield {VIDEO_ID: name, **start, **kept}


def _write_table(plan: PredictionPlan, batches: Iterable[ScoredRows], file: BinaryIO) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = [(VIDEO_ID, pa.string())]
    if plan.level is Level.SEGMENT:
        columns.append((SEGMENT_START, pa.int64()))
    columns += [(CLASS_IDS, pa.list_(pa.int64())), (SCORES, pa.list_(pa.float32()))]
    schema = pa.schema(columns)
    tables = [_table(best_of(rows, plan), schema) for rows in batches]
    with pq.ParquetWriter(file, schema) as writer:
        writer.write_table(pa.concat_tables([schema.empty_table(), *tables]))


def _table(best: Best, schema: Any) -> Any:  # pyarrow's
    import pyarrow as pa

    ends = np.cumsum([0, *best.accepted.sum(axis=1)], dtype=np.int32)
    values = {
        VIDEO_ID: pa.array(best.ids, pa.string()),
        SEGMENT_START: pa.array(best.starts or [], pa.int64()),
        CLASS_IDS: pa.ListArray.from_arrays(ends, pa.array(best.class_ids[best.accepted])),
        SCORES: pa.ListArray.from_arrays(ends, pa.array(best.scores[best.accepted], pa.float32())),
    }
    return pa.Table.from_arrays([values[name] for name in schema.names], schema=schema)


def _join_tables(plan: PredictionPlan, parts: Parts, out: BinaryIO) -> None:
    import pyarrow.parquet as pq

    writer = None
    for part in parts:
        with storage.open_file(part) as file:
            table = pq.read_table(file)
        writer = writer or pq.ParquetWriter(out, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


WRITINGS = {
    Format.VIDEO: Writing(write_part=_write_pieces(_video_lines), join=_join_videos),
    Format.SEGMENT: Writing(write_part=segment_submission.write_part, join=segment_submission.join),
    Format.JSONL: Writing(write_part=_write_pieces(_json_lines), join=_concatenate),
    Format.TFRECORD: Writing(write_part=_write_pieces(_records), join=_concatenate),
    Format.PARQUET: Writing(write_part=_write_table, join=_join_tables),
}
