"""What metrics cost while training: the default log against one that is practically off.

    python benchmarks/training_metrics.py [--precision fp32] [--pairs 3]

Logistic at video level, 3,862 classes, batches of 1,024. Trainings with and without take turns in
one process, in the order that cancels a steady drift; each is timed by its own curve over the same
steps, the first ones left out. Without still logs at both ends of these steps, for the time is told
there; the cost of that is taken out. The goal is 3 % at most; `verdicts.py` says when it is missed.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from training import CASES, make_job
from verdicts import Verdict, judged, measured

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

GOAL = 0.03
FIRST, LAST = 60, 120  # the steps between which a training is timed; TensorFlow compiles before


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--precision", default="auto", help="fp32, bf16 or what the machine has")
    parser.add_argument("--pairs", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="yt8m-bench-") as scratch:
        numbers = itertools.count()

        def paces() -> dict[str, Any]:
            pairs = (next(numbers) for _ in range(args.pairs))
            turns = [pace_of_pair(number, args.precision, Path(scratch)) for number in pairs]
            return judged(turns, 1 / (1 + GOAL))

        row = measured(paces)
    print(f"metrics cost {1 / row['ratio'] - 1:+.1%} of the time, at most {GOAL:.0%} wanted")
    return Verdict[row["verdict"]]


def pace_of_pair(number: int, precision: str, root: Path) -> float:
    """The pace with the default log over the pace without."""
    from yt8m.components.trainer.config import LogConfig

    default = LogConfig().every_steps
    order = (default, LAST - FIRST) if number % 2 else (LAST - FIRST, default)
    seconds = {}
    for every in order:
        out = root / f"{number}-{every}"
        seconds[every] = seconds_of_steps(make_job_logging(every, precision, root, out))
    times = {every: (LAST - FIRST) // every for every in order}
    once = (seconds[default] - seconds[LAST - FIRST]) / (times[default] - times[LAST - FIRST])
    share = once * times[default] / (seconds[default] - once * times[default])
    print(
        f"every {default} steps {seconds[default]:.2f} s, once {seconds[LAST - FIRST]:.2f} s: "
        f"{once * 1000:+.1f} ms each, {share:+.1%}",
        flush=True,
    )
    return 1 / (1 + share)


def make_job_logging(every: int, precision: str, root: Path, out: Path) -> Any:
    """The benchmark's job for logistic, with figures after so many steps."""
    case = dataclasses.replace(CASES["logistic"], steps=LAST)
    job = make_job("logistic", case, precision, root)
    log = dataclasses.replace(job.trainer.log, every_steps=every)
    return dataclasses.replace(
        job,
        checkpoint_dir=str(out / "checkpoints"),
        log_dir=str(out / "logs"),
        export_dir=str(out / "export"),
        trainer=dataclasses.replace(job.trainer, log=log),
    )


def seconds_of_steps(job: Any) -> float:
    """Train; the time from step FIRST to step LAST, by the curve that the training leaves."""
    from yt8m.components.artifacts.training_curve import TRAINING, read_curve
    from yt8m.components.trainer.backends.in_process import run_job

    run_job(job, {})
    rows = read_curve(f"{job.log_dir}/{TRAINING}")
    seconds = {row["step"]: row["seconds"] for row in rows if row["kind"] == "train"}
    return float(seconds[LAST] - seconds[FIRST])


if __name__ == "__main__":
    sys.exit(main())
