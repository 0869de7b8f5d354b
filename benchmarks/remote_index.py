"""What is fetched from an object store to learn where records begin, counted by the server.

    python benchmarks/remote_index.py [--level frame video] [--examples 20000]

The server is the tests' own and holds all shards in memory: 0.7 GB for 20,000 videos of 30
frames. Their records are as small as those that are passed over one by one can be. YouTube-8M's
have seven times as many bytes, so the shares of frames are seven times smaller there.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.extend(  # as the tests start it
    str(Path(__file__).parents[1] / "tests" / room) for room in ("support", "testbed/servers")
)

from object_server import ObjectServer, object_server

from yt8m.components import storage
from yt8m.components.example_gen.config import DataConfig, Ingest, Verify
from yt8m.components.example_gen.sources import resolve_sources
from yt8m.components.example_gen.verify import SAMPLED_RECORDS, count_shards, verify_shards
from yt8m.components.extras.synthetic.generate import generate
from yt8m.components.extras.synthetic.spec import DatasetSpec
from yt8m.components.inputs.record_index import FRAMING_BYTES
from yt8m.components.records.shared_index import FOLDER, SharedIndex
from yt8m.schemas.features import FeatureConfig, Level

_FRAMES = 30  # 35 KB
_RECORDS_A_SHARD = 2000
_DATA = "bucket/data"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--level", nargs="+", type=Level, default=[Level.FRAME, Level.VIDEO])
    parser.add_argument("--examples", type=int, default=20_000)
    args = parser.parse_args()
    print("| level | reader | bytes | of the source | requests | per record |")
    print("| --- | --- | --- | --- | --- | --- |")
    for level in args.level:
        with object_server() as server:
            _place(level, args.examples)
            for policy in (Verify.OFF, Verify.SAMPLE, Verify.FULL):
                storage.remove_tree(f"mem://{_DATA}/{FOLDER}")
                _read(server, level, policy, later=False)
            _read(server, level, Verify.OFF, later=True)


def _place(level: Level, train: int) -> None:
    shards = max(train // _RECORDS_A_SHARD, 1)
    spec = DatasetSpec(
        level=level,
        train=train,
        eval=shards,
        shards=shards,
        min_frames=_FRAMES,
        max_frames=_FRAMES,
    )
    with tempfile.TemporaryDirectory(prefix="yt8m-index-") as folder:
        made = generate(spec, Path(folder) / "data").out
        for path in made.glob("*.tfrecord"):
            storage.copy(str(path), f"mem://{_DATA}/{path.name}")
            path.unlink()


def _read(server: ObjectServer, level: Level, policy: Verify, *, later: bool) -> None:
    """Print a row: of verification, or of a later training before it asks for records."""
    config = DataConfig(root=f"s3://{_DATA}", ingest=Ingest.REFERENCE, level=level, verify=policy)
    shards = resolve_sources(config).shards
    server.served, before = 0, server.done["passed"]
    read = count_shards if later else verify_shards
    reports = read(shards, config, FeatureConfig(), index=SharedIndex())
    name, counted = "later training" if later else policy.value, server.served
    if policy is Verify.SAMPLE and level is Level.FRAME:
        name += f", beyond each shard's first {SAMPLED_RECORDS} records"
        first = [r.lengths[:SAMPLED_RECORDS] for r in reports if r.lengths is not None]
        counted -= sum(int(lengths.sum()) + FRAMING_BYTES * len(lengths) for lengths in first)
    share = counted / sum(shard.size for shard in shards)
    requests, records = server.done["passed"] - before, sum(report.records for report in reports)
    print(
        f"| {level.value} | {name} | {counted:,} | {share:.4%} | {requests:,} "
        f"| {requests / records:.4f} |",
        flush=True,
    )


if __name__ == "__main__":
    main()
