"""An S3 that cuts, resets, refuses and does not answer, under readers, ingest and the registry."""

from __future__ import annotations

import os
import random
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from faulty_proxy import FaultyProxy, faulty_proxy
from ingesting import ingest_directory
from records import make_dataset
from registry_models import blessed_record, fake_model
from s3_server import s3_server

from chaos.trials import Trial
from chaos.writers import registry_flaws
from yt8m.components import storage
from yt8m.components.registry.push import StaleBaselineError, push
from yt8m.components.registry.versions import in_service
from yt8m.components.storage import s3
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
    with _bucket() as (bucket, proxy):
        yield from _reads(bucket, proxy, chance, reads, in_a_row)
        yield from _ingests(work, bucket, proxy, chance, ingests, in_a_row)
        yield from _pushes(work, bucket, proxy, chance, pushes, in_a_row)


@contextmanager
def _bucket() -> Iterator[tuple[str, FaultyProxy]]:
    with (
        s3_server() as bucket,
        faulty_proxy(os.environ["AWS_ENDPOINT_URL_S3"]) as proxy,
        mock.patch.dict(os.environ, {"AWS_ENDPOINT_URL_S3": proxy.url}),
    ):
        s3.client.cache_clear()
        yield bucket, proxy


def _some(chance: random.Random, faults: tuple[str, ...], in_a_row: int) -> list[str]:
    return chance.choices(faults, k=chance.randrange(1, in_a_row + 1))


def _reads(
    bucket: str, proxy: FaultyProxy, chance: random.Random, times: int, in_a_row: int
) -> Iterator[Trial]:
    content = chance.randbytes(3 << 20)
    storage.write_bytes(f"{bucket}/file", content)
    for _ in range(times):
        proxy.faults.extend(_some(chance, _READS, in_a_row))
        lost = []
        try:
            if storage.read_bytes(f"{bucket}/file") != content:
                lost.append("other bytes were read than are there")
        except OSError as error:
            lost.append(f"given up after few faults: {error}")
        proxy.faults.clear()
        yield Trial(kind="network", part="reading from s3://", blow="faults", lost=lost)


def _ingests(
    work: Path, bucket: str, proxy: FaultyProxy, chance: random.Random, times: int, in_a_row: int
) -> Iterator[Trial]:
    root = f"{bucket}/records"
    shutil.rmtree(work / "data", ignore_errors=True)
    storage.copy_tree(str(make_dataset(work / "data")), root)
    for _ in range(times):
        shutil.rmtree(work / "out", ignore_errors=True)
        proxy.faults.extend(_some(chance, _READS, in_a_row))
        lost = []
        try:
            done = ingest_directory(
                root, work / "out", ingest="reference", bad_input="quarantine", workers=1
            )
            if (done.accounts.kept, done.accounts.quarantined) != (_RECORDS, 0):
                lost.append(f"records: {done.accounts.text()}")
        except Yt8mError as error:
            lost.append(f"given up after few faults: {error}")
        proxy.faults.clear()
        yield Trial(kind="network", part="ingest from s3://", blow="faults", lost=lost)


def _pushes(
    work: Path, bucket: str, proxy: FaultyProxy, chance: random.Random, times: int, in_a_row: int
) -> Iterator[Trial]:
    proxy.writes = True
    registry = f"{bucket}/{uuid.uuid4().hex}"
    for number in range(times):
        model = fake_model(work / f"model-{uuid.uuid4().hex}")
        judged = in_service(registry)
        proxy.faults.extend(_some(chance, _WRITES, in_a_row))
        lost = []
        try:
            record = blessed_record(run_key=f"run {number}")
            version = push(model, registry, record, keep=3, replaces=judged)
            if in_service(registry).version != version.number:
                lost.append(f"{in_service(registry)} is in service instead of {version.number}")
        except StaleBaselineError as error:
            lost.append(f"its own push was taken for another's: {error}")
        except Yt8mError as error:
            lost.append(f"given up after few faults: {error}")
        proxy.faults.clear()
        lost += registry_flaws(registry, foreign=None)
        shutil.rmtree(model)
        yield Trial(kind="network", part="push into s3://", blow="faults", lost=lost)
    proxy.writes = False
