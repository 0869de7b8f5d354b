"""The whole pipeline against a stock TFX pipeline of the same shape, in one run.

    python benchmarks/pipeline.py                    40,000 and 400,000 examples
    python benchmarks/pipeline.py --sizes 40000

Both train a logistic model of 3,862 classes for 20 steps of 1,024 on the same shards, four fifths
to train and a fifth to evaluate. Each pipeline has a process of its own, in turn; time runs from
the start of TFX's runner, with everything imported, to its end; memory is the process's peak.
The shards are generated once and linked again and again for the larger size.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
HERE = Path(__file__).parent

CLASSES = 3862
STEPS, BATCH = 20, 1024
SIZES = (40_000, 400_000)
NEEDED = {40_000: 2.5, 400_000: 6.0}
MOST_MIB = 3 * 1024
_PER_SHARD = 2_000  # generated once; larger sets are made of links to these
_GENERATED = 20_000
_EVAL_SHARE = 5
SIDES = ("ours", "stock")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--measure", nargs=3, metavar=("SIDE", "DATA", "ROOT"))
    args = parser.parse_args()
    if args.measure:
        side, data, root = args.measure
        print(json.dumps(measure(side, Path(data), Path(root))))
        return 0
    with tempfile.TemporaryDirectory(prefix="yt8m-benchmark-") as place:
        results = [compare(Path(place), size) for size in args.sizes]
    print(json.dumps(results, indent=1))
    return 0 if all(result["good_enough"] for result in results) else 1


def compare(place: Path, size: int) -> dict[str, object]:
    """Both sides on `size` examples."""
    data = prepare(place, size)
    found: dict[str, dict[str, float]] = {}
    for side in SIDES:
        root = place / f"{side}-{size}"
        command = [sys.executable, "-W", "ignore", __file__]
        command += ["--measure", side, str(data), str(root)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        found[side] = json.loads(done.stdout.splitlines()[-1])
        print(f"{size} {side}: {found[side]}", file=sys.stderr, flush=True)
    ratio = found["stock"]["seconds"] / found["ours"]["seconds"]
    memory = found["ours"]["peak_mib"]
    return {
        "examples": size,
        **found,
        "times_faster": round(ratio, 2),
        "good_enough": ratio >= NEEDED.get(size, 1.0) and memory <= MOST_MIB,
    }


def prepare(place: Path, size: int) -> Path:
    """`size` examples in shards of `_PER_SHARD`, a fifth of them to evaluate."""
    from yt8m.components.synthetic.generate import generate
    from yt8m.components.synthetic.spec import DatasetSpec

    source = place / "source"
    count = min(size, _GENERATED)
    train = count * (_EVAL_SHARE - 1) // _EVAL_SHARE
    if not source.exists():
        shards = max(train // _PER_SHARD, 1)
        generate(
            DatasetSpec(train=train, eval=count - train, classes=CLASSES, shards=shards), source
        )
    data = place / f"data-{size}"
    data.mkdir()
    for name in ("train", "validate"):
        files = sorted(source.glob(f"{name}*.tfrecord"))
        for copy in range(size // count):
            for number, file in enumerate(files):
                (data / f"{name}-{copy:03}-{number:03}.tfrecord").hardlink_to(file)
    return data


def measure(side: str, data: Path, root: Path) -> dict[str, float]:
    """One pipeline, from the start of its runner; this process does nothing else."""
    from yt8m.pipeline.run.engine import Engine, run_pipeline  # loads TFX
    from yt8m.pipeline.run.progress import peak_mib, reset_peak

    pipeline = _ours(data, root) if side == "ours" else _stock(data, root)
    watch = _Watch()
    reset_peak()
    run_pipeline(pipeline, run_id="benchmark", engine=Engine.BEAM, observer=watch)
    return {**watch.times(), "peak_mib": round(peak_mib())}


def _ours(data: Path, root: Path) -> object:
    import dataclasses

    import yt8m.components.trainer.training  # noqa: F401  (imported before the clock starts)
    from yt8m.pipeline.config import MetadataConfig
    from yt8m.pipeline.graph import create_pipeline
    from yt8m.pipeline.metadata import connection_config
    from yt8m.pipeline.presets import load_config
    from yt8m.pipeline.run.cache_keys import resolve_external_inputs
    from yt8m.pipeline.run.workspace import Layout

    settings = {
        "root": str(root),
        "data.root": str(data),
        "pusher.push_dir": str(root / "push"),
        "trainer.max_steps": STEPS,
        "trainer.num_epochs": None,
        "trainer.batch_size": BATCH,
        "gate.gap_threshold": 0.0,
        "gate.gap_change_threshold": None,
        "features.num_classes": CLASSES,
        "validation.label_skew": None,  # the same records many times over are no sample
    }
    texts = [f"{path}={json.dumps(value)}" for path, value in settings.items()]
    config = load_config("video_logistic", texts)
    root.mkdir(parents=True)
    outside = dataclasses.replace(resolve_external_inputs(config, Layout(root)), run_file="")
    pipeline = create_pipeline(config, outside)
    pipeline.metadata_connection_config = connection_config(MetadataConfig(), Layout(root).database)
    return pipeline


def _stock(data: Path, root: Path) -> object:
    from stock_pipeline import create_stock_pipeline

    return create_stock_pipeline(data, root, classes=CLASSES, steps=STEPS, batch=BATCH)


class _Watch:
    """Notes how long each component took."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._started: dict[str, float] = {}
        self._seconds: dict[str, float] = {}

    def started(self, node: str) -> None:
        self._started[node] = time.monotonic()

    def finished(self, node: str, *, execution_id: int, cached: bool) -> None:
        self._seconds[node] = round(time.monotonic() - self._started[node], 1)

    def failed(self, node: str, error: BaseException) -> None:
        print(f"{node} failed: {error}", file=sys.stderr)

    def times(self) -> dict[str, float]:
        total = time.monotonic() - self._begin
        return {"seconds": round(total, 1), **self._seconds}


if __name__ == "__main__":
    sys.exit(main())
