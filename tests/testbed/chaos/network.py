"""An S3 that cuts, resets, refuses and does not answer, under readers, ingest and the registry."""

from __future__ import annotations

import random
import shutil
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from ingesting import ingest_directory
from records import make_dataset
from registry_models import blessed_record, fake_model
from s3_server import faulty_s3_server

from chaos.trials import Trial
from chaos.writers import registry_flaws
from yt8m.components import storage
from yt8m.components.registry.outcomes import StaleBaselineError
from yt8m.components.registry.push import push
from yt8m.components.registry.versions import in_service
from yt8m.schemas.errors import Yt8mError

_READS = ("cut", "reset", "500", "slow-down", "lost")
_WRITES = ("reset", "500", "slow-down", "lost")
_RECORDS = 36
Action = Callable[[], Iterator[str]]  # what was lost in it


def network(
    work: Path,
    chance: random.Random,
    *,
    reads: int = 60,
    ingests: int = 60,
    pushes: int = 60,
    in_a_row: int = 4,  # well below the ten tries: more often is a network that stays away
) -> Iterator[Trial]:
    """So many of each, every one through up to `in_a_row` faults."""
    with faulty_s3_server() as (bucket, proxy):
        for part, times, faults, action in (
            ("reading from s3://", reads, _READS, _reading(bucket, chance)),
            ("ingest from s3://", ingests, _READS, _ingesting(bucket, work)),
            ("push into s3://", pushes, _WRITES, _pushing(bucket, work)),
        ):
            proxy.writes = faults is _WRITES
            for _ in range(times):
                proxy.faults.extend(chance.choices(faults, k=chance.randrange(1, in_a_row + 1)))
                try:
                    lost = list(action())
                except StaleBaselineError as error:
                    lost = [f"its own push was taken for another's: {error}"]
                except (OSError, Yt8mError) as error:
                    lost = [f"given up after few faults: {error}"]
                proxy.faults.clear()
                yield Trial(kind="network", part=part, blow="faults", lost=lost)


def _reading(bucket: str, chance: random.Random) -> Action:
    content = chance.randbytes(3 << 20)
    storage.write_bytes(f"{bucket}/file", content)

    def read_once() -> Iterator[str]:
        if storage.read_bytes(f"{bucket}/file") != content:
            yield "other bytes were read than are there"

    return read_once


def _ingesting(bucket: str, work: Path) -> Action:
    root = f"{bucket}/records"
    shutil.rmtree(work / "data", ignore_errors=True)
    storage.copy_tree(str(make_dataset(work / "data")), root)

    def ingest_once() -> Iterator[str]:
        shutil.rmtree(work / "out", ignore_errors=True)
        done = ingest_directory(
            root, work / "out", ingest="reference", bad_input="quarantine", workers=1
        )
        if (done.accounts.kept, done.accounts.quarantined) != (_RECORDS, 0):
            yield f"records: {done.accounts.text()}"

    return ingest_once


def _pushing(bucket: str, work: Path) -> Action:
    registry = f"{bucket}/{uuid.uuid4().hex}"

    def push_once() -> Iterator[str]:
        key = uuid.uuid4().hex
        model = fake_model(work / f"model-{key}")
        record = blessed_record(run_key=key)
        version = push(model, registry, record, keep=3, replaces=in_service(registry))
        if in_service(registry).version != version.number:
            yield f"{in_service(registry)} is in service instead of {version.number}"
        yield from registry_flaws(registry, foreign=None)
        shutil.rmtree(model)

    return push_once
