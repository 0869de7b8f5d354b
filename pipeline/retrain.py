"""Retraining again and again: a cron schedule without overlap, and retries with back-off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from yt8m.schemas.config_tree import require
from yt8m.schemas.errors import UserError


@dataclass(frozen=True, kw_only=True)
class RetrainConfig:
    """The retrain node of the configuration."""

    window: int = 1  # how many of the newest spans one model is made from
    warm_start: bool = True  # from the newest blessed model
    retries: int = 2
    backoff_s: float = 60.0  # before the first retry; doubled before each further one
    backoff_max_s: float = 3600.0
    timezone: str = "UTC"

    def __post_init__(self) -> None:
        require(self.window >= 1, "window", self.window, "1 or more")
        require(self.retries >= 0, "retries", self.retries, "0 or more")
        require(self.backoff_s >= 0, "backoff_s", self.backoff_s, "0 or more")
        require(
            self.backoff_max_s >= self.backoff_s,
            "backoff_max_s",
            self.backoff_max_s,
            "backoff_s or more",
        )


def backoff(config: RetrainConfig, retry: int) -> float:
    """Seconds to wait before retry number `retry`, counted from 0."""
    return float(min(config.backoff_s * 2**retry, config.backoff_max_s))


def cron_trigger(expression: str, timezone: str) -> Any:  # apscheduler publishes no types
    """When the five-field `expression` fires; UserError when it is none."""
    from apscheduler.triggers.cron import CronTrigger

    try:
        return CronTrigger.from_crontab(expression, timezone=timezone)
    except (ValueError, LookupError) as error:
        raise UserError(
            f"--cron {expression!r} with retrain.timezone {timezone}: {error}; write five fields, "
            'minute hour day month weekday, e.g. "0 3 * * *"'
        ) from error


def run_on_schedule(job: Callable[[], None], *, trigger: Any) -> None:
    """Call `job` in this thread at each time of `trigger`, until it raises; that is raised here.

    One run at a time, in the thread that signals arrive in. Times that pass while one is under
    way, or while the machine sleeps, make one run together.
    """
    from apscheduler.executors.debug import DebugExecutor
    from apscheduler.jobstores.base import JobLookupError
    from apscheduler.schedulers.blocking import BlockingScheduler

    scheduler = BlockingScheduler(
        executors={"default": DebugExecutor()},  # runs the job right where the scheduler waits
        job_defaults={"coalesce": True, "misfire_grace_time": None},
    )
    ends: list[BaseException] = []

    def guarded() -> None:
        try:
            job()
        except BaseException as error:  # the library would log it and go on for ever
            ends.append(error)
            scheduler.shutdown(wait=False)

    scheduler.add_job(guarded, trigger)
    try:
        scheduler.start()
    except JobLookupError:
        if not ends:  # else it looks for the job that was under way when it was shut down
            raise
    finally:
        if scheduler.running:
            scheduler.shutdown(wait=False)
    if ends:
        raise ends[0]


def with_retries(
    attempt: Callable[[], bool], config: RetrainConfig, *, sleep: Callable[[float], None]
) -> bool:
    """Call `attempt` until it returns True or the retries are used up; returns its last answer."""
    for retry in range(config.retries):
        if attempt():
            return True
        sleep(backoff(config, retry))
    return attempt()
