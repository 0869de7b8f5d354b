"""The heavy stages on Flink: two task managers beside one and beside this process alone.

    python benchmarks/beam_engines.py [--examples 50000 200000] [--json FILE]

As root, after `make flink`. A task manager, with the worker pool beside it, has a core and no more.
Processor time is all that the two take for a stage, but for what the pool imports once, before the
run: that of the busier pair of two beside that of one alone tells how much sooner two machines are
done, whatever else keeps this one busy. Seconds are those of Flink's jobs.

From which size an engine pays is computed, not seen: two cores never show it. The CPU-seconds of
two sizes give what a job costs and what a video costs; a video's are divided among the workers.
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
from typing import Any, NamedTuple

import numpy as np

sys.path.extend(  # as the tests start it
    str(Path(__file__).parents[1] / "tests" / room)
    for room in ("support", "testbed/engines", "testbed/processes", "testbed/servers")
)

from flink_cluster import Flink, flink_cluster, task_manager, worker_pool
from requirements import flink_programs

from yt8m.components.engines.flink_jobs import ENDED

HERE = 0  # in place of a number of workers: this process

# In the order of their jobs; the first is ExampleGen's, too.
_CLIENT = "yt8m run"
_STAGES = ("Verification", "ExampleGen", "StatisticsGen", "Transform", "Evaluator")
_WORKERS = (2, 4, 8, 16)  # of which it is said from which size they pay
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
    parser.add_argument(
        "--examples", type=int, nargs="+", default=[50_000, 200_000], help="a fifth is evaluated on"
    )
    parser.add_argument("--shards", type=int, default=16)
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    if (os.cpu_count() or 1) < 2:
        parser.error("two task managers need two cores")
    if os.geteuid() or flink_programs() is None:
        print("not measured: this needs root, and Flink (`make flink`)")
        return
    rows = []
    for examples in args.examples:
        with tempfile.TemporaryDirectory(prefix="yt8m-engines-") as folder:
            work = Path(folder)
            _generate(work / "data", examples, args.shards)
            measured = [*_measure_here(work), *_measure(work, 1), *_measure(work, 2)]
            rows += [{"examples": examples, **row} for row in measured]
    if args.json:
        args.json.write_text(json.dumps(rows, indent=2) + "\n")
    for examples in args.examples:
        print(f"{examples:,} videos\n")
        _print([row for row in rows if row["examples"] == examples])
    if len(args.examples) > 1:
        print("\n" + "\n".join(break_even(rows)))


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


def _run(work: Path, name: str, *words: object) -> tuple[subprocess.Popen[bytes], Path]:
    log = work / f"run-{name}.log"
    places = ("--data", work / "data", "--root", work / f"root-{name}")
    settings = [f"--set={setting}" for setting in _SETTINGS]
    push = ("--push", work / f"push-{name}")
    return _start(log, "run", "smoke", *places, *push, *settings, *words), log


def _processor_seconds_here(work: Path, name: str) -> float:
    """Of the process of `yt8m run`, for the stages that an engine can take over."""
    (record,) = (work / f"root-{name}" / "runs").glob("*/run.json")
    nodes = json.loads(record.read_text())["nodes"]
    return sum(node["cpu_seconds"] for node in nodes if node["name"] in _STAGES)


def _measure_here(work: Path) -> list[dict[str, Any]]:
    """A run without an engine."""
    _check(*_run(work, "here"))
    taken = [_processor_seconds_here(work, "here")]
    return [{"stage": _CLIENT, "workers": HERE, "processor_seconds": taken}]


def _measure(work: Path, workers: int) -> list[dict[str, Any]]:
    """A run on so many task managers: a row for each of its jobs."""
    with flink_cluster(work / f"flink-{workers}", task_managers=workers, pinned=True) as flink:
        options = [f"--job_endpoint={flink.job_endpoint}", f"--flink_master={flink.master}"]
        options += ["--environment_type=EXTERNAL", f"--environment_config={flink.worker_pool}"]
        run, log = _run(
            work,
            str(workers),
            "--beam-runner=flink",
            *(f"--beam-option={option}" for option in options),
            f"--set=beam.parallelism={workers}",
        )
        taken = _processor_seconds_of_stages(flink, workers, run)
        _check(run, log)
        rows = [
            {"stage": stage, "workers": workers, "processor_seconds": seconds, **_job(flink, job)}
            for stage, seconds, job in zip(_STAGES, taken, flink.jobs(), strict=True)
        ]
    client = [_processor_seconds_here(work, str(workers))]
    return [*rows, {"stage": _CLIENT, "workers": workers, "processor_seconds": client}]


def _processor_seconds_of_stages(
    flink: Flink, workers: int, run: subprocess.Popen[bytes]
) -> list[list[float]]:
    """Of each task manager, as each job ends, which Flink tells up to three seconds later."""

    def now() -> list[float]:
        return [
            flink.processor_seconds(task_manager(number))
            + flink.processor_seconds(worker_pool(number))
            for number in range(workers)
        ]

    marks = [now()]
    while run.poll() is None or (run.returncode == 0 and len(marks) <= len(flink.jobs())):
        ended = [job for job in flink.jobs() if flink.get(f"jobs/{job}")["state"] in ENDED]
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


def break_even(rows: list[dict[str, Any]]) -> list[str]:
    """From which number of videos so many workers are done sooner than this process."""
    here, one, two = (_line_through(rows, workers) for workers in (HERE, 1, 2))
    uneven = max(two.a_video / (one.a_video / 2), 1.0)  # what two share is not halved
    fixed = max(one.fixed, two.fixed)
    said = [
        "Computed from CPU-seconds: "
        f"{here.fixed:.1f} + {here.a_video * 1e6:.0f} us a video in this process, "
        f"{fixed:.1f} + {one.a_video * uneven * 1e6:.0f} us / workers a video on Flink."
    ]
    for workers in _WORKERS:
        saved = here.a_video - one.a_video * uneven / workers
        least = max((fixed - here.fixed) / saved, 0.0) if saved > 0 else None
        when = "at no size" if least is None else f"from {least:,.0f} videos on"
        said.append(f"{workers} workers are done sooner than this process {when}.")
    return said


class Line(NamedTuple):
    """CPU-seconds of a whole run's stages: those of none, and of each video."""

    fixed: float
    a_video: float


def _line_through(rows: list[dict[str, Any]], workers: int) -> Line:
    totals: dict[int, float] = {}
    for row in rows:
        if row["workers"] == workers:
            taken = max(row["processor_seconds"])
            totals[row["examples"]] = totals.get(row["examples"], 0.0) + taken
    a_video, fixed = np.polyfit(list(totals), list(totals.values()), 1)
    return Line(float(fixed), float(a_video))


def _print(rows: list[dict[str, Any]]) -> None:
    print(
        "| stage | CPU-seconds of one | of the busier of two | times less | most records of one "
        "of two | seconds, one and two |\n| --- | --- | --- | --- | --- | --- |"
    )
    sums = [0.0] * 4
    for stage in _STAGES:
        one, two = (row for row in rows if row["stage"] == stage and row["workers"])
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
