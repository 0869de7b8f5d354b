"""The heavy stages on Flink: two task managers beside one, and how they share the records.

    python benchmarks/beam_engines.py [--examples 200000] [--json FILE]

As root, after `make flink`. A task manager, with the Python processes that it starts, has one core
of the machine and no more; whatever else runs there slows both alike. Seconds are those of Flink's
job: they include the start of the Python workers and not that of the run.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))  # as the tests start it

from flink_cluster import Flink, flink_cluster

_STAGES = ("ExampleGen", "StatisticsGen", "Transform", "Evaluator")  # in the order of their jobs
_LEAST_SHARE = 0.05  # of a stage's time, for a part of it to be looked at
_SETTINGS = (
    "data.ingest=rewrite",
    "transform.materialize=true",
    "trainer.max_steps=30",
    "gate.gap_threshold=0",
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


def _yt8m(*words: object) -> None:
    program = Path(sys.executable).with_name("yt8m")
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"yt8m {words[0]} failed:\n{done.stderr[-3000:]}")


def _generate(out: Path, examples: int, shards: int) -> None:
    sizes = ["--train", examples * 4 // 5, "--eval", examples // 5, "--shards", shards]
    _yt8m("data", "generate", "--quiet", "--level", "video", "--out", out, *sizes)


def _measure(work: Path, workers: int) -> list[dict[str, Any]]:
    """A run on so many task managers: a row for each of its jobs."""
    with flink_cluster(work / f"flink-{workers}", task_managers=workers, pinned=True) as flink:
        options = [f"--job_endpoint={flink.job_endpoint}", f"--flink_master={flink.master}"]
        options.append("--environment_type=PROCESS")
        _yt8m(
            *("run", "smoke", "--data", work / "data", "--root", work / f"root-{workers}"),
            *("--push", work / f"push-{workers}", "--beam-runner=flink"),
            *(f"--beam-option={option}" for option in options),
            *(f"--set={setting}" for setting in (*_SETTINGS, f"beam.parallelism={workers}")),
        )
        return [
            {"stage": stage, "workers": workers, **_job(flink, job)}
            for stage, job in zip(_STAGES, flink.jobs(), strict=True)
        ]


def _job(flink: Flink, job: str) -> dict[str, Any]:
    milliseconds = flink.get(f"jobs/{job}")["duration"]
    heavy = [
        {"name": share.stage, "ms": share.milliseconds, "of_workers": share.of_workers}
        for share in flink.shares([job])
        if share.milliseconds >= _LEAST_SHARE * milliseconds and share.records > 1
    ]
    return {"seconds": milliseconds / 1000, "parts": heavy}


def _print(rows: list[dict[str, Any]]) -> None:
    print("| stage | one, s | two, s | times faster | most records of one of two |")
    print("| --- | --- | --- | --- | --- |")
    sums = [0.0, 0.0]
    for stage in _STAGES:
        one, two = (row for row in rows if row["stage"] == stage)
        most = max(
            (max(part["of_workers"]) / sum(part["of_workers"]) for part in two["parts"]), default=0
        )
        sums = [total + row["seconds"] for total, row in zip(sums, (one, two), strict=True)]
        print(_line(stage, one["seconds"], two["seconds"], f"{most:.0%}"))
    print(_line("all", *sums, ""))


def _line(stage: str, one: float, two: float, most: str) -> str:
    return f"| {stage} | {one:.1f} | {two:.1f} | {one / two:.2f} | {most} |"


if __name__ == "__main__":
    main()
