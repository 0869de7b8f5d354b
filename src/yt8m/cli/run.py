"""Run the pipeline here, from records to a pushed model.

Everything wrong is listed before anything starts. What ran before and still holds is taken from
the cache: a killed run continues where it was when the same command is given again, and with
nothing changed it ends at once with the outcome that is known.

exit codes: 0 pushed, 3 held back by the gate, 1 failed, 2 a mistake in what was given,
130 Ctrl-C, 143 SIGTERM.

examples:
  yt8m run smoke --data demo/data --root demo/run --push demo/models
  yt8m run video_mlp --data /data/yt8m --root /runs/mlp --push /models --set trainer.num_epochs=3
  yt8m run my.yaml --beam-runner flink --beam-option=--flink_master=localhost:8081
"""

from __future__ import annotations

import argparse

from yt8m.cli.arguments import add_run_config_arguments, config_of
from yt8m.components.console.console import Console

ENGINES = ("beam", "local")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_config_arguments(parser)
    add_run_arguments(parser)
    parser.add_argument(
        "--timings", action="store_true", help="say at the end where time and memory went"
    )


def add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """How to run; shared with `yt8m retrain`."""
    parser.add_argument(
        "--runner",
        choices=ENGINES,
        default=ENGINES[0],
        help="the TFX runner that executes the graph: BeamDagRunner or LocalDagRunner",
    )
    parser.add_argument(
        "--wait",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="wait this long for another run on the same root, instead of ending at once",
    )


def run(args: argparse.Namespace, console: Console) -> int:
    from yt8m.pipeline.run import runner
    from yt8m.pipeline.run.finish import finish_run
    from yt8m.pipeline.run.progress import TIMINGS, timings

    config = config_of(args)
    options = runner.RunOptions(engine=args.runner, wait_s=args.wait)
    result = runner.run(config, options, console)
    if args.timings and (rows := timings(result.record)):
        console.info(f"run {result.record.run_id}\n{console.table(TIMINGS, rows)}")
    finish_run(config, result, console)
    return result.record.exit_code
