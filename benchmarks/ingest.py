"""What ingesting one more video costs, against TFX's stock ImportExampleGen, in one run.

    python benchmarks/ingest.py [--examples 400000] [--json]

Each way runs in a process of its own, as a real TFX pipeline of one component, once on a small
and once on a large set; the difference is the marginal cost, free of what starting TFX costs.
Memory is the peak of the process, TFX and TensorFlow included.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

RECORDS_A_SHARD = 1000
EVAL_RECORDS = 1000
STOCK_SIZES = (4_000, 20_000)  # the stock component keeps all records in memory
REPEATS = 2
WAYS = ("stock", "checksum", "full")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--examples", type=int, default=400_000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--measure", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--work", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(_measure(args.measure, args.work)))
        return
    with tempfile.TemporaryDirectory(prefix="yt8m-ingest-") as folder:
        work = Path(folder)
        _make_sets(work, args.examples)
        measured = {way: _in_own_process(way, work) for way in WAYS}
    _report(measured, as_json=args.json)


def _make_sets(work: Path, examples: int) -> None:
    """A few generated shards, copied under other names until a set is large enough."""
    from yt8m.components.extras.synthetic.generate import generate
    from yt8m.components.extras.synthetic.spec import DatasetSpec

    made = generate(
        DatasetSpec(train=4 * RECORDS_A_SHARD, eval=EVAL_RECORDS, shards=4), work / "made"
    ).out
    sizes = {
        "stock-small": STOCK_SIZES[0],
        "stock-large": STOCK_SIZES[1],
        "ours-small": STOCK_SIZES[0],
        "ours-large": examples,
    }
    for name, size in sizes.items():
        (work / name).mkdir()
        train, evaluation = sorted(made.glob("train*")), sorted(made.glob("validate*"))
        for shard in evaluation:
            shutil.copy(shard, work / name / shard.name)
        for number in range((size - EVAL_RECORDS) // RECORDS_A_SHARD):
            shutil.copy(train[number % len(train)], work / name / f"train{number:04d}.tfrecord")


def _in_own_process(way: str, work: Path) -> dict[str, float]:
    command = [sys.executable, __file__, "--measure", way, "--work", str(work)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{way} failed:\n{done.stderr[-3000:]}")
    measured: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return measured


def _measure(way: str, work: Path) -> dict[str, float]:
    kind = "stock" if way == "stock" else "ours"
    small, large = work / f"{kind}-small", work / f"{kind}-large"
    _run(way, small, work)  # what only the first run costs
    seconds = {data: min(_run(way, data, work) for _ in range(REPEATS)) for data in (small, large)}
    more = _examples(large) - _examples(small)
    return {
        "examples": _examples(large),
        "seconds": seconds[large],
        "us_per_example": (seconds[large] - seconds[small]) / more * 1e6,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20),
    }


def _examples(data: Path) -> int:
    return EVAL_RECORDS + RECORDS_A_SHARD * len(list(data.glob("train*")))


def _run(way: str, data: Path, work: Path) -> float:
    from tfx.orchestration import metadata, pipeline
    from tfx.orchestration.local.local_dag_runner import LocalDagRunner

    root = Path(tempfile.mkdtemp(dir=work))
    store = metadata.sqlite_metadata_connection_config(str(root / "metadata.sqlite"))
    job = pipeline.Pipeline(
        pipeline_name="ingest",
        pipeline_root=str(root / "pipeline"),
        components=[_component(way, data)],
        metadata_connection_config=store,
        beam_pipeline_args=["--direct_running_mode=in_memory", "--direct_num_workers=1"],
    )
    start = time.perf_counter()
    LocalDagRunner().run(job)
    took = time.perf_counter() - start
    shutil.rmtree(root)
    return took


def _component(way: str, data: Path) -> Any:
    if way == "stock":
        from tfx.components import ImportExampleGen
        from tfx.proto import example_gen_pb2

        splits = [
            example_gen_pb2.Input.Split(name=name, pattern=pattern)
            for name, pattern in (("train", "train*"), ("eval", "validate*"))
        ]
        return ImportExampleGen(
            input_base=str(data), input_config=example_gen_pb2.Input(splits=splits)
        )
    from yt8m.components.example_gen.component import ExampleGen
    from yt8m.components.example_gen.config import DataConfig, Verify
    from yt8m.schemas.features import FeatureConfig

    return ExampleGen(
        config=DataConfig(root=str(data), verify=Verify(way)), features=FeatureConfig()
    )


def _report(measured: dict[str, dict[str, float]], *, as_json: bool) -> None:
    stock = measured["stock"]["us_per_example"]
    for figures in measured.values():
        figures["times_cheaper"] = stock / figures["us_per_example"]
    if as_json:
        print(json.dumps(measured, indent=1))
        return
    print(f"{'way':<10}{'examples':>10}{'seconds':>10}{'us/example':>12}{'ratio':>8}{'peak GB':>9}")
    for way, figures in measured.items():
        print(
            f"{way:<10}{figures['examples']:>10,.0f}{figures['seconds']:>10.1f}"
            f"{figures['us_per_example']:>12.2f}{figures['times_cheaper']:>7.1f}x"
            f"{figures['peak_gb']:>9.2f}"
        )


if __name__ == "__main__":
    main()
