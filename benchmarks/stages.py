"""The whole pipeline, stage by stage, against a stock TFX pipeline of the same shape, in one run.

    python benchmarks/stages.py                              video and frame level, all sizes
    python benchmarks/stages.py --level video --sizes 2500 40000 --repeats 1 --json out.json

At video level both train a logistic model of 3,862 classes for 20 steps of 1,024 on the same
shards, four fifths to train and a fifth to evaluate. At frame level the stock side ends with
Transform, which writes every frame as floats: TFX has no trainer for frames to compare with. Each
pipeline has a process of its own, in turn; time runs from the start of TFX's runner, with
everything imported, to its end; memory is the process's peak until the end of that stage. Figures
are medians of the repeats; `verdicts.py` says by their ratios when a goal is missed. Shards are
generated once and linked again for the larger sizes.

All of it takes an hour and a half; the stock side's Transform takes 23 GB at 5,000 frame-level
examples. A side that a machine cannot run at some size is told, and has no figures there.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from verdicts import Verdict, judged, verdict_of

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

CLASSES = 3862
STEPS = 20
BATCH = {"video": 1024, "frame": 128}
SIZES = {"video": (2_500, 40_000, 400_000), "frame": (500, 2_000, 5_000)}
PRESETS = {"video": "video_logistic", "frame": "frame_logistic"}
NEEDED = {("video", 40_000): 6.0, ("video", 400_000): 15.0}  # times as fast as stock, whole
MOST_MIB = 1.5 * 1024
_PER_SHARD = {"video": 500, "frame": 50}  # generated once; larger sets are made of links to these
_GENERATED = {"video": 20_000, "frame": 1_000}
_EVAL_SHARE = 5
SIDES = ("ours", "stock")
ALL = "all"
_SAME = {"ImportExampleGen": "ExampleGen", "ImportSchemaGen": "SchemaGen"}
Figures = dict[str, dict[str, float]]  # of each stage: seconds, cpu_seconds, peak_mib


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--level", choices=sorted(SIZES), help="only this one")
    parser.add_argument("--sizes", type=int, nargs="+")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        side, level, data, root = args.measure
        print(json.dumps(measure(side, level, Path(data), Path(root))))
        return 0
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="yt8m-benchmark-") as place:
        for level in [args.level] if args.level else list(SIZES):
            sizes = args.sizes or SIZES[level]
            rows += compare(Path(place) / level, level, sizes, args.repeats)
            if args.json:  # after each level: the next one takes long
                args.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        print(" ".join(f"{name} {value}" for name, value in row.items()))
    return verdict_of(rows) if rows else Verdict.BELOW


def compare(place: Path, level: str, sizes: Sequence[int], repeats: int) -> list[dict[str, Any]]:
    """A row for each stage and size: both sides' figures, and how many times as fast ours is."""
    turns = {
        (side, size): figures
        for size in sizes
        for side, figures in by_turns(place, level, size, repeats).items()
    }
    found: dict[tuple[str, int], Figures] = {of: medians(figures) for of, figures in turns.items()}
    rows = []
    for stage in dict.fromkeys(stage for size in sizes for stage in found["ours", size]):
        for size in sizes:
            row: dict[str, Any] = {"level": level, "stage": stage, "examples": size}
            for side in SIDES:
                if stage in found[side, size] and (side, level, stage) != ("stock", "frame", ALL):
                    row |= {f"{side}_{k}": v for k, v in found[side, size][stage].items()}
                    measured = [n for n in sizes if stage in found[side, n]]
                    by_size = [(n, found[side, n][stage]["cpu_seconds"]) for n in measured]
                    row |= {f"{side}_{k}": v for k, v in growth(by_size).items()}
            if "ours_seconds" in row and "stock_seconds" in row:
                row["times_faster"] = round(
                    row["stock_seconds"] / max(row["ours_seconds"], 0.01), 2
                )
            both = zip(*(turns[side, size] for side in SIDES), strict=False)
            ratios = [stock[ALL]["seconds"] / ours[ALL]["seconds"] for ours, stock in both]
            rows.append({**row, "verdict": verdict_on(row, ratios).name})
    return rows


def by_turns(place: Path, level: str, size: int, repeats: int) -> dict[str, list[Figures]]:
    """Every turn of each side, one after the other; none of a side that cannot run."""
    data = prepare(place, level, size)
    turns: dict[str, list[Figures]] = {side: [] for side in SIDES}
    for turn in range(repeats):
        for side in [side for side in SIDES if len(turns[side]) == turn]:
            try:
                turns[side].append(in_own_process(side, level, data, place / "root"))
            except subprocess.CalledProcessError as error:  # killed for its memory, say
                print(f"{level} {size} {side}: none, {error}", file=sys.stderr, flush=True)
                turns[side] = []
                continue
            print(f"{level} {size} {side}: {turns[side][-1][ALL]}", file=sys.stderr, flush=True)
    return turns


def growth(by_size: list[tuple[int, float]]) -> dict[str, float]:
    """From the smallest size to the largest: what one example more costs, and the exponent."""
    (small, before), (large, after) = by_size[0], by_size[-1]
    if small == large or min(before, after) <= 0:
        return {}
    return {
        "cpu_us_an_example": round((after - before) / (large - small) * 1e6, 1),
        "exponent": round(math.log(after / before) / math.log(large / small), 2),
    }


def verdict_on(row: dict[str, Any], ratios: Sequence[float]) -> Verdict:
    """By the memory of each stage; the whole also by how many times as fast as stock it is."""
    if row.get("ours_peak_mib", math.inf) > MOST_MIB:  # or it could not run at all
        return Verdict.BELOW
    needed = NEEDED.get((row["level"], row["examples"]), 0.0)
    if row["stage"] != ALL or not (needed and ratios):
        return Verdict.REACHED
    return Verdict[judged(ratios, needed)["verdict"]]


def prepare(place: Path, level: str, size: int) -> Path:
    """`size` examples in shards of a few, a fifth of them to evaluate."""
    from yt8m.components.extras.synthetic.generate import generate
    from yt8m.components.extras.synthetic.spec import DatasetSpec
    from yt8m.schemas.features import Level

    count = min(size, _GENERATED[level])
    train = count * (_EVAL_SHARE - 1) // _EVAL_SHARE
    source, data = place / f"source-{count}", place / f"data-{size}"
    if not source.exists():
        shards = max(train // _PER_SHARD[level], 1)
        spec = DatasetSpec(
            level=Level(level), train=train, eval=count - train, classes=CLASSES, shards=shards
        )
        generate(spec, source)
    data.mkdir()
    for name in ("train", "validate"):
        files = sorted(source.glob(f"{name}*.tfrecord"))
        for copy in range(size // count):
            for number, file in enumerate(files):
                (data / f"{name}-{copy:03}-{number:03}.tfrecord").hardlink_to(file)
    return data


def in_own_process(side: str, level: str, data: Path, root: Path) -> Figures:
    with tempfile.TemporaryDirectory(prefix="root-", dir=root.parent) as own_root:
        command = [sys.executable, "-W", "ignore", __file__]
        command += ["--measure", side, level, str(data), own_root]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures: Figures = json.loads(done.stdout.splitlines()[-1])
    return figures


def medians(turns: Sequence[Figures]) -> Figures:
    if not turns:
        return {}
    return {
        stage: {
            name: round(statistics.median(turn[stage][name] for turn in turns), 2)
            for name in turns[0][stage]
        }
        for stage in turns[0]
    }


def measure(side: str, level: str, data: Path, root: Path) -> Figures:
    """One pipeline, from the start of its runner; this process does nothing else."""
    from yt8m.pipeline.run.engine import run_pipeline  # loads TFX
    from yt8m.pipeline.run.progress import reset_peak

    pipeline = (_ours if side == "ours" else _stock)(level, data, root)
    watch = _Watch()
    reset_peak()
    run_pipeline(pipeline, run_id="benchmark", engine="beam", observer=watch)
    return watch.figures()


def _ours(level: str, data: Path, root: Path) -> Any:
    import dataclasses

    import yt8m.components.trainer.loop.training  # noqa: F401  (imported before the clock starts)
    from yt8m.pipeline.cache_keys import resolve_external_inputs
    from yt8m.pipeline.config import MetadataConfig
    from yt8m.pipeline.graph import create_pipeline
    from yt8m.pipeline.metadata import connection_config
    from yt8m.pipeline.presets import load_config
    from yt8m.pipeline.workspace import Layout

    settings = {
        "root": str(root),
        "data.root": str(data),
        "pusher.push_dir": str(root / "push"),
        "trainer.max_steps": STEPS,
        "trainer.evaluation.enabled": False,  # as on the other side: the Evaluator judges
        "trainer.num_epochs": None,
        "trainer.batch_size": BATCH[level],
        "gate.gap_threshold": 0.001,
        "gate.gap_change_threshold": None,
        "features.num_classes": CLASSES,
        "validation.label_skew": None,  # the same records many times over are no sample
    }
    texts = [f"{path}={json.dumps(value)}" for path, value in settings.items()]
    config = load_config(PRESETS[level], texts)
    outside = dataclasses.replace(resolve_external_inputs(config, Layout(root)), run_file="")
    pipeline = create_pipeline(config, outside)
    pipeline.metadata_connection_config = connection_config(MetadataConfig(), Layout(root).database)
    return pipeline


def _stock(level: str, data: Path, root: Path) -> Any:
    from stock_pipeline import create_stock_pipeline

    return create_stock_pipeline(
        data, root, level=level, classes=CLASSES, steps=STEPS, batch=BATCH[level]
    )


class _Watch:
    """Notes what each component took."""

    def __init__(self) -> None:
        self._begin = self._now()
        self._started: dict[str, tuple[float, float]] = {}
        self._figures: Figures = {}

    def started(self, node: str) -> None:
        self._started[node] = self._now()

    def finished(self, node: str, *, execution_id: int, cached: bool) -> None:
        self._figures[_SAME.get(node, node)] = self._since(self._started[node])

    def failed(self, node: str, error: BaseException) -> None:
        print(f"{node} failed: {error}", file=sys.stderr)

    def figures(self) -> Figures:
        return {**self._figures, ALL: self._since(self._begin)}

    def _now(self) -> tuple[float, float]:
        from yt8m.pipeline.run.progress import cpu_seconds

        return time.monotonic(), cpu_seconds()

    def _since(self, before: tuple[float, float]) -> dict[str, float]:
        from yt8m.pipeline.run.progress import peak_mib

        seconds, cpu = (now - then for now, then in zip(self._now(), before, strict=True))
        return {
            "seconds": round(seconds, 2),
            "cpu_seconds": round(cpu, 2),
            "peak_mib": round(peak_mib()),
        }


if __name__ == "__main__":
    sys.exit(main())
