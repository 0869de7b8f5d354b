"""Action of `yt8m retrain`."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import Any

from yt8m.cli.arguments.options import words_of
from yt8m.cli.arguments.runs import RetrainArguments
from yt8m.components import storage
from yt8m.components.console.console import Console
from yt8m.components.console.quiet import quiet_tensorflow
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.retraining.judged_data import remember_judged
from yt8m.pipeline.retraining.retrain import (
    RetrainScheduler,
    find_new_data,
    retraining_config,
    stale_data,
)
from yt8m.pipeline.retraining.service_check import check_service
from yt8m.pipeline.run.finish import finish_run, notify
from yt8m.pipeline.run.preflight import preflight
from yt8m.pipeline.run.prometheus import write_metrics
from yt8m.pipeline.run.retrain_status import (
    RetrainStatus,
    is_scheduled,
    read_status,
    write_status,
)
from yt8m.pipeline.run.runner import RunOptions, with_absolute_paths
from yt8m.pipeline.run.runner import run as run_pipeline
from yt8m.pipeline.run_record import newest_retraining, read_run_records
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.cron import parse_cron
from yt8m.schemas.errors import (
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_INTERRUPTED,
    EXIT_NOTHING_NEW,
    EXIT_REJECTED,
    Terminated,
    UserError,
    Yt8mError,
)

_NO_FAILURES = (EXIT_REJECTED, EXIT_NOTHING_NEW)


def run(args: RetrainArguments, console: Console) -> int:
    if args.cron is not None:
        return _run_forever(args, args.cron, console)
    code = _counted(args, console)
    return EXIT_DONE if args.exit_zero and code in _NO_FAILURES else code


def _counted(args: RetrainArguments, console: Console) -> int:
    """The exit code of one retraining, which counts unless a schedule counts it."""
    config = with_absolute_paths(args.load())
    layout = Layout(config.root)
    if is_scheduled(layout):
        return _run_once(args, console)
    read_status(layout)  # one of a newer yt8m is refused now, not when hours are spent
    began, code = time.time(), EXIT_FAILED
    try:
        code = _run_once(args, console)
    except Yt8mError as error:
        code = error.exit_code
        raise
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
        raise
    finally:
        try:
            if config.root and storage.is_dir(layout.root):
                status = replace(read_status(layout) or RetrainStatus(), last_run=began)
                newest = newest_retraining(read_run_records(layout))
                write_status(layout, status.ended(code, newest, now=time.time()))
                write_metrics(config)
        except (OSError, Yt8mError) as error:  # a full disk, say: the outcome is what counts
            console.warn(f"the file for Prometheus is not up to date: {error}")
    return code


def _run_once(args: RetrainArguments, console: Console) -> int:
    config = retraining_config(with_absolute_paths(args.load()))
    try:
        news = find_new_data(config)
    except UserError:
        preflight(config, os.environ)  # whatever else is wrong is listed with it
        raise
    # A schedule tells how its runs ended, after the last attempt; of this only its runs know.
    by_schedule = is_scheduled(Layout(config.root))
    back = _check_service(config, console, hook=by_schedule or not args.no_notify)
    if not news.is_new:
        console.result({"verdict": "nothing new", "reason": news.text, **back}, news.text)
        alarm = stale_data(config, news.digest, now=time.time())
        if alarm and not args.no_notify:  # else whoever calls raises it
            console.warn(alarm)
            if problem := notify(config.notify, {"verdict": "alarm", "reason": alarm}):
                console.warn(problem)
        return EXIT_NOTHING_NEW
    console.info(news.text)
    options = RunOptions(engine=args.runner, wait_s=args.wait, retraining=True)
    result = run_pipeline(config, options, console)
    try:
        remember_judged(result.record)
    except (OSError, Yt8mError) as error:  # the run's outcome is what counts
        console.warn(f"the registry has no note of this retraining: {error}")
    finish_run(config, result, console, hook=not args.no_notify)
    # Else another retraining made it, for which this one waited.
    return result.record.exit_code if result.is_new else EXIT_NOTHING_NEW


def _check_service(config: PipelineConfig, console: Console, *, hook: bool) -> dict[str, Any]:
    """Go back where retrain.rollback asks for it; what was done, for the command's result."""
    if not config.retrain.rollback or not config.pusher.push_dir:
        return {}

    try:
        with quiet_tensorflow():
            checked = check_service(config)
    except Terminated:
        raise
    except Yt8mError as error:  # a new model may be what helps, so the retraining goes on
        text = f"retrain.rollback: the version in service was not checked: {error}"
        outcome: dict[str, Any] = {"verdict": "alarm", "reason": text}
    else:
        if not checked.is_below:
            console.info(checked.text)
            return {}
        text = checked.text
        outcome = {
            "verdict": "rolled back" if checked.rolled_back_to else "alarm",
            "reason": text,
            "version": checked.new_version or checked.version,
        }
    console.warn(text)
    if hook and (problem := notify(config.notify, outcome)):
        console.warn(problem)
    return {"service": outcome}


def _run_forever(args: RetrainArguments, expression: str, console: Console) -> int:
    """What is wrong is found now, not at three in the night."""
    config = with_absolute_paths(args.load())
    zone = config.retrain.timezone
    cron = parse_cron(expression, zone=zone, cluster_zone=zone)  # this process counts in any zone
    preflight(retraining_config(config), os.environ)
    if args.no_notify:
        args = replace(args, set=(*args.set, "notify.command=[]"))
        config = replace(config, notify=replace(config.notify, command=()))
    once = replace(args, cron=None, exit_zero=False, no_notify=True)
    RetrainScheduler(["retrain", *words_of(once)], config, cron, console).run_forever()
    return EXIT_DONE
