"""Training speed of every model, everything included, against limits measured in the same run.

    python benchmarks/training.py [--models logistic,moe,mlp,frame_logistic,frame_logistic_means,
        dbof,netvlad,netvlad_128,nextvlad,lstm,transformer] [--precision fp32,bf16] [--turns 3]
    python benchmarks/training.py --parts          where a step's processor time goes

Everything: reading records, the step, the optimiser, metrics and the log; not the first steps, in
which TensorFlow compiles. Two limits are those of the machine: its bare fp32 product at the number
of operations that the products of the model's forward pass and gradient have, padding included, and
the bare reading of the same records. Shares of both are told of each model, by the clock.

Most have a goal: a share of the product limit, or, for NeXtVLAD, of its own forward pass and
gradient on a batch in memory. FrameLevelLogistic is compared with the starter code's published pace
on two cores (262 videos/s), which no run here can measure. In bf16 logistic and MoE are to be
faster than they were in fp32. Frame models have their presets' batches, but for NeXtVLAD.

A limit is the mean of before and after each training, for machines are seldom equally fast for
long; figures are those of the turn with the median ratio. `verdicts.py` says when a goal is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from verdicts import Verdict, judged, measured, verdict_of

if TYPE_CHECKING:
    from yt8m.components.trainer.job import TrainingJob

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

CLASSES, SIZE = 3862, 1152
STARTER_FRAME_LOGISTIC = 262.0


PRODUCTS, READING = "the fp32 product limit", "the reading limit"
BARE = "its bare forward and gradient"
STARTER = "the starter code's pace"


@dataclass(frozen=True, kw_only=True)
class Case:
    """One model as it is trained here."""

    model: dict[str, Any]
    level: str
    batch_size: int
    steps: int
    goal: float = 0.0  # in fp32, the ratio to what is named by `beside`; 0: none
    beside: str = PRODUCTS
    parts: int = 0  # products of [1152] and [1152, classes] an example, where `--parts` knows them
    # Multiplications a frame of the batch, forward and back; 0: counted in the graph, where
    # there are no loops.
    of_frame: int = 0
    cache: str = "off"  # all records are packed before the steps that count


def frame_case(name: str, /, **values: Any) -> Case:
    """Few steps: these take seconds each."""
    model, shape = values.pop("model", {}), {"steps": 5, **values}
    return Case(model={"name": name, **model}, level="frame", **shape)


CASES = {
    "logistic": Case(
        model={"name": "logistic"}, level="video", batch_size=1024, steps=80, goal=0.7, parts=2
    ),
    "moe": Case(
        model={"name": "moe"}, level="video", batch_size=1024, steps=50, goal=0.7, parts=10
    ),
    "mlp": Case(
        model={"name": "mlp", "classifier": {"name": "moe"}},
        level="video",
        batch_size=1024,
        steps=20,
    ),
    "frame_logistic": frame_case(
        "frame_logistic", batch_size=256, steps=30, goal=5.0, beside=STARTER
    ),
    "frame_logistic_means": frame_case(
        "frame_logistic", batch_size=256, steps=30, goal=11.0, beside=STARTER, cache="means"
    ),
    "dbof": frame_case("dbof", batch_size=128, steps=40, goal=0.7),
    "netvlad": frame_case("netvlad", batch_size=80, steps=40, goal=0.43),
    "netvlad_128": frame_case("netvlad", batch_size=128, steps=32, goal=0.55),
    # As published, but for a batch that any machine holds.
    "nextvlad": frame_case(
        "nextvlad", model={"clusters": 112, "apart": True}, batch_size=32, goal=0.8, beside=BARE
    ),
    # Two layers of 1024 cells: what enters, its weights' gradient and, above the first layer, its
    # own; the state, its weights' gradient and its own.
    "lstm": frame_case(
        "rnn", batch_size=64, goal=0.7, of_frame=4 * 1024 * (2 * SIZE + 3 * 1024 + 6 * 1024)
    ),
    "transformer": frame_case("transformer", batch_size=64, steps=20, goal=0.57),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", default=",".join(CASES))
    parser.add_argument("--precision", default="fp32,bf16")
    parser.add_argument("--turns", type=int, default=3, metavar="N", help="of each model (3)")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--parts", action="store_true", help="where a step's time goes, alone")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="yt8m-bench-") as scratch:
        root = Path(scratch)
        tempfile.tempdir = scratch  # caches, too
        if args.parts:
            for name, case in CASES.items():
                for precision in args.precision.split(",") if case.parts else ():
                    parts = parts_of(make_job(name, case, precision, root), case)
                    told = ", ".join(f"{part} {cpu:.1f}" for part, cpu in parts.items())
                    print(f"{name} {precision}, processor milliseconds a step: {told}", flush=True)
            return
        rows: list[dict[str, Any]] = []
        for name in args.models.split(","):
            goal = CASES[name].goal
            for precision in args.precision.split(","):
                row = measured(partial(report, name, precision, goal, root, turns=args.turns))
                rows.append(row)
                if CASES[name].parts and precision == "fp32":
                    goal = row["ratio"]  # for bf16, which comes after it
    if args.json:
        args.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    for row in rows:
        if (verdict := Verdict[row["verdict"]]) is not Verdict.REACHED:
            print(f"{row['model']} {row['precision']}: {verdict.text}")
    sys.exit(verdict_of(rows))


def report(name: str, precision: str, goal: float, root: Path, *, turns: int) -> dict[str, Any]:
    """One line: examples a second, and the ratios to the limits."""
    case = CASES[name]
    jobs = [make_job(name, case, precision, root) for _ in range(turns)]
    limits = limits_for(case, jobs[0])
    found = []
    for job in jobs:
        before = {limit: measured() for limit, measured in limits.items()}
        pace = training_pace(job)
        means = {limit: (before[limit] + measured()) / 2 for limit, measured in limits.items()}
        found.append((pace / means[case.beside], pace, means))
    _, pace, means = sorted(found, key=lambda turn: turn[0])[turns // 2]
    shares = {limit: pace / means[limit] for limit in means}
    told = ", ".join(f"{share:.3f} of {limit}" for limit, share in shares.items())
    print(f"{name:15} {precision}  {pace:9,.1f} examples/s  {told}, goal {goal:.2f}", flush=True)
    return {
        "model": name,
        "precision": precision,
        "examples_per_s": round(pace, 1),
        "of_products": round(shares[PRODUCTS], 3),
        "of_reading": round(shares[READING], 4),
        "limit": case.beside,
        "limit_per_s": round(means[case.beside], 1),
        **judged([turn[0] for turn in found], goal),
    }


def limits_for(case: Case, job: TrainingJob) -> dict[str, Callable[[], float]]:
    """What the pace is compared with, and how to measure that, in examples a second."""
    gradient, rows = bare_gradient(job), job.trainer.batch_size
    if case.of_frame:
        operations = 2.0 * case.of_frame * frames_of_batch(job)
    else:
        operations = operations_of(gradient.get_concrete_function().graph) / rows
    limits: dict[str, Callable[[], float]] = {
        PRODUCTS: lambda: matmul_gflops() * 1e9 / operations,
        READING: lambda: reading_pace(job),
    }
    if case.beside == BARE:
        gradient()  # compiles
        limits[BARE] = lambda: rows / min(timed(gradient) for _ in range(3))
    if case.beside == STARTER:
        limits[STARTER] = lambda: STARTER_FRAME_LOGISTIC
    return limits


def operations_of(graph: Any) -> int:
    """Of all products of a graph; it has no loops, and no shape that is not known."""
    total = 0
    for op in graph.get_operations():
        if op.type not in ("MatMul", "BatchMatMulV2"):
            continue
        turned = op.get_attr("transpose_a" if op.type == "MatMul" else "adj_x")
        summed = op.inputs[0].shape[-2 if turned else -1]
        total += 2 * op.outputs[0].shape.num_elements() * summed
    return total


def reading_pace(job: TrainingJob) -> float:
    """Records a second by TensorFlow's own reader, which does nothing with them; files are warm."""
    import tensorflow as tf

    from yt8m.components.artifacts.manifest import Manifest

    shards = Manifest.from_json(Path(job.manifest).read_text()).shards
    records = tf.data.TFRecordDataset([shard.uri for shard in shards], buffer_size=8 << 20)
    batches = records.batch(job.trainer.batch_size)
    seconds = min(timed(lambda: [None for _ in batches]) for _ in range(3))
    return sum(shard.records for shard in shards) / seconds


def matmul_gflops() -> float:
    """Billions of operations a second of the bare fp32 product, the best of six rounds."""
    import tensorflow as tf

    a, b = tf.random.normal([1024, SIZE]), tf.random.normal([SIZE, CLASSES])
    product = tf.function(lambda: tf.matmul(a, b))
    seconds = min(timed(lambda: [product() for _ in range(10)]) for _ in range(6)) / 10
    return 2 * 1024 * SIZE * CLASSES / seconds / 1e9


def make_job(name: str, case: Case, precision: str, root: Path) -> TrainingJob:
    """The job, on generated data that is made once a level."""
    from yt8m.components.trainer.config import TrainerConfig
    from yt8m.components.trainer.job import TrainingJob
    from yt8m.schemas.config_tree import from_dict
    from yt8m.schemas.features import Level

    out = Path(tempfile.mkdtemp(prefix=f"{name}-{precision}-", dir=root))
    trainer = {
        "model": case.model,
        "batch_size": case.batch_size,
        "num_epochs": None,
        "max_steps": case.steps,
        "precision": precision,
        "cache": case.cache,
        "log": {"every_steps": max(1, min(10, case.steps // 4))},
        "evaluation": {"enabled": False},
    }
    return TrainingJob(
        manifest=str(make_data(case.level, root)),
        checkpoint_dir=str(out / "checkpoints"),
        log_dir=str(out / "logs"),
        export_dir=str(out / "export"),
        level=Level(case.level),
        trainer=from_dict(TrainerConfig, trainer),
    )


def make_data(level: str, root: Path) -> Path:
    """Generated records and their manifest: videos of about 210 frames at frame level."""
    from yt8m.components.artifacts.manifest import Manifest, Shard
    from yt8m.components.extras.synthetic.generate import generate
    from yt8m.components.extras.synthetic.spec import DatasetSpec
    from yt8m.schemas.config_tree import from_dict
    from yt8m.schemas.features import Level

    path = root / level / "manifest.json"
    if path.exists():
        return path
    records = 8192 if level == "video" else 512
    spec = {"level": level, "train": records, "eval": 8, "classes": CLASSES, "shards": 4}
    generate(from_dict(DatasetSpec, spec), root / level)
    shards = tuple(
        Shard(
            uri=str(file),
            split="train",
            records=records // 4,
            bytes=file.stat().st_size,
            digest=file.name,
        )
        for file in sorted((root / level).glob("train*.tfrecord"))
    )
    path.write_text(Manifest(level=Level(level), shards=shards).to_json())
    return path


def training_pace(job: TrainingJob) -> float:
    """Examples a second, by the training's own curve, without the lines in which it compiles."""
    from yt8m.components.artifacts.training_curve import TRAINING, read_curve
    from yt8m.components.trainer.backends.in_process import run_job

    run_job(job, {})
    rows = [r for r in read_curve(f"{job.log_dir}/{TRAINING}") if r["kind"] == "train"]
    return statistics.median(row["examples_per_s"] for row in rows[1:])


def batches_of(job: TrainingJob) -> Any:
    from yt8m.components.inputs.config import BatchSlice
    from yt8m.components.trainer.input import load_data

    rows = BatchSlice(global_batch_size=job.trainer.batch_size)
    return iter(load_data(job).batches(rows))


def first_batch(job: TrainingJob) -> Any:
    return next(batches_of(job))


def frames_of_batch(job: TrainingJob) -> int:
    """Frames of the longest video of a batch: all others are padded to them."""
    return int(first_batch(job)["num_frames"].numpy().max())


def bare_gradient(job: TrainingJob) -> Any:
    """The forward pass and gradient alone, on a batch in memory."""
    import tensorflow as tf

    from yt8m.components.trainer.cluster.strategy import compute_dtype
    from yt8m.components.trainer.network import heads_of, network_of

    heads = heads_of(job)
    network = network_of(job, heads, compute_dtype=compute_dtype(job.trainer.precision))
    batch = first_batch(job)

    @tf.function(autograph=False)
    def gradient() -> Any:
        with tf.GradientTape() as tape:
            outputs = network(batch, training=True)
            loss = network.head_loss(heads[0], batch, outputs[heads[0].name])
        return tape.gradient(loss, network.trainable_variables)

    return gradient


def parts_of(job: TrainingJob, case: Case) -> dict[str, float]:
    """Processor milliseconds of a step's parts, each alone, and what is left of the whole."""
    import tensorflow as tf

    from yt8m.components.models.layers import fused
    from yt8m.components.trainer.cluster.strategy import compute_dtype
    from yt8m.components.trainer.loop.step import Replicas, TrainStep
    from yt8m.components.trainer.network import heads_of, network_of
    from yt8m.components.trainer.optimizers import create_optimizer

    dtype = compute_dtype(job.trainer.precision)
    network = network_of(job, heads_of(job), compute_dtype=dtype, fuse=True)
    optimizer = create_optimizer(job.trainer.optimizer)
    optimizer.build(network.trainable_variables)
    step = TrainStep(
        job.trainer,
        network=network,
        optimizer=optimizer,
        strategy=tf.distribute.get_strategy(),
        replicas=Replicas(total=1, local=1),
        use_xla=True,
    )
    batches, same = batches_of(job), iter(tf.data.Dataset.from_tensors(first_batch(job)).repeat())
    rate = tf.constant([1e-6])
    rows = tf.cast(tf.random.normal([case.batch_size, SIZE]), dtype)
    weights = tf.cast(tf.random.normal([SIZE, CLASSES]), dtype)
    slopes = tf.cast(tf.random.normal([case.batch_size, CLASSES]), dtype)
    gradients = [tf.zeros_like(variable) for variable in network.trainable_variables]

    @tf.function(autograph=False)
    def products() -> Any:
        half = case.parts // 2  # the inputs need no gradient
        return [
            *(tf.matmul(rows + tf.cast(i, dtype), weights) for i in range(half)),
            *(tf.matmul(rows + tf.cast(i, dtype), slopes, transpose_a=True) for i in range(half)),
        ]

    @fused
    def update() -> None:
        optimizer.apply_gradients(zip(gradients, network.trainable_variables, strict=True))

    parts = {
        "its products": cpu_ms(products),
        "the optimiser": cpu_ms(update),
        "reading": cpu_ms(lambda: next(batches)),
    }
    whole = cpu_ms(lambda: step.run(same, rate))
    beside = whole - parts["its products"] - parts["the optimiser"]
    return {
        **parts,
        "the rest of the step": beside,
        "of step and reading": whole + parts["reading"],
    }


def cpu_ms(call: Callable[[], Any], *, times: int = 10) -> float:
    """Processor milliseconds of a call, the least of three rounds."""
    call()

    def round_of_calls() -> float:
        began = time.process_time()
        for _ in range(times):
            call()
        return (time.process_time() - began) / times * 1e3

    return min(round_of_calls() for _ in range(3))


def timed(call: Callable[[], Any]) -> float:
    """Seconds until the result is there."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
