"""GAP of a video-level preset against the seconds that its training takes, over several seeds.

    python benchmarks/preset_quality.py --train 'DIR/validate00[0-4]?.tfrecord' \
        --eval 'DIR/validate005?.tfrecord' [--preset video_mlp] [--seeds 3] [--set a.b=value ...]
        [--precision bf16,fp32]

The preset's own trainer reads the records that the patterns match; what is scored is what it
exports, in float32. Seconds are those of training itself, from the first step's start to the last
step's end, compilation included; without imports, scoring and export. Several precisions train from
the same seeds on the same batches, and their GAPs are compared seed by seed.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--train", required=True)
    parser.add_argument("--eval", required=True)
    parser.add_argument("--preset", default="video_mlp")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--precision", default="")
    args = parser.parse_args()
    from yt8m.components.trainer.backends.in_process import run_job

    with tempfile.TemporaryDirectory(prefix="yt8m-bench-") as scratch:
        splits = {"train": files_of(args.train), "eval": files_of(args.eval)}
        manifest = make_manifest(splits, Path(scratch))
        precisions = args.precision.split(",")
        gaps: dict[str, list[float]] = {precision: [] for precision in precisions}
        seconds: dict[str, list[float]] = {precision: [] for precision in precisions}
        for seed in range(args.seeds):
            for precision in precisions:
                settings = [*args.set, f"trainer.seed={seed}"]
                settings += [f"trainer.precision={precision}"] if precision else []
                out = Path(scratch) / f"{seed}{precision}"
                job = make_job(args.preset, settings, manifest, out)
                run_job(job, {})
                gaps[precision].append(score(job, args.eval))
                seconds[precision].append(training_seconds(job))
                told = f"GAP {gaps[precision][-1]:.4f} in {seconds[precision][-1]:.1f} s"
                print(f"seed {seed}{precision and f', {precision}'}: {told}", flush=True)
    for precision in precisions:
        gap, time = statistics.mean(gaps[precision]), statistics.mean(seconds[precision])
        spread = statistics.stdev(gaps[precision]) if args.seeds > 1 else 0.0
        print(
            f"mean of {args.seeds}{precision and f', {precision}'}: GAP {gap:.4f}, "
            f"standard deviation {spread:.4f}, in {time:.1f} s"
        )
    for precision in precisions[1:]:
        pairs = zip(gaps[precisions[0]], gaps[precision], strict=True)
        differences = ", ".join(f"{first - second:+.4f}" for first, second in pairs)
        print(f"{precisions[0]} less {precision}, seed by seed: {differences}")


def files_of(pattern: str) -> list[Path]:
    """The files that a pattern matches, by name."""
    directory, _, name = pattern.rpartition("/")
    return sorted(Path(directory).glob(name))


def make_manifest(splits: dict[str, list[Path]], scratch: Path, level: str = "video") -> Path:
    """A manifest of the splits' files, whole as they are."""
    from yt8m.components.artifacts.manifest import Manifest, Shard
    from yt8m.components.records.shard_reader import count_records
    from yt8m.schemas.features import Level

    shards = []
    for split, files in splits.items():
        for file in files:
            records, _, fault = count_records(str(file))
            if fault:
                raise SystemExit(f"{file}: {fault}")
            size, digest = file.stat().st_size, file.name
            shards.append(
                Shard(uri=str(file), split=split, records=records, bytes=size, digest=digest)
            )
    path = scratch / "manifest.json"
    path.write_text(Manifest(level=Level(level), shards=tuple(shards)).to_json())
    return path


def make_job(preset: str, settings: list[str], manifest: Path, out: Path) -> Any:
    """The training that the preset describes, on these records."""
    from yt8m.components.trainer.job import TrainingJob
    from yt8m.pipeline.presets import load_config

    config = load_config(preset, ["trainer.evaluation.enabled=false", *settings])
    return TrainingJob(
        manifest=str(manifest),
        checkpoint_dir=str(out / "checkpoints"),
        log_dir=str(out / "logs"),
        export_dir=str(out / "export"),
        features=config.features,
        trainer=config.trainer,
    )


def score(job: Any, pattern: str) -> float:
    """GAP of what the training has exported, as `yt8m evaluate` finds it."""
    from yt8m import evaluate

    gap = evaluate(job.export_dir, pattern)["gap"]
    if gap is None:
        raise SystemExit(f"{pattern} has no label, so there is no GAP")
    return gap


def training_seconds(job: Any) -> float:
    from yt8m.components.artifacts.training_curve import TRAINING, read_curve

    rows = [r for r in read_curve(f"{job.log_dir}/{TRAINING}") if r["kind"] == "train"]
    return float(rows[-1]["seconds"])


if __name__ == "__main__":
    main()
