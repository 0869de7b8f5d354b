"""The pass over the data as Beam work: a group of shards is scored wherever Beam puts it.

What a group leaves is written beside the evaluation, complete or absent, and merged by the
executor piece by piece: Beam's in-process runner would hold it several times over.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import apache_beam as beam

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.evaluator import score_table as pieces
from yt8m.components.evaluator.score_table import ScoreTable
from yt8m.components.evaluator.scoring import (
    ScoreTableBuilder,
    ScoringPlan,
    ShardScorer,
)
from yt8m.components.evaluator.tfma_user_metrics import Extracts
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import DataError, Yt8mError

_PIECES_DIR = ".pieces"
EXAMPLES = "examples"  # the output with single examples, where somebody wants them


class ScoreShards(beam.DoFn):
    """Scores one group of shards an element; the models are loaded once a worker."""

    def __init__(self, plan: ScoringPlan, directory: str, extracts: Extracts | None) -> None:
        self._plan, self._directory, self._extracts = plan, directory, extracts
        self._scorer: ShardScorer | None = None

    def process(self, element: tuple[int, str]) -> Iterator[Any]:
        """Write what group number `element[0]` leaves, or why it could not be scored."""
        number, text = element
        whole = ScoreTableBuilder(self._plan)
        try:
            if self._scorer is None:
                self._scorer = ShardScorer(self._plan)
            shards = [from_dict(Shard, shard) for shard in json.loads(text)]
            for batch in self._scorer.batches(shards):
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


def add_scoring(
    pipeline: beam.Pipeline,
    plan: ScoringPlan,
    groups: Sequence[Sequence[Shard]],
    evaluation_uri: str,
    *,
    extracts: Extracts | None = None,
) -> beam.PCollection:
    """Put the pass into `pipeline`; gives single examples, none unless `extracts` are wanted."""
    directory = storage.join(evaluation_uri, _PIECES_DIR)
    storage.remove_tree(directory)
    storage.make_dirs(directory)
    elements = [
        (number, json.dumps([to_dict(shard) for shard in group]))
        for number, group in enumerate(groups)
    ]
    outputs = (
        pipeline
        | "Groups" >> beam.Create(elements, reshuffle=False)
        | "Spread" >> beam.Reshuffle()
        | "Score"
        >> beam.ParDo(ScoreShards(plan, directory, extracts)).with_outputs(EXAMPLES, main="numbers")
    )
    return outputs[EXAMPLES]


def collect(
    empty: ScoreTable, groups: Sequence[Sequence[Shard]], evaluation_uri: str
) -> ScoreTable:
    """What all groups left, merged; the pieces are removed."""
    directory = storage.join(evaluation_uri, _PIECES_DIR)
    names = set(storage.list_dir(directory))
    errors = sorted(name for name in names if name.endswith(".error"))
    if errors:
        raise DataError(storage.read_text(storage.join(directory, errors[0])))
    expected = [f"{number:05d}.npz" for number in range(len(groups))]
    missing = [
        shard.uri
        for group, name in zip(groups, expected, strict=True)
        for shard in group
        if name not in names
    ]
    if missing:
        raise Yt8mError(f"{len(missing)} shards were not scored, the first is {missing[0]}")
    found = [pieces.from_bytes(storage.read_bytes(storage.join(directory, n))) for n in expected]
    storage.remove_tree(directory)
    return pieces.merge_tables([empty, *found])
