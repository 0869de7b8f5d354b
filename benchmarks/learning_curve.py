"""GAP of a video-level preset against the number of videos that it learns from, with a plot.

    python benchmarks/learning_curve.py --train 'DIR/validate00[0-4]?.tfrecord' \
        --eval 'DIR/validate005?.tfrecord' [--preset video_mlp_small] [--seeds 1] \
        [--videos 1000,2000,4000,8000,14500] [--svg docs/learning_curve.svg]

Each number is rounded to whole shards, the first ones. Every training has as many epochs as the
preset says, more where that were fewer than 100 steps. Each is scored without its index of
neighbours and with it. The last line says what a doubling has brought, from the two largest.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import statistics
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import preset_quality

_STEPS = 100
_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 480, 300, 56, 44, 16
_COLOURS = {"network": "#888888", "with neighbours": "#1f6feb"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", required=True)
    parser.add_argument("--eval", required=True)
    parser.add_argument("--preset", default="video_mlp_small")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--videos", default="1000,2000,4000,8000,14500")
    parser.add_argument("--svg", default="")
    args = parser.parse_args()
    curves: dict[str, list[tuple[int, float]]] = {name: [] for name in _COLOURS}
    with tempfile.TemporaryDirectory(prefix="yt8m-bench-") as scratch:
        patterns = {"train": args.train, "eval": args.eval}
        splits = {name: preset_quality.files_of(pattern) for name, pattern in patterns.items()}
        whole = preset_quality.make_manifest(splits, Path(scratch))
        for wanted in map(int, args.videos.split(",")):
            manifest, videos = first_videos(whole, wanted, Path(scratch) / str(wanted))
            found = [gaps(args, manifest, videos, seed) for seed in range(args.seeds)]
            for name, curve in curves.items():
                curve.append((videos, statistics.mean(one[name] for one in found)))
            told = ", ".join(f"{name} {curve[-1][1]:.4f}" for name, curve in curves.items())
            print(f"{videos} videos: GAP {told}", flush=True)
    for name, curve in curves.items():
        (few, low), (many, high) = curve[-2:]
        doubled = (high - low) / math.log2(many / few)
        print(f"{name}: {doubled:+.4f} for a doubling, from {few} to {many} videos")
    if args.svg:
        Path(args.svg).write_text(plot(curves), encoding="utf-8")


def first_videos(manifest: Path, wanted: int, out: Path) -> tuple[Path, int]:
    """A manifest of the first training shards, and how many videos they have."""
    from yt8m.components.artifacts.manifest import Manifest

    whole = Manifest.from_json(manifest.read_text())
    shards, videos = [s for s in whole.shards if s.split != "train"], 0
    for shard in (s for s in whole.shards if s.split == "train"):
        if videos + shard.records / 2 < wanted:
            shards.append(shard)
            videos += shard.records
    out.mkdir()
    path = out / "manifest.json"
    path.write_text(dataclasses.replace(whole, shards=tuple(shards)).to_json())
    return path, videos


def gaps(args: Any, manifest: Path, videos: int, seed: int) -> dict[str, float]:
    """GAP of one training, exported without and with its index."""
    from yt8m.components.trainer.backends.in_process import run_job

    job = preset_quality.make_job(
        args.preset, [f"trainer.seed={seed}"], manifest, manifest.parent / str(seed)
    )
    trainer = job.trainer
    fewest = _STEPS * trainer.batch_size / videos
    trainer = dataclasses.replace(trainer, num_epochs=max(trainer.num_epochs, fewest))
    found = {}
    for name, retrieval in (("network", None), ("with neighbours", trainer.retrieval)):
        # The second finds the training done, and only exports.
        one = dataclasses.replace(trainer, retrieval=retrieval)
        job = dataclasses.replace(job, trainer=one)
        run_job(job, {})
        found[name] = preset_quality.score(job, args.eval)
    return found


def plot(curves: dict[str, list[tuple[int, float]]]) -> str:
    """The curves over a logarithmic axis of videos, as an SVG document."""
    points = [point for curve in curves.values() for point in curve]
    counts = sorted({videos for videos, _ in points})
    low = math.floor(min(value for _, value in points) * 20) / 20
    high = math.ceil(max(value for _, value in points) * 20) / 20

    def x(videos: float) -> float:
        share = math.log(videos / counts[0]) / math.log(counts[-1] / counts[0])
        return _LEFT + share * (_WIDTH - _LEFT - 24)

    def y(value: float) -> float:
        return _TOP + (high - value) / (high - low) * (_HEIGHT - _BOTTOM - _TOP)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        'font-family="sans-serif" font-size="12">',
        "<title>GAP against the number of training videos</title>",
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
    ]
    for tick in range(round(low * 20), round(high * 20) + 1):
        at = y(tick / 20)
        parts.append(
            f'<path d="M{_LEFT} {at:.1f}H{_WIDTH - 24}" stroke="#dddddd"/>'
            f'<text x="{_LEFT - 6}" y="{at + 4:.1f}" text-anchor="end">{tick / 20:.2f}</text>'
        )
    for count in counts:
        parts.append(
            f'<text x="{x(count):.1f}" y="{_HEIGHT - 26}" text-anchor="middle">{count:,}</text>'
        )
    parts.append(
        f'<text x="{_WIDTH / 2}" y="{_HEIGHT - 8}" text-anchor="middle">training videos</text>'
    )
    for number, (name, curve) in enumerate(curves.items()):
        line = " ".join(f"{x(videos):.1f},{y(value):.1f}" for videos, value in curve)
        colour = _COLOURS[name]
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [
            f'<circle cx="{x(v):.1f}" cy="{y(g):.1f}" r="3" fill="{colour}"/>' for v, g in curve
        ]
        parts.append(
            f'<text x="{_LEFT + 12}" y="{_TOP + 16 + 16 * number}" fill="{colour}">{name}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    main()
