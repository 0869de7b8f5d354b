"""What a worker of many reads a CPU-second, against a training's only process, at each level.

    python benchmarks/input_workers.py [--workers 16,64]
        [--cases video,frame,sampled,buckets,segment,segment_256]

One worker of n is simulated at a time, four of each n, on 60 shards: fewer than the most workers.
An efficiency is the rows that a worker of n gets a CPU-second, of all threads together, over those
of one that is alone: the median of the turns, which alternate, so that what else the machine does
touches both. The start is what a worker pays once, up to its first batch, the index of
all records included; it is no part of the rows' time. The bytes are those that all workers read in
whole epochs, over those that there are. `verdicts.py` says when a goal is missed.
"""

from __future__ import annotations

import argparse
import functools
import math
import os
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from verdicts import Verdict, judged, measured, verdict_of

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

SHARDS = 60
GOALS = {16: 0.9, 64: 0.8}
TURNS = 4


@dataclass(frozen=True, kw_only=True)
class Case:
    """One way to read."""

    level: str
    videos: int
    rows_a_worker: int  # of each batch
    measured_rows: int
    sampled_frames: int = 0
    bucket_batches: int = 1
    most_bytes: float = math.inf  # the goal


CASES = {
    "video": Case(level="video", videos=38_400, rows_a_worker=100, measured_rows=38_400),
    "frame": Case(level="frame", videos=1024, rows_a_worker=4, measured_rows=1024),
    "sampled": Case(
        level="frame", videos=1024, rows_a_worker=4, measured_rows=1024, sampled_frames=30
    ),
    "buckets": Case(
        level="frame", videos=1024, rows_a_worker=4, measured_rows=1024, bucket_batches=4
    ),
    "segment": Case(level="segment", videos=1024, rows_a_worker=16, measured_rows=10_240),
    # The batch of the preset.
    "segment_256": Case(
        level="segment", videos=8192, rows_a_worker=256, measured_rows=40_960, most_bytes=1.05
    ),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--workers", default="16,64")
    parser.add_argument("--cases", default=",".join(CASES))
    args = parser.parse_args()
    counts = [int(text) for text in args.workers.split(",")]
    rows = []
    with tempfile.TemporaryDirectory(prefix="yt8m-benchmark-") as place:
        for name in args.cases.split(","):
            case = CASES[name]
            source = make_source(case, Path(place))
            for count in counts:
                row = measured(functools.partial(measure, case, source, count))
                share = bytes_read(case, source, count)
                most = "" if math.isinf(case.most_bytes) else f", goal at most {case.most_bytes}"
                if share > case.most_bytes:
                    row["verdict"] = Verdict.BELOW.name
                rows.append(row)
                print(
                    f"{name:11} alone {row['alone']:10,.0f} rows a CPU-second; {count:3} workers: "
                    f"efficiency {row['ratio']:.2f}, goal {row['goal']:.2f}, "
                    f"{Verdict[row['verdict']].text}; start {row['start_s']:.2f} s; "
                    f"{share:.3f} of the bytes read{most}",
                    flush=True,
                )
    return verdict_of(rows)


@dataclass(frozen=True)
class Pace:
    """What one worker reaches."""

    rate: float  # rows a CPU-second, after the first epoch
    start_s: float  # CPU-seconds up to the first batch


def measure(case: Case, source: Any, count: int) -> dict[str, Any]:
    """Turns of one that is alone, and of a worker of `count`."""
    turns = [
        (pace(case, source, 1, index=0), pace(case, source, count, index=turn * count // TURNS))
        for turn in range(TURNS)
    ]
    return {
        "alone": statistics.median(alone.rate for alone, _ in turns),
        "start_s": min(worker.start_s for _, worker in turns),
        **judged([worker.rate / alone.rate for alone, worker in turns], GOALS.get(count, 0.0)),
    }


def pace(case: Case, source: Any, workers: int, *, index: int) -> Pace:
    """Worker `index` of so many, over whole epochs after the first."""
    from yt8m.components.inputs.record_index import index_of

    steps = rows_of(source) // (case.rows_a_worker * workers)
    epochs = max(1, round(case.measured_rows / (steps * case.rows_a_worker)))
    index_of.cache_clear()
    began = time.process_time()
    batches = iter(dataset(case, source, workers, index))
    next(batches)
    start_s = time.process_time() - began
    for _ in range(steps - 1):
        next(batches)
    began, rows = time.process_time(), 0
    for _ in range(epochs * steps):
        rows += len(next(batches)["position"])
    return Pace(rows / (time.process_time() - began), start_s)


def rows_of(source: Any) -> int:
    from yt8m.components.inputs.record_index import index_of

    return int(index_of(source).rows_by_shard.sum())


def dataset(case: Case, source: Any, workers: int, index: int) -> Any:
    from yt8m.components.inputs.config import FrameChoice, FrameSampling
    from yt8m.components.inputs.dataset import dataset_for_training

    taken, config = taken_by(case, workers, index)
    frames = case.sampled_frames
    sampling = FrameSampling(choice=FrameChoice.RANDOM_FRAMES, frames=frames) if frames else None
    return dataset_for_training(source, taken, sampling=sampling, config=config)


def taken_by(case: Case, workers: int, index: int) -> Any:
    from yt8m.components.inputs.config import BatchSlice, InputConfig

    taken = BatchSlice(
        global_batch_size=case.rows_a_worker * workers, num_workers=workers, worker_index=index
    )
    buckets = case.bucket_batches
    return taken, InputConfig(prefetch=1, bucket_batches=buckets, bucket_multiple=workers)


def bytes_read(case: Case, source: Any, workers: int) -> float:
    """What the workers read together, over what there is to read.

    In as many whole epochs as whole batches take: within an epoch, a worker may read records of
    which it uses some rows in the next one.
    """
    from yt8m.components.inputs.dataset import create_step_reader

    total, pread = 0, os.pread

    def counted(file: int, size: int, offset: int) -> bytes:
        nonlocal total
        total += size
        return pread(file, size, offset)

    rows = rows_of(source)
    batch = case.rows_a_worker * workers
    steps = math.lcm(rows, batch) // batch
    seen = 0
    with mock.patch.object(os, "pread", counted):
        for index in range(0, workers, max(1, workers // 8)):  # one of eight
            taken, config = taken_by(case, workers, index)
            reader = create_step_reader(source, taken, sampling=None, config=config)
            for step in range(steps):
                seen += len(reader.arrays(step)[0])
    return total / sum(shard.bytes for shard in source.shards) * rows / seen


def make_source(case: Case, place: Path) -> Any:
    """Generated records, once for each level and number."""
    from yt8m.components.artifacts.manifest import Shard
    from yt8m.components.extras.synthetic.generate import generate
    from yt8m.components.extras.synthetic.spec import DatasetSpec
    from yt8m.components.inputs.config import Source
    from yt8m.components.records.shard_reader import count_records
    from yt8m.schemas.features import FeatureConfig, Level

    level, out = Level(case.level), place / f"{case.level}-{case.videos}"
    if not out.exists():
        generate(DatasetSpec(level=level, train=case.videos, eval=8, shards=SHARDS), out)
    shards = tuple(
        Shard(
            uri=str(path),
            split="train",
            records=count_records(str(path))[0],
            bytes=path.stat().st_size,
            digest=path.name,
        )
        for path in sorted(out.glob("train*"))
    )
    return Source(shards=shards, level=level, features=FeatureConfig())


if __name__ == "__main__":
    sys.exit(main())
