"""Groups of shards as Beam work: a part is written wherever Beam puts its group."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import apache_beam as beam

from yt8m.components import storage
from yt8m.components.artifacts.manifest import Shard
from yt8m.components.engines.finished_tasks import finished_tasks
from yt8m.components.predictions.plan import PredictionPlan
from yt8m.components.predictions.predict import Groups, RunGroups, write_part
from yt8m.components.predictions.predictor import Predictor
from yt8m.components.predictions.work import WorkDirectory
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import DataError, Yt8mError


class PredictShards(beam.DoFn):
    """Writes one group's part an element; the model is loaded once a worker."""

    def __init__(self, plan: PredictionPlan, work: WorkDirectory) -> None:
        self._plan, self._work = plan, work
        self._predictor: Predictor | None = None

    def process(self, element: tuple[int, str]) -> Iterator[int]:
        number, text = element
        try:
            if self._predictor is None:
                self._predictor = Predictor(self._plan)
            shards = [from_dict(Shard, shard) for shard in json.loads(text)]
            write_part(self._predictor, shards, self._work.part(number))
        except Yt8mError as error:  # Beam would bury the message in a traceback
            storage.write_text(self._work.error(number), str(error))
        yield number


def run_on_beam(make_pipeline: Callable[[], beam.Pipeline]) -> RunGroups:
    """Groups on the engine of the pipelines that `make_pipeline` gives."""

    def run(
        plan: PredictionPlan, groups: Groups, work: WorkDirectory, advance: Callable[[int], None]
    ) -> None:
        elements = [
            (number, json.dumps([to_dict(shard) for shard in group]))
            for number, group in groups.items()
        ]

        def shards_of(name: str) -> int:
            return len(groups.get(int(name.partition(".")[0]), ()))  # 0 of those done before

        with (
            finished_tasks(work.path, advance, units_of=shards_of),
            make_pipeline() as pipeline,
        ):
            _ = (
                pipeline
                | "Groups" >> beam.Create(elements, reshuffle=False)
                | "Spread" >> beam.Reshuffle()
                | "Predict" >> beam.ParDo(PredictShards(plan, work))
            )
        missing = work.missing()
        for number in missing:
            if storage.exists(work.error(number)):
                raise DataError(storage.read_text(work.error(number)))
        if missing:
            raise Yt8mError(
                f"{len(missing)} of {len(elements)} groups of shards were not predicted, the first "
                f"begins with {groups[missing[0]][0].uri}; run the same command again"
            )

    return run
