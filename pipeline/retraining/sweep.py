"""A sweep: one run for each combination of some values, on one root, so that they share caches.

Every run is compared with the same thing, which is nothing: there is no baseline, and models go
into a registry of the sweep's own. What has run is found again by its run key.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from yt8m.components import storage
from yt8m.components.artifacts.run_record import RunRecord
from yt8m.components.baseline.config import BaselineChoice
from yt8m.pipeline.cache_keys import resolve_external_inputs
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.retraining.points import Point
from yt8m.pipeline.run_record import read_run_records
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.errors import Terminated, UserError, Yt8mError

MODELS = "models"  # below the root


def prepared(config: PipelineConfig) -> PipelineConfig:
    """`config` as a sweep runs it: no baseline, and a registry below its root."""
    return dataclasses.replace(
        config,
        baseline=dataclasses.replace(config.baseline, version=BaselineChoice.NONE),
        pusher=dataclasses.replace(config.pusher, push_dir=storage.join(config.root, MODELS)),
    )


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One combination and what came of it."""

    point: Point
    record: RunRecord | None = None
    problem: str = ""
    is_user_error: bool = False
    is_reported: bool = False  # by the process of the run


def sweep(
    configs: Sequence[tuple[Point, PipelineConfig]],
    start: Callable[[PipelineConfig], RunRecord],
    say: Callable[[str], None],
) -> Iterator[Trial]:
    """Run what has not run; one combination that fails does not end the others."""
    for number, (point, config) in enumerate(configs, start=1):
        where = f"{number} of {len(configs)}: {_text(point)}"
        is_started = False
        try:
            record = _known(config)
            if record is not None:
                say(f"{where}: run {record.run_id} is there")
            else:
                say(where)
                is_started = True
                record = start(config)
        except Terminated:  # somebody ends the sweep, not this combination
            raise
        except Yt8mError as error:
            yield Trial(
                point=point,
                problem=str(error),
                is_user_error=isinstance(error, UserError),
                is_reported=is_started,
            )
        else:
            yield Trial(point=point, record=record)


def check_points(configs: Sequence[tuple[Point, PipelineConfig]]) -> None:
    """UserError where combinations are one and the same run, or are of several roots.

    An option beside --set, or what every run of a sweep has, is stronger than a swept value.
    """
    for (point, config), (other, same) in itertools.combinations(configs, 2):
        if config == same:
            raise UserError(
                f"{_text(point)} and {_text(other)} are the same run: give each value once, and "
                "none that an option sets (--data, --root) or that is the same in every run of a "
                "sweep (baseline.version, pusher.push_dir)"
            )
        if config.root != same.root:
            raise UserError(
                f"{_text(point)} and {_text(other)} have several roots, {config.root} and "
                f"{same.root}: the runs of a sweep share one; give it with --root"
            )


def _text(point: Point) -> str:
    return ", ".join(f"{path}={value}" for path, value in point.items())


def _known(config: PipelineConfig) -> RunRecord | None:
    """The run that made this very model, where it came to its end."""
    layout = Layout(config.root)
    key = resolve_external_inputs(config, layout).run_key
    complete = (r for r in read_run_records(layout) if r.verdict.is_complete)
    return next((record for record in complete if record.run_key == key), None)
