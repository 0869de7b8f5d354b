"""An S3 that cuts, resets, refuses and does not answer, under readers, ingest and the registry."""

from __future__ import annotations

import random
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from faulty_proxy import FaultyProxy
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
        yield from _reads(bucket, proxy, chance, reads, in_a_row)
        yield from _ingests(work, bucket, proxy, chance, ingests, in_a_row)
        yield from _pushes(work, bucket, proxy, chance, pushes, in_a_row)


@contextmanager
def _faulty(
    proxy: FaultyProxy, faults: tuple[str, ...], chance: random.Random, in_a_row: int
) -> Iterator[list[str]]:
    """A few faults for what the block does; what was lost by them is to be added to the list."""
    lost: list[str] = []
    proxy.faults.extend(chance.choices(faults, k=chance.randrange(1, in_a_row + 1)))
    try:
        yield lost
    except StaleBaselineError as error:
        lost.append(f"its own push was taken for another's: {error}")
    except (OSError, Yt8mError) as error:
        lost.append(f"given up after few faults: {error}")
    proxy.faults.clear()


def _reads(
    bucket: str, proxy: FaultyProxy, chance: random.Random, times: int, in_a_row: int
) -> Iterator[Trial]:
    content = chance.randbytes(3 << 20)
    storage.write_bytes(f"{bucket}/file", content)
    for _ in range(times):
        with _faulty(proxy, _READS, chance, in_a_row) as lost:
            if storage.read_bytes(f"{bucket}/file") != content:
                lost.append("other bytes were read than are there")
        yield _trial("reading from s3://", lost)


def _ingests(
    work: Path, bucket: str, proxy: FaultyProxy, chance: random.Random, times: int, in_a_row: int
) -> Iterator[Trial]:
    root = f"{bucket}/records"
    shutil.rmtree(work / "data", ignore_errors=True)
    storage.copy_tree(str(make_dataset(work / "data")), root)
    for _ in range(times):
        shutil.rmtree(work / "out", ignore_errors=True)
        with _faulty(proxy, _READS, chance, in_a_row) as lost:
            done = ingest_directory(
                root, work / "out", ingest="reference", bad_input="quarantine", workers=1
            )
            if (done.accounts.kept, done.accounts.quarantined) != (_RECORDS, 0):
                lost.append(f"records: {done.accounts.text()}")
        yield _trial("ingest from s3://", lost)


def _pushes(
    work: Path, bucket: str, proxy: FaultyProxy, chance: random.Random, times: int, in_a_row: int
) -> Iterator[Trial]:
    proxy.writes = True
    registry = f"{bucket}/{uuid.uuid4().hex}"
    for number in range(times):
        model = fake_model(work / f"model-{uuid.uuid4().hex}")
        judged = in_service(registry)
        with _faulty(proxy, _WRITES, chance, in_a_row) as lost:
            record = blessed_record(run_key=f"run {number}")
            version = push(model, registry, record, keep=3, replaces=judged)
            if in_service(registry).version != version.number:
                lost.append(f"{in_service(registry)} is in service instead of {version.number}")
        lost += registry_flaws(registry, foreign=None)
        shutil.rmtree(model)
        yield _trial("push into s3://", lost)
    proxy.writes = False


def _trial(part: str, lost: list[str]) -> Trial:
    return Trial(kind="network", part=part, blow="faults", lost=lost)
