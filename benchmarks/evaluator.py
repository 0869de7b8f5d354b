"""Our Evaluator against TFX's own with the same metric, on the same records and model.

    python benchmarks/evaluator.py                 marginal cost, equal values, memory
    python benchmarks/evaluator.py --skip-memory   (or --skip-cost, --skip-share; --turns 1)
    python benchmarks/evaluator.py --steps         where a video's processor time goes

Marginal cost: both evaluate a small and a large set in one process, in turns and several times, and
what the additional examples took is divided by their number, so start-up counts for neither; the
medians are compared. Memory: our Evaluator on
40,000 and on 400,000 videos, each in a process of its own; the difference of their peaks, divided
by the additional videos, is what a video takes. Share: the processor time of the model's product
alone, divided by that of scoring the same videos, reading and metrics included.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from verdicts import Verdict, judged, measured, verdict_of

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests" / "support"))  # the builders that the tests use

CLASSES = 3862
SMALL, LARGE, SHARDS = 4_000, 40_000, 10
TIMES_MORE = 10
GOAL, GOAL_CPU = 6.0, 4.5  # times cheaper than TFX's, by the clock and of a processor
GOAL_SHARE, SHARE_TURNS = 0.65, 7
METRICS = ("gap", "map", "perr", "hit_at_1")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--skip-memory", action="store_true")
    parser.add_argument("--skip-cost", action="store_true")
    parser.add_argument("--skip-share", action="store_true")
    parser.add_argument("--turns", type=int, default=3, metavar="N", help="of marginal cost (3)")
    parser.add_argument("--steps", action="store_true", help="where a video's time goes, alone")
    parser.add_argument("--measure", nargs=2, metavar=("DIR", "TIMES"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure_memory(Path(args.measure[0]), int(args.measure[1]))))
        return 0
    with tempfile.TemporaryDirectory(prefix="yt8m-benchmark-") as place:
        root = Path(place)
        prepare(root)
        if args.steps:
            print(json.dumps({"cpu_microseconds_a_video": steps_of(root)}, indent=1))
            return 0
        result: dict[str, Any] = {}
        if not args.skip_cost:
            result = measured(functools.partial(compare, root, args.turns))
        if not args.skip_share:
            result["product_share"] = measured(functools.partial(product_share, root))
        if not args.skip_memory:
            result |= compare_memory(root)
    print(json.dumps(result, indent=1))
    if not result.get("equal", True) or result.get("bytes_a_video", 0) > 300:
        return Verdict.BELOW
    rows = (result, result.get("product_share", {}))
    return verdict_of(row for row in rows if "verdict" in row)


def prepare(root: Path) -> None:
    """Records of both sizes and a linear model with random weights."""
    import numpy as np
    import tensorflow as tf

    from yt8m.components.extras.synthetic.generate import generate
    from yt8m.components.extras.synthetic.spec import DatasetSpec

    generate(DatasetSpec(eval=LARGE, classes=CLASSES, shards=SHARDS), root / "data")
    weights = np.random.default_rng(0).normal(0, 1.0, (1152, CLASSES)).astype(np.float32)
    model = create_model(weights)
    tf.saved_model.save(
        model, str(root / "model" / "Format-Serving"), signatures={"scores": model.scores}
    )


def create_model(weights):  # type: ignore[no-untyped-def]
    import tensorflow as tf

    class Linear(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weights = tf.Variable(weights)

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string, name="examples")])
        def scores(self, examples):  # type: ignore[no-untyped-def]
            spec = {
                "id": tf.io.FixedLenFeature([], tf.string),
                "mean_rgb": tf.io.FixedLenFeature([1024], tf.float32),
                "mean_audio": tf.io.FixedLenFeature([128], tf.float32),
            }
            parsed = tf.io.parse_example(examples, spec)
            features = tf.concat([parsed["mean_rgb"], parsed["mean_audio"]], axis=1)
            logits = tf.math.l2_normalize(features, axis=1) @ self.weights
            return {"scores": tf.sigmoid(logits - 3.0), "video_id": parsed["id"]}

    return Linear()


def compare(root: Path, turns: int) -> dict[str, object]:
    """Seconds of both evaluators for both sizes, and their values."""
    shards = sorted((root / "data").glob("validate*.tfrecord"))
    few = shards[: SHARDS * SMALL // LARGE]
    runs = {"ours": ours, "stock": stock}
    seconds = {}
    values = {}
    # The manifest, which ExampleGen writes, is no part of the Evaluator's work.
    given = {
        "ours": {SMALL: examples_of(root / "few", few), LARGE: examples_of(root / "all", shards)},
        "stock": {SMALL: few, LARGE: shards},
    }
    for name, run in runs.items():
        run(root, given[name][SMALL], f"{name}-warm")
    marginal: dict[str, list[tuple[float, ...]]] = {name: [] for name in runs}
    for turn in range(turns):
        for name, run in runs.items():
            for size, chosen in given[name].items():
                wall, cpu = time.perf_counter(), time.process_time()
                values[name] = run(root, chosen, f"{name}-{size}-{turn}")
                seconds[size] = (time.perf_counter() - wall, time.process_time() - cpu)
            both = zip(seconds[SMALL], seconds[LARGE], strict=True)
            marginal[name].append(
                tuple((large - small) / (LARGE - SMALL) * 1e3 for small, large in both)
            )
    median = {
        name: dict(
            zip(("wall", "cpu"), map(statistics.median, zip(*of_turns, strict=True)), strict=True)
        )
        for name, of_turns in marginal.items()
    }
    turns_of_both = zip(marginal["stock"], marginal["ours"], strict=True)
    by_turn = [[s / o for s, o in zip(*both, strict=True)] for both in turns_of_both]
    walls, cpus = zip(*by_turn, strict=True)
    by_clock, of_processor = judged(walls, GOAL), judged(cpus, GOAL_CPU)
    return {
        "ours_ms_an_example": median["ours"],
        "stock_ms_an_example": median["stock"],
        "times_cheaper": by_clock,
        "times_cheaper_cpu": of_processor,
        "verdict": verdict_of([by_clock, of_processor]).name,
        "values": values,
        "equal": all(abs(values["ours"][m] - values["stock"][m]) < 1e-9 for m in METRICS),
    }


def product_share(root: Path) -> dict[str, Any]:
    """Turns of the model's product alone, and of a whole pass over the same videos."""
    import tensorflow as tf
    from records import shard_of

    scorer = create_scorer(root)
    paths = sorted((root / "data").glob("validate*.tfrecord"))
    shards = [shard_of(path, "eval") for path in paths]
    inputs, weights = operands(scorer.plan.records_at_once)
    batches = LARGE // len(inputs)
    seconds: list[tuple[float, float]] = []
    for _ in range(SHARE_TURNS + 1):
        begun = time.process_time()
        for _ in range(batches):
            tf.matmul(inputs, weights)
        product = (time.process_time() - begun) / batches / len(inputs)
        begun = time.process_time()
        scored = len(scorer.score(shards))
        seconds.append((product, (time.process_time() - begun) / scored))
    del seconds[0]  # functions are traced
    alone, whole = (statistics.median(column) * 1e6 for column in zip(*seconds, strict=True))
    return {
        "product_us": round(alone, 1),
        "scoring_us": round(whole, 1),
        **judged([product / scoring for product, scoring in seconds], GOAL_SHARE),
    }


def steps_of(root: Path) -> dict[str, float]:
    """Processor time of our Evaluator's steps for one batch, the least of several."""
    import tensorflow as tf

    from yt8m.components.evaluator.score_table import CANDIDATE

    scorer = create_scorer(root)
    shard = str(min((root / "data").glob("validate*.tfrecord")))
    dataset = tf.data.TFRecordDataset(shard).batch(scorer.plan.records_at_once)
    records = next(iter(dataset))
    scored = scorer.score_batch(records)
    if scored is None:
        raise SystemExit(f"{shard} has no row to score")
    inputs, weights = operands(len(records))
    steps: dict[str, Callable[[], object]] = {
        "product": lambda: tf.matmul(inputs, weights),
        "model": lambda: scorer.models[CANDIDATE].score_records(records),
        "read": lambda: next(iter(dataset)),
        "model, labels and loss": lambda: scorer.score_batch(records),
        "best classes and metrics": lambda: scorer.metrics(scored),
    }
    return {name: _least_cpu_s(step) / len(records) * 1e6 for name, step in steps.items()}


def create_scorer(root: Path) -> Any:
    """Our Evaluator's models, loaded."""
    from yt8m.components.evaluator.scoring import ScoringPlan, ShardScorer
    from yt8m.schemas.features import FeatureConfig, Level

    plan = ScoringPlan(
        model=str(root / "model" / "Format-Serving"),
        baseline=None,
        level=Level.VIDEO,
        features=FeatureConfig(num_classes=CLASSES),
    )
    return ShardScorer(plan)


def operands(rows: int) -> tuple[Any, Any]:
    """Matrices as those of the model's product."""
    import numpy as np
    import tensorflow as tf

    inputs = tf.constant(np.random.default_rng(0).normal(size=(rows, 1152)), tf.float32)
    return inputs, tf.constant(np.random.default_rng(1).normal(size=(1152, CLASSES)), tf.float32)


def _least_cpu_s(step: Callable[[], object]) -> float:
    times = []
    for _ in range(8):
        begun = time.process_time()
        step()
        times.append(time.process_time() - begun)
    return min(times)


def examples_of(place: Path, shards: list[Path]) -> Any:
    """An Examples artifact with the manifest of `shards`."""
    from evaluator_run import write_examples

    from yt8m.schemas.features import Level

    return write_examples(place, shards, Level.VIDEO)


def ours(root: Path, examples: Any, name: str) -> dict[str, float]:
    """Our Evaluator's values."""
    from evaluator_run import World, run_evaluator

    from yt8m.schemas.features import FeatureConfig, Level

    world = World(
        root=root,
        data=root / "data",
        level=Level.VIDEO,
        weights=None,
        features=FeatureConfig(num_classes=CLASSES),
    )
    outcome = run_evaluator(
        world,
        root / name,
        model=root / "model",
        gate={"gap_threshold": 0.001},
        config={"intervals": {"enabled": False}},
        examples=examples,
    )
    return {m: outcome.decision.metrics[m].value for m in METRICS}


def stock(root: Path, shards: list[Path], name: str) -> dict[str, float]:
    """TFX's Evaluator's values."""
    import tensorflow_model_analysis as tfma
    from stock_evaluator import eval_config, run_stock_evaluator

    place = run_stock_evaluator(
        root / name,
        shards,
        model=root / "model",
        config=eval_config(CLASSES, has_baseline=False),
    )
    metrics = tfma.load_eval_result(str(place)).get_metrics_for_slice(())
    return {m: metrics[m]["doubleValue"] for m in METRICS}


def compare_memory(root: Path) -> dict[str, object]:
    """Peaks of two processes, one with ten times the videos."""
    peaks = {}
    for times in (1, TIMES_MORE):
        command = [sys.executable, __file__, "--measure", str(root), str(times)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        peaks[times] = json.loads(done.stdout.splitlines()[-1])
    more = peaks[TIMES_MORE]["videos"] - peaks[1]["videos"]
    growth = peaks[TIMES_MORE]["peak_bytes"] - peaks[1]["peak_bytes"]
    return {"peaks": list(peaks.values()), "bytes_a_video": growth / more}


def measure_memory(root: Path, times: int) -> dict[str, int]:
    """Evaluate the records `times` times over; the peak of this process."""
    shards = sorted((root / "data").glob("validate*.tfrecord")) * times
    ours(root, examples_of(root / f"{times}-times", shards), f"memory-{times}")
    # Not getrusage: its peak counts the parent's memory at the moment of the fork.
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
    return {"videos": LARGE * times, "peak_bytes": int(line.split()[1]) * 1024}


if __name__ == "__main__":
    sys.exit(main())
