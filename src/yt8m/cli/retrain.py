"""Retrain when there is new data, once or on a schedule.

Without --cron it runs once, if there is a span, or data, newer than what the last complete run was
made from, and says so if not: fit for cron, a systemd timer or a Kubernetes CronJob. With --cron
it keeps running and does that at each time, one run at a time; a failed run is tried again
(retrain.retries, retrain.backoff_s) and then reported (notify.command). So is an
alarm when nothing new came for retrain.alarm_days. `yt8m status` shows the schedule's last and next
run; for Prometheus they are in <root>/retrain.prom, or in retrain.metrics_file.

The expression is the usual one: minute, hour, day of month, month, weekday. Sunday is 0 or 7.

Each retraining takes the newest retrain.window spans, starts from the newest blessed model, and is
gated against it on the newest data.

With retrain.rollback the version in service is first judged by the gate on the newest labelled
records; one that falls below it is replaced by the newest older version that passes there.

exit codes: 0 pushed, 3 held back by the gate, 4 nothing new, 1 failed, 2 a mistake in what was
given, 130 Ctrl-C, 143 SIGTERM. With --exit-zero, 3 and 4 become 0.

examples:
  yt8m retrain smoke --data demo/data --root demo/run --push demo/models
  yt8m retrain my.yaml --exit-zero
  yt8m retrain my.yaml --cron "0 3 * * mon-fri" --timezone Europe/Brussels
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from yt8m.cli.arguments import add_run_config_arguments, config_of
from yt8m.cli.run import add_run_arguments
from yt8m.components.console.console import Console
from yt8m.schemas.errors import EXIT_DONE, EXIT_HELD_BACK, EXIT_NOTHING_NEW, UserError

if TYPE_CHECKING:
    from yt8m.pipeline.config import PipelineConfig

_NO_FAILURES = (EXIT_HELD_BACK, EXIT_NOTHING_NEW)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_config_arguments(parser)
    add_run_arguments(parser)
    parser.add_argument(
        "--cron",
        metavar="EXPRESSION",
        help='keep running, and retrain at these times, e.g. "0 3 * * *" for every night at three',
    )
    parser.add_argument(
        "--timezone", metavar="ZONE", help="the time zone of --cron (retrain.timezone)"
    )
    parser.add_argument(
        "--exit-zero", action="store_true", help="end with 0 when held back or nothing is new"
    )
    parser.add_argument("--no-notify", action="store_true", help="do not call notify.command")


def run(args: argparse.Namespace, console: Console) -> int:
    if args.cron is not None:
        return _run_forever(args, console)
    code = _run_once(args, console)
    return EXIT_DONE if args.exit_zero and code in _NO_FAILURES else code


def _run_once(args: argparse.Namespace, console: Console) -> int:
    import os
    import time
    from pathlib import Path

    from yt8m.pipeline.retraining.retrain import find_new_data, retraining_config, stale_data
    from yt8m.pipeline.run.finish import finish_run, notify
    from yt8m.pipeline.run.preflight import preflight
    from yt8m.pipeline.run.runner import RunOptions, with_absolute_paths
    from yt8m.pipeline.run.runner import run as run_pipeline
    from yt8m.pipeline.workspace import Layout

    config = retraining_config(with_absolute_paths(config_of(args)))
    try:
        news = find_new_data(config)
    except UserError:
        preflight(config, os.environ)  # whatever else is wrong is listed with it
        raise
    back = _check_service(config, console, hook=not args.no_notify)
    if not news.is_new:
        console.result({"verdict": "nothing new", "reason": news.text, **back}, news.text)
        alarm = stale_data(config, Layout(Path(config.root)), now=time.time())
        if alarm and not args.no_notify:  # else whoever calls raises it
            console.warn(alarm)
            if problem := notify(config.notify, {"verdict": "alarm", "reason": alarm}):
                console.warn(problem)
        return EXIT_NOTHING_NEW
    console.info(news.text)
    options = RunOptions(engine=args.runner, wait_s=args.wait, retraining=True)
    result = run_pipeline(config, options, console)
    finish_run(config, result, console, hook=not args.no_notify)
    return result.record.exit_code


def _check_service(config: PipelineConfig, console: Console, *, hook: bool) -> dict[str, Any]:
    """Go back where retrain.rollback asks for it; what was done, for the command's result."""
    if not config.retrain.rollback or not config.pusher.push_dir:
        return {}
    from yt8m.components.console.quiet import quiet_tensorflow
    from yt8m.pipeline.retraining.service_check import check_service
    from yt8m.pipeline.run.finish import notify

    with quiet_tensorflow():
        found = check_service(config)
    if not found.is_below:
        console.info(found.text)
        return {}
    console.warn(found.text)
    outcome = {
        "verdict": "rolled back" if found.rolled_back_to else "alarm",
        "reason": found.text,
        "version": found.new_version or found.version,
    }
    if hook and (problem := notify(config.notify, outcome)):
        console.warn(problem)
    return {"service": outcome}


def _run_forever(args: argparse.Namespace, console: Console) -> int:
    """What is wrong is found now, not at three in the night."""
    import os

    from yt8m.pipeline.retraining.retrain import RetrainScheduler, retraining_config
    from yt8m.pipeline.run.preflight import preflight
    from yt8m.pipeline.run.runner import with_absolute_paths
    from yt8m.schemas.cron import parse_cron

    config = with_absolute_paths(config_of(args))
    zone = config.retrain.timezone
    cron = parse_cron(args.cron, zone=zone, cluster_zone=zone)  # this process counts in any zone
    preflight(retraining_config(config), os.environ)
    RetrainScheduler(_command(args), config, cron, console).run_forever()
    return EXIT_DONE


def _command(args: argparse.Namespace) -> list[str]:
    """The same retraining, once: what the schedule starts each time."""
    words = ["retrain", args.config, "--no-notify", "--runner", args.runner]
    words += ["--wait", str(args.wait)]
    for name in ("data", "root", "push", "beam_runner"):
        value = getattr(args, name)
        words += [f"--{name.replace('_', '-')}", value] if value is not None else []
    words += [f"--set={setting}" for setting in args.set]
    words += [f"--beam-option={option}" for option in args.beam_option or ()]
    words += [f"--{name}" for name in ("quiet", "json", "debug") if getattr(args, name)]
    return words
