"""MAP of rated segments by a model that was trained on whole videos, in the ways of 2019's winners.

    python benchmarks/segments.py [--seeds 5] [--videos 1500] [--rated 500] [--model dbof]

Videos are generated, with classes that show in short bursts. A model is trained on whole videos
with their labels, then scores the rated segments of other videos: their frames alone, times the
score of the whole video, the mean of both. Last it is fine-tuned on rated segments of a third set,
and scores the same segments, alone and with the first model as its context.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

SIZES = {"rgb": 64, "audio": 16}
CLASSES = 40
FRAMES = {"min_frames": 100, "max_frames": 120}
MODELS = {
    "dbof": {"name": "dbof", "clusters": 256, "hidden": 64, "frames": 60},
    "netvlad": {"name": "netvlad", "clusters": 8, "hidden": 64},
}
# Values of TrainerConfig; a fine-tuning has a tenth of the rate.
TRAINED = {
    "batch_size": 32,
    "num_epochs": 10.0,
    "precision": "fp32",
    "optimizer": {"name": "adam", "learning_rate": 0.003},
    "evaluation": {"enabled": False},
    "log": {"tensorboard": False},
}
TUNED = {"num_epochs": 5.0, "optimizer": {"name": "adam", "learning_rate": 0.0003}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--videos", type=int, default=1500)
    parser.add_argument("--rated", type=int, default=500)
    parser.add_argument("--model", choices=MODELS, default="dbof")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="yt8m-bench-") as scratch:
        data = make_data(Path(scratch), videos=args.videos, rated=args.rated)
        found: dict[str, list[float]] = {}
        for seed in range(args.seeds):
            scores = map_by_way(data, Path(scratch) / str(seed), MODELS[args.model], seed=seed)
            for way, value in scores.items():
                found.setdefault(way, []).append(value)
            told = ", ".join(f"{way} {value:.4f}" for way, value in scores.items())
            print(f"seed {seed}: {told}", flush=True)
    for way, values in found.items():
        spread = statistics.stdev(values) if len(values) > 1 else 0.0
        print(f"{way}: MAP {statistics.mean(values):.4f}, standard deviation {spread:.4f}")


def make_data(scratch: Path, *, videos: int, rated: int) -> dict[str, Path]:
    """Whole videos, and videos with rated segments, which share no video."""
    from yt8m.components.extras.synthetic.generate import generate
    from yt8m.components.extras.synthetic.spec import DatasetSpec
    from yt8m.schemas.features import Level

    common: dict[str, Any] = {"classes": CLASSES, "sizes": SIZES, "temporal": True, **FRAMES}
    frames = DatasetSpec(level=Level.FRAME, train=videos, **common)
    # Of the same split and seed the videos would be the same ones: rated are those of `eval`.
    segments = DatasetSpec(level=Level.SEGMENT, eval=2 * rated, shards=2, **common)
    return {
        "frames": generate(frames, scratch / "frames").out,
        "segments": generate(segments, scratch / "segments").out,
    }


def map_by_way(
    data: dict[str, Path], out: Path, model: dict[str, Any], *, seed: int
) -> dict[str, float]:
    """MAP of the rated segments that neither training has seen, by how they are scored."""
    own, tune = {**TRAINED, "seed": seed, "model": model}, {**TRAINED, **TUNED, "seed": seed}
    frames = train(data["frames"] / "train*", out / "frames", "frame", own)
    start = {**tune, "model": model, "warm_start": frames}
    rated = data["segments"] / "validate0000.tfrecord"
    tuned = train(rated, out / "tuned", "segment", start)
    others = str(data["segments"] / "validate0001.tfrecord")
    return {
        "windows alone": score(frames, others, "window"),
        "times the whole video": score(frames, others, "product"),
        "mean of both": score(frames, others, "mean"),
        "fine-tuned": score(tuned, others, "window"),
        "fine-tuned, times the whole video": score(tuned, others, "product", context=frames),
    }


def train(pattern: Path, out: Path, level: str, trainer: dict[str, Any]) -> str:
    """The export of a model that was trained on the records that match."""
    from preset_quality import files_of, make_manifest

    from yt8m.components.trainer.backends.in_process import run_job
    from yt8m.components.trainer.config import TrainerConfig
    from yt8m.components.trainer.job import TrainingJob
    from yt8m.schemas.config_tree import from_dict
    from yt8m.schemas.features import FeatureConfig, Level

    out.mkdir(parents=True)
    job = TrainingJob(
        manifest=str(make_manifest({"train": files_of(str(pattern))}, out, level)),
        checkpoint_dir=str(out / "checkpoints"),
        log_dir=str(out / "logs"),
        export_dir=str(out / "export"),
        level=Level(level),
        features=FeatureConfig(sizes=tuple(SIZES.values()), num_classes=CLASSES),
        trainer=from_dict(TrainerConfig, trainer),
    )
    run_job(job, {})
    return job.export_dir


def score(model: str, records: str, segments: str, *, context: str = "") -> float:
    """MAP of the rated segments."""
    from yt8m.components.console.console import Console
    from yt8m.components.evaluator.model_evaluation import evaluate_files, evaluator_config
    from yt8m.schemas.features import SegmentScoring

    how = SegmentScoring(segments)
    quiet = Console(quiet=True)
    config = evaluator_config(top_k=20, intervals=False, segments=how, context=context)
    found = evaluate_files(model, [records], quiet, config=config)
    value = found.overall.candidate["map"].value
    assert value is not None
    return value


if __name__ == "__main__":
    main()
