"""The heavy stages on Flink: two task managers beside one, and how they share the records.

    python benchmarks/beam_engines.py [--examples 200000] [--json FILE]

As root, after `make flink`. A task manager, with the worker pool beside it, has a core and no more.
Processor time is all that the two take for a stage, but for what the pool imports once, before the
run: that of the busier pair of two beside that of one alone tells how much sooner two machines are
done, whatever else keeps this one busy. Seconds are those of Flink's jobs.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.extend(  # as the tests start it
    str(Path(__file__).parents[1] / "tests" / room)
    for room in ("support", "testbed/engines", "testbed/processes")
)

from flink_cluster import Flink, flink_cluster, task_manager, worker_pool

# In the order of their jobs; the first is ExampleGen's, too.
_STAGES = ("Verification", "ExampleGen", "StatisticsGen", "Transform", "Evaluator")
_LEAST_SHARE = 0.05  # of a stage's time, for a part of it to be looked at
_LEAST_RECORDS = 2000  # fewer are files, batches and results, but for
# Shards that are verified, pieces of them whose statistics are taken, ranges that are scored.
_WORK = ("Verify", "{TFXIORead[train]", "Score")
_SETTINGS = (
    "data.ingest=rewrite",
    "data.rewrite.shard_mb=16",  # Flink holds what a shard is made of, several times over
    "transform.materialize=true",
    "trainer.max_steps=30",
    "gate.gap_threshold=0.001",
    "validation.on_drift=warn",
    "data.splits={train: ['train*'], eval: ['validate*'], test: []}",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--examples", type=int, default=200_000, help="a fifth is evaluated on")
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if (os.cpu_count() or 1) < 2:
        parser.error("two task managers need two cores")
    with tempfile.TemporaryDirectory(prefix="yt8m-engines-") as folder:
        work = Path(folder)
        _generate(work / "data", args.examples, args.shards)
        rows = [row for workers in (1, 2) for row in _measure(work, workers)]
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2) + "\n")
    _print(rows)


def _start(log: Path, *words: object) -> subprocess.Popen[bytes]:
    program = Path(sys.executable).with_name("yt8m")
    with log.open("wb") as file:
        return subprocess.Popen([program, *map(str, words)], stdout=file, stderr=file)


def _check(command: subprocess.Popen[bytes], log: Path) -> None:
    if command.wait():
        raise SystemExit(f"{command.args!r} failed:\n{log.read_text()[-3000:]}")


def _generate(out: Path, examples: int, shards: int) -> None:
    sizes = ["--train", examples * 4 // 5, "--eval", examples // 5]
    sizes += ["--shards", shards, "--classes", 50]  # as the preset has them
    log = out.with_suffix(".log")
    _check(_start(log, "data", "generate", "--level", "video", "--out", out, *sizes), log)


def _measure(work: Path, workers: int) -> list[dict[str, Any]]:
    """A run on so many task managers: a row for each of its jobs."""
    log = work / f"run-{workers}.log"
    with flink_cluster(work / f"flink-{workers}", task_managers=workers, pinned=True) as flink:
        options = [f"--job_endpoint={flink.job_endpoint}", f"--flink_master={flink.master}"]
        options += ["--environment_type=EXTERNAL", f"--environment_config={flink.worker_pool}"]
        run = _start(
            log,
            *("run", "smoke", "--data", work / "data", "--root", work / f"root-{workers}"),
            *("--push", work / f"push-{workers}", "--beam-runner=flink"),
            *(f"--beam-option={option}" for option in options),
            *(f"--set={setting}" for setting in (*_SETTINGS, f"beam.parallelism={workers}")),
        )
        taken = _processor_seconds_of_stages(flink, workers, run)
        _check(run, log)
        return [
            {"stage": stage, "workers": workers, "processor_seconds": seconds, **_job(flink, job)}
            for stage, seconds, job in zip(_STAGES, taken, flink.jobs(), strict=True)
        ]


def _processor_seconds_of_stages(
    flink: Flink, workers: int, run: subprocess.Popen[bytes]
) -> list[list[float]]:
    """Of each task manager, as each job ends."""

    def now() -> list[float]:
        return [
            flink.processor_seconds(task_manager(number))
            + flink.processor_seconds(worker_pool(number))
            for number in range(workers)
        ]

    marks = [now()]
    while run.poll() is None:
        ended = [job for job in flink.jobs() if flink.get(f"jobs/{job}")["state"] == "FINISHED"]
        if len(ended) >= len(marks):
            marks.append(now())
        time.sleep(1)
    return [
        [after - before for before, after in zip(*pair, strict=True)]
        for pair in itertools.pairwise(marks)
    ]


def _job(flink: Flink, job: str) -> dict[str, Any]:
    milliseconds = flink.get(f"jobs/{job}")["duration"]
    heavy = [
        {"name": share.stage, "ms": share.milliseconds, "of_workers": share.of_workers}
        for share in flink.shares([job])
        if share.milliseconds >= _LEAST_SHARE * milliseconds
        and (share.records >= _LEAST_RECORDS or any(work in share.stage for work in _WORK))
    ]
    return {"seconds": milliseconds / 1000, "parts": heavy}


def _print(rows: list[dict[str, Any]]) -> None:
    print(
        "| stage | CPU-seconds of one | of the busier of two | times less | most records of one "
        "of two | seconds, one and two |\n| --- | --- | --- | --- | --- | --- |"
    )
    sums = [0.0] * 4
    for stage in _STAGES:
        one, two = (row for row in rows if row["stage"] == stage)
        shares = [max(part["of_workers"]) / sum(part["of_workers"]) for part in two["parts"]]
        taken = [max(row["processor_seconds"]) for row in (one, two)]
        figures = [*taken, one["seconds"], two["seconds"]]
        sums = [total + figure for total, figure in zip(sums, figures, strict=True)]
        print(_line(stage, figures, f"{max(shares):.0%}" if shares else "not counted"))
    print(_line("all", sums, ""))


def _line(stage: str, figures: list[float], most: str) -> str:
    one, two, *clock = figures
    times = f"{clock[0]:.0f}, {clock[1]:.0f}"
    return f"| {stage} | {one:.1f} | {two:.1f} | {one / two:.2f} | {most} | {times} |"


if __name__ == "__main__":
    main()
