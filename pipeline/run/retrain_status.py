"""Status of a root's retrainings: the schedule, its last run, and the outcomes."""

from __future__ import annotations

import dataclasses
import enum
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from yt8m.components import storage
from yt8m.components.artifacts.read import read_file
from yt8m.components.artifacts.run_record import RunRecord, Verdict
from yt8m.pipeline.workspace import Layout, is_held
from yt8m.schemas.errors import (
    EXIT_DONE,
    EXIT_INTERRUPTED,
    EXIT_NOTHING_NEW,
    EXIT_REJECTED,
    EXIT_TERMINATED,
    EXIT_USER,
)
from yt8m.schemas.json_file import DamagedFileError, JsonFile

_log = logging.getLogger(__name__)


class RetrainOutcome(enum.Enum):
    """Outcome of a retraining, its retries included."""

    PUSHED = "pushed"
    UP_TO_DATE = "up_to_date"
    REJECTED = "rejected"
    NOTHING_NEW = "nothing_new"
    STOPPED = "stopped"  # by Ctrl-C or SIGTERM: neither a success nor a failure
    USER_ERROR = "user_error"
    FAILED = "failed"

    @property
    def is_failure(self) -> bool:
        return self in (RetrainOutcome.USER_ERROR, RetrainOutcome.FAILED)


_OUTCOMES: Mapping[int, RetrainOutcome] = {
    EXIT_DONE: RetrainOutcome.PUSHED,
    EXIT_REJECTED: RetrainOutcome.REJECTED,
    EXIT_NOTHING_NEW: RetrainOutcome.NOTHING_NEW,
    EXIT_INTERRUPTED: RetrainOutcome.STOPPED,
    EXIT_TERMINATED: RetrainOutcome.STOPPED,
    EXIT_USER: RetrainOutcome.USER_ERROR,
}


@dataclass(frozen=True, kw_only=True)
class RetrainStatus(JsonFile):
    """A root's retrainings; times are seconds since the epoch. Counts outlive a schedule."""

    cron: str = ""  # of the schedule; empty where somebody else calls `yt8m retrain`
    started: float | None = None  # the schedule
    period: float | None = None  # longest time between two scheduled runs, in seconds
    alive: float | None = None  # when the schedule last said so
    last_run: float | None = None
    last_end: float | None = None
    last_exit_code: int | None = None
    next_run: float | None = None
    last_success: float | None = None  # end of the last one that did not fail
    last_push: float | None = None
    failures: int = 0  # in a row
    rejected: int = 0  # since a model was pushed
    outcomes: dict[str, int] = field(default_factory=dict)  # how many of each

    @property
    def is_without_end(self) -> bool:
        """Whether the last retraining is under way, or was killed together with its schedule."""
        return self.last_run is not None and self.last_end is None

    def ended(self, exit_code: int, run: RunRecord | None, *, now: float) -> RetrainStatus:
        """The status after a retraining that ended so; `run` is the newest one."""
        outcome = _OUTCOMES.get(exit_code, RetrainOutcome.FAILED)
        if outcome is RetrainOutcome.PUSHED and run and run.verdict is Verdict.UP_TO_DATE:
            outcome = RetrainOutcome.UP_TO_DATE
        pushed, failed = outcome is RetrainOutcome.PUSHED, outcome.is_failure
        succeeded = not failed and outcome is not RetrainOutcome.STOPPED
        count = self.outcomes.get(outcome.value, 0) + 1
        return dataclasses.replace(
            self,
            last_end=now,
            last_exit_code=exit_code,
            last_success=now if succeeded else self.last_success,
            last_push=now if pushed else self.last_push,
            failures=0 if succeeded else self.failures + failed,
            rejected=0
            if outcome in (RetrainOutcome.PUSHED, RetrainOutcome.UP_TO_DATE)
            else self.rejected + (outcome is RetrainOutcome.REJECTED),
            outcomes={**self.outcomes, outcome.value: count},
        )


def write_status(layout: Layout, status: RetrainStatus) -> None:
    """Replace the file."""
    storage.write_text(layout.schedule_status, status.to_json())


def read_status(layout: Layout) -> RetrainStatus | None:
    """The status of the root's retrainings; None where there never was one, or it is damaged."""
    advice = "put an undamaged copy there, or the next retraining counts from 0 again"
    try:
        return read_file(layout.schedule_status, RetrainStatus.from_json, advice=advice)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except DamagedFileError as error:
        _log.warning("%s", error)
        return None


def is_scheduled(layout: Layout) -> bool:
    """Whether the process of the schedule is alive: it holds a lock."""
    return is_held(layout.schedule_lock)
