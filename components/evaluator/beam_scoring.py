"""Scoring as Beam work: each worker scores ranges of records.

What a range leaves is written beside the evaluation, complete or absent, and merged by the
executor piece by piece: Beam's in-process runner would hold it several times over.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import apache_beam as beam

from yt8m.components import storage
from yt8m.components.console.progress import Progress
from yt8m.components.engines.finished_tasks import finished_tasks
from yt8m.components.evaluator import score_table as pieces
from yt8m.components.evaluator.record_ranges import RecordRange
from yt8m.components.evaluator.score_table import ScoreTable
from yt8m.components.evaluator.scoring import (
    ScoredBatch,
    ScoreTableBuilder,
    ScoringPlan,
    ShardScorer,
)
from yt8m.components.inputs.config import Source
from yt8m.components.inputs.record_reader import read_range
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import DataError, Yt8mError
from yt8m.schemas.features import Level

if TYPE_CHECKING:  # TFMA is three seconds of a worker, which most runs do without
    from yt8m.components.evaluator.tfma_user_metrics import Extracts

_PIECES_DIR = ".pieces"
EXAMPLES = "examples"  # the output with single examples, where somebody wants them


class ScoreRange(beam.DoFn):
    """Scores one range of records an element; the models are loaded once a worker."""

    def __init__(
        self, plan: ScoringPlan, directory: str, index: str, extracts: Extracts | None
    ) -> None:
        self._plan, self._directory, self._extracts = plan, directory, extracts
        self._index = index
        self._scorer: ShardScorer | None = None

    def process(self, element: tuple[int, str]) -> Iterator[Any]:
        """Write what range number `element[0]` leaves, or why it could not be scored."""
        number, text = element
        whole = ScoreTableBuilder(self._plan)
        try:
            if self._scorer is None:
                self._scorer = ShardScorer(self._plan)
            for batch in self._batches(self._scorer, from_dict(RecordRange, json.loads(text))):
                part = self._scorer.metrics(batch)
                whole.add(part)
                if self._extracts is not None and not part.broken:
                    for example in self._extracts.of(batch, part):
                        yield beam.pvalue.TaggedOutput(EXAMPLES, example)
        except Yt8mError as error:  # Beam would bury the message in a traceback
            storage.write_text(storage.join(self._directory, f"{number:05d}.error"), str(error))
        else:
            data = pieces.to_bytes(whole.result())
            storage.write_bytes(storage.join(self._directory, f"{number:05d}.npz"), data)
        yield number

    def _batches(self, scorer: ShardScorer, taken: RecordRange) -> Iterator[ScoredBatch]:
        if taken.end is None:
            return scorer.batches(taken.shards)
        plan = self._plan
        # Rows are not asked for: at segment level they would have to be counted.
        level = Level.FRAME if plan.level is Level.SEGMENT else plan.level
        source = Source(shards=taken.shards, level=level, features=plan.features, index=self._index)
        return scorer.batches_of(
            read_range(source, taken.first, taken.end, size=plan.records_at_once)
        )


def add_scoring(
    pipeline: beam.Pipeline,
    plan: ScoringPlan,
    ranges: Sequence[RecordRange],
    evaluation_uri: str,
    *,
    index: str = "",
    extracts: Extracts | None = None,
) -> beam.PCollection:
    """Put the pass into `pipeline`; gives single examples, none unless `extracts` are wanted.

    `index` is the address of ExampleGen's index of records.
    """
    directory = storage.join(evaluation_uri, _PIECES_DIR)
    storage.remove_tree(directory)
    storage.make_dirs(directory)
    elements = [(number, json.dumps(to_dict(one))) for number, one in enumerate(ranges)]
    score = ScoreRange(plan, directory, index, extracts)
    outputs = (
        pipeline
        | "Ranges" >> beam.Create(elements, reshuffle=False)
        | "Spread" >> beam.Reshuffle()
        | "Score" >> beam.ParDo(score).with_outputs(EXAMPLES, main="numbers")
    )
    return outputs[EXAMPLES]


@contextlib.contextmanager
def scoring_followed(ranges: Sequence[RecordRange], evaluation_uri: str) -> Iterator[None]:
    """In the block, which runs the pipeline, progress is shown range by range."""
    directory = storage.join(evaluation_uri, _PIECES_DIR)
    records = [one.records for one in ranges]
    with (
        Progress("evaluate", total=sum(records), unit="records") as progress,
        finished_tasks(
            directory, progress.advance, units_of=lambda name: records[int(name.partition(".")[0])]
        ),
    ):
        yield


def collect(empty: ScoreTable, ranges: Sequence[RecordRange], evaluation_uri: str) -> ScoreTable:
    """Merge the results of all ranges; the pieces are removed."""
    directory = storage.join(evaluation_uri, _PIECES_DIR)
    names = set(storage.list_dir(directory))
    errors = sorted(name for name in names if name.endswith(".error"))
    if errors:
        raise DataError(storage.read_text(storage.join(directory, errors[0])))
    expected = [f"{number:05d}.npz" for number in range(len(ranges))]
    missing = [one.shards for one, name in zip(ranges, expected, strict=True) if name not in names]
    if missing:
        raise Yt8mError(
            f"{len(missing)} of {len(ranges)} ranges of records were not scored, the first is in "
            f"{missing[0][0].uri}"
        )
    tables = [pieces.from_bytes(storage.read_bytes(storage.join(directory, n))) for n in expected]
    storage.remove_tree(directory)
    return pieces.merge_tables([empty, *tables])
