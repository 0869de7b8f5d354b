"""How long each step of the data path takes as the data grow: ExampleGen alone may grow.

    python benchmarks/data_path.py [--sizes 4000 40000 160000]

Statistics and Transform read a sample that is bounded (`data.sample_mb`, here 16), and Transform
needs no pass over the data at all. Times are those that ML Metadata has of each execution.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests" / "support"))  # as the tests run it

RECORDS_A_SHARD = 1000
SAMPLE_MB = 16
STEPS = ("ExampleGen", "StatisticsGen", "ExampleValidator", "ValidationGate", "Transform")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[4_000, 40_000, 160_000])
    sizes = parser.parse_args().sizes
    with tempfile.TemporaryDirectory(prefix="yt8m-data-path-") as folder:
        work = Path(folder)
        _run(_make_set(work, RECORDS_A_SHARD), work)  # what only the first run costs
        rows = {size: _run(_make_set(work, size), work) for size in sizes}
    print(f"{'examples':>10}" + "".join(f"{step:>18}" for step in STEPS))
    for size, seconds in rows.items():
        print(f"{size:>10,}" + "".join(f"{seconds[step]:>16.2f} s" for step in STEPS))


def _make_set(work: Path, size: int) -> Path:
    """A few generated shards, copied under other names until the set is large enough."""
    from yt8m.components.extras.synthetic.generate import generate
    from yt8m.components.extras.synthetic.spec import DatasetSpec

    made = work / "made"
    if not made.exists():
        generate(DatasetSpec(train=4 * RECORDS_A_SHARD, eval=4 * RECORDS_A_SHARD, shards=4), made)
    data = Path(tempfile.mkdtemp(dir=work))
    shutil.copy(made / "validate0000.tfrecord", data)
    for number in range(size // RECORDS_A_SHARD):
        source = made / f"train{number % 4:04d}.tfrecord"
        shutil.copy(source, data / f"train{number:04d}.tfrecord")
    return data


def _run(data: Path, work: Path) -> dict[str, float]:
    from tfx_runs import create_data_path, run

    from yt8m.components.example_gen.config import DataConfig
    from yt8m.components.validation.config import OnDrift, ValidationConfig
    from yt8m.schemas.features import FeatureConfig

    root = Path(tempfile.mkdtemp(dir=work))
    config = DataConfig(root=str(data), sample_mb=SAMPLE_MB)
    tolerant = ValidationConfig(on_drift=OnDrift.WARN)
    run(create_data_path(config, FeatureConfig(), validation=tolerant), root)
    return _seconds(root)


def _seconds(root: Path) -> dict[str, float]:
    from ml_metadata.metadata_store import metadata_store
    from tfx.orchestration.metadata import sqlite_metadata_connection_config

    config = sqlite_metadata_connection_config(str(root / "metadata.sqlite"))
    store = metadata_store.MetadataStore(config)
    names = {kind.id: kind.name.rpartition(".")[2] for kind in store.get_execution_types()}
    return {
        names[one.type_id]: (one.last_update_time_since_epoch - one.create_time_since_epoch) / 1e3
        for one in store.get_executions()
    }


if __name__ == "__main__":
    main()
