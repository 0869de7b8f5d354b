"""Action of `yt8m run`."""

from __future__ import annotations

from yt8m.cli.arguments.runs import RunArguments
from yt8m.components.console.console import Console
from yt8m.pipeline.run import runner
from yt8m.pipeline.run.finish import finish_run
from yt8m.pipeline.run.progress import TIMINGS, timings


def run(args: RunArguments, console: Console) -> int:
    config = args.load()
    options = runner.RunOptions(engine=args.runner, wait_s=args.wait)
    result = runner.run(config, options, console)
    if args.timings and (rows := timings(result.record)):
        console.info(f"run {result.record.run_id}\n{console.table(TIMINGS, rows)}")
    finish_run(config, result, console)
    return result.record.exit_code
