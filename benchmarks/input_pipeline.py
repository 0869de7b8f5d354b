"""How fast batches are read, against the bare reading of the same files in the same run.

    python benchmarks/input_pipeline.py                      both levels, on generated records
    python benchmarks/input_pipeline.py --data 'DIR/*.tfrecord'   video level, on those

Rates are per CPU-second of all threads together, medians of several turns that take place one
after another in one process, so that what else the machine does touches all of them alike.
`verdicts.py` says when a goal is missed.
"""

from __future__ import annotations

import argparse
import functools
import glob
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from verdicts import judged, measured, verdict_of

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

GOALS = {"video": 0.75, "frame": 0.6}  # of the raw read of the same run, for training
VIDEOS = {"video": 20_000, "frame": 1_000}
BATCH = {"video": 1024, "frame": 128}
TURNS = 4
EPOCHS = 4  # of a training, which never ends and reads ahead of what is taken from it


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", help="video-level shards to read instead of generated ones")
    parser.add_argument("--level", choices=sorted(GOALS), help="only this one")
    args = parser.parse_args()
    levels = [args.level] if args.level else ["video"] if args.data else list(GOALS)
    result = {}
    with tempfile.TemporaryDirectory(prefix="yt8m-benchmark-") as place:
        for level in levels:
            paths = sorted(glob.glob(args.data)) if args.data else generate(level, Path(place))
            result[level] = measured(functools.partial(measure, level, paths))
    print(json.dumps(result, indent=1))
    return verdict_of(result.values())


def generate(level: str, place: Path) -> list[str]:
    from yt8m.components.extras.synthetic.generate import generate as write
    from yt8m.components.extras.synthetic.spec import DatasetSpec
    from yt8m.schemas.features import Level

    print(f"generating {VIDEOS[level]} videos of level {level}", file=sys.stderr)
    out = place / level
    write(DatasetSpec(level=Level(level), train=VIDEOS[level], shards=20), out)
    return sorted(str(path) for path in out.glob("train*"))


def measure(level: str, paths: list[str]) -> dict[str, Any]:
    import tensorflow as tf

    from yt8m.components.inputs.config import BatchSlice, FrameChoice, FrameSampling
    from yt8m.components.inputs.dataset import dataset_for_scoring, dataset_for_training

    source = source_of_paths(level, paths)
    rows = sum(shard.records for shard in source.shards)
    batch = BATCH[level]
    steps = max(1, rows // batch)
    taken = BatchSlice(global_batch_size=batch)
    raw = tf.data.TFRecordDataset(paths, buffer_size=8 << 20).batch(batch)
    variants = {
        "raw read": (raw, steps),
        "training": (dataset_for_training(source, taken), EPOCHS * steps),
        "scoring": (dataset_for_scoring(source, batch_size=batch), steps),
    }
    if level == "frame":
        sampling = FrameSampling(choice=FrameChoice.RANDOM_FRAMES, frames=30)
        sampled = dataset_for_training(source, taken, sampling=sampling)
        variants["training, 30 random frames"] = (sampled, EPOCHS * steps)
        # In a place of its own, packed before the turns as a first epoch does it.
        tempfile.tempdir = tempfile.mkdtemp(dir=Path(paths[0]).parent)
        cached = dataset_for_training(source, taken, sampling=sampling, cache=True)
        packing = cpu_seconds(functools.partial(drain, cached.take(steps + 1)))
        variants["training, 30 random frames, packed"] = (cached, EPOCHS * steps)
        averaged = replace(source, averaged=True)
        for name, read in {"packed": source, "means": averaged}.items():
            cached = dataset_for_training(read, taken, cache=True)
            variants[f"training, {name}"] = (cached, EPOCHS * steps)
        unpacked = dataset_for_training(averaged, taken)
        variants["training, means from records"] = (unpacked, EPOCHS * steps)
    turns: dict[str, list[float]] = {name: [] for name in variants}
    for _ in range(TURNS):
        for name, (dataset, batches) in variants.items():
            seconds = cpu_seconds(functools.partial(drain, dataset.take(batches)))
            turns[name].append(batches * batch / seconds)
    rates = {name: statistics.median(found) for name, found in turns.items()}
    both = zip(turns["training"], turns["raw read"], strict=True)
    if level == "frame":
        rates["training, 30 random frames, while packing"] = (steps + 1) * batch / packing
    return {
        "videos per CPU-second": {name: round(rate) for name, rate in rates.items()},
        "share of raw read": {
            name: round(rate / rates["raw read"], 3) for name, rate in rates.items()
        },
        **judged([training / raw for training, raw in both], GOALS[level]),
    }


def source_of_paths(level: str, paths: list[str]):  # type: ignore[no-untyped-def]
    from yt8m.components.artifacts.manifest import Shard
    from yt8m.components.inputs.config import Source
    from yt8m.components.records.shard_reader import count_records
    from yt8m.schemas.features import FeatureConfig, Level

    shards = tuple(
        Shard(
            uri=path,
            split="train",
            records=count_records(path)[0],
            bytes=Path(path).stat().st_size,
            digest=path,
        )
        for path in paths
    )
    return Source(shards=shards, level=Level(level), features=FeatureConfig())


def drain(dataset: Any) -> None:
    for _ in dataset:
        pass


def cpu_seconds(work: Callable[[], None]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


if __name__ == "__main__":
    sys.exit(main())
