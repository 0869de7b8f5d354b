"""Everything that writes, killed before each of its operations, and once more let through.

After every kill nothing half-written may be seen, and the same writing, done again, must leave what
it leaves where nobody is killed.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import random
import shutil
import signal
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ingesting import ingest_directory
from records import TINY, flip_byte_in_record, make_dataset
from registry_models import blessed_record, fake_model
from s3_server import s3_server

from chaos.forks import run_until
from chaos.trials import KILL, Trial
from yt8m.components import storage
from yt8m.components.artifacts.manifest import FILE_NAME as MANIFEST
from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.artifacts.run_record import NodeRecord, RunRecord, State, Verdict
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.extras.synthetic.generate import generate
from yt8m.components.extras.synthetic.spec import DatasetSpec
from yt8m.components.registry.push import push, remove_damaged, rollback
from yt8m.components.registry.versions import (
    ForeignVersionError,
    list_baselines,
    list_versions,
    load_version,
)
from yt8m.components.storage import s3
from yt8m.pipeline.run_record import begin_record, read_run_records, write_record
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import UserError

_FOREIGN = 1


@dataclass(frozen=True, kw_only=True)
class Writer:
    """What is written at a place: how it is before, the writing, what may be seen after."""

    part: str
    prepare: Callable[[Any], object] = lambda place: None
    write: Callable[[Any], object]
    flaws: Callable[[Any], Iterator[str]]  # at any moment
    result: Callable[[Any], object]  # what is there in the end


def registry_writers(work: Path, chance: random.Random, *, stride: int = 1) -> Iterator[Trial]:
    """Each that changes a registry, killed before every `stride`-th of its operations."""
    for writer in REGISTRY_WRITERS:
        yield from _sweep_files(writer, work / "here", chance.randrange(1, stride + 1), stride)
    models = {name: fake_model(work / f"s3-{uuid.uuid4().hex}") for name in ("first", "new")}
    with s3_server() as bucket:

        def new_place() -> str:
            registry = f"{bucket}/{uuid.uuid4().hex}"
            push(models["first"], registry, blessed_record(run_key="first", gap=0.5))
            return registry

        writer = Writer(
            part="push into s3://",
            write=partial(_push_to_s3, models["new"]),
            flaws=partial(registry_flaws, foreign=None),
            result=_served_from_s3,
        )
        log = work / "said.txt"
        yield from _sweep(writer, new_place, chance.randrange(1, stride + 1), stride, log)


def record_writers(work: Path, chance: random.Random, *, stride: int = 3) -> Iterator[Trial]:
    """Ingest, the generator, and the records of a run, likewise."""
    for writer in _RECORD_WRITERS:
        yield from _sweep_files(writer, work / "here", chance.randrange(1, stride + 1), stride)


def _sweep_files(writer: Writer, here: Path, first: int, stride: int) -> Iterator[Trial]:
    template = here.with_name("template")
    shutil.rmtree(here, ignore_errors=True)
    here.mkdir(parents=True)
    writer.prepare(here)
    shutil.rmtree(template, ignore_errors=True)
    here.rename(template)

    def new_place() -> Path:
        shutil.rmtree(here, ignore_errors=True)
        shutil.copytree(template, here, symlinks=True)
        return here

    yield from _sweep(writer, new_place, first, stride, here.with_name("said.txt"), below=here)


def _sweep(
    writer: Writer,
    new_place: Callable[[], Any],
    first: int,
    stride: int,
    log: Path,
    below: Path | None = None,
) -> Iterator[Trial]:
    place = new_place()
    if run_until(partial(writer.write, place), log=log) != 0:
        raise SystemExit(f"undisturbed, {writer.part} failed: {log.read_text()}")
    expected = writer.result(place)
    for kill_at in itertools.count(first, stride):
        place = new_place()
        write = partial(writer.write, place)
        code = run_until(write, kill_at=kill_at, below=below, log=log)
        if code == 0:
            return
        lost = list(writer.flaws(place))
        if code != -signal.SIGKILL:
            lost.append(f"exit code {code}: {log.read_text()}")
        if (again := run_until(write, log=log)) != 0:
            lost.append(
                f"done again after operation {kill_at}, exit code {again}: {log.read_text()}"
            )
        elif (found := writer.result(place)) != expected:
            lost.append(f"after operation {kill_at} {found} came out instead of {expected}")
        lost += writer.flaws(place)
        yield Trial(kind="writers", part=writer.part, blow=KILL, lost=lost)


# The registry.


def _registry_with_versions(here: Path) -> None:
    registry = here / "push"
    fake_model(registry / str(_FOREIGN))
    for name, gap in (("first", 0.4), ("second", 0.5)):
        model = fake_model(here / name)
        push(model, str(registry), blessed_record(run_key=name, gap=gap))
    fake_model(here / "new", variables_bytes=100_000)


def _registry_with_damage(here: Path) -> None:
    _registry_with_versions(here)
    (here / "push" / "2" / MODEL_FILE).write_bytes(b"damaged")


def _push_new(here: Path, *, served: bool = True) -> None:
    record = blessed_record(run_key="new", gap=0.6)
    push(str(here / "new"), str(here / "push"), record, keep=2, served=served)


def registry_flaws(
    registry: str, *, foreign: int | None, damaged: int | None = None
) -> Iterator[str]:
    """What can be seen there and is not whole."""
    for number in (*list_versions(registry), *list_baselines(registry)):
        if number == damaged:
            continue
        try:
            load_version(registry, number, verify=True)
        except ForeignVersionError:
            if number != foreign:
                yield f"version {number} is there without its record"
        except UserError as error:
            if storage.local_path(registry) is not None or storage.exists(
                f"{registry}/{number}/{MODEL_FILE}"
            ):
                yield f"half visible: {error}"
    if foreign is not None and foreign not in list_versions(registry):
        yield "the foreign model is gone"


def _local_flaws(here: Path, *, damaged: int | None = None) -> Iterator[str]:
    return registry_flaws(str(here / "push"), foreign=_FOREIGN, damaged=damaged)


def _registry_result(here: Path) -> object:
    registry = here / "push"
    rubbish = [p.name for p in registry.iterdir() if p.name.startswith(".yt8m-")]
    return list_versions(str(registry)), list_baselines(str(registry)), rubbish


def _push_to_s3(model: str, registry: str) -> None:
    s3.client.cache_clear()  # its connections are the parent's
    os.environ["AWS_MAX_ATTEMPTS"] = "2"
    push(model, registry, blessed_record(run_key="new", gap=0.6))


def _served_from_s3(registry: str) -> object:
    """Which models servers see."""
    numbers = [n for n in list_versions(registry) if storage.exists(f"{registry}/{n}/{MODEL_FILE}")]
    return [load_version(registry, number).record.run_key for number in numbers]


# Records.


def _ingest(here: Path, **values: object) -> None:
    ingest_directory(here / "data", here / "out", cache=here / "cache", workers=1, **values)


def _records(here: Path, *, damaged: bool = False) -> None:
    make_dataset(here / "data")
    if damaged:
        flip_byte_in_record(here / "data" / "train0000.tfrecord", 3)
    shutil.copytree(here / "data", here / "sources")


def _ingest_flaws(here: Path) -> Iterator[str]:
    if _contents(here / "data") != _contents(here / "sources"):
        yield "the records are changed"
    file = here / "out" / "examples" / MANIFEST
    if not file.exists():
        return
    for shard in Manifest.from_json(file.read_text()).shards:
        if not Path(shard.uri).exists() or Path(shard.uri).stat().st_size != shard.bytes:
            yield f"the manifest is there, but {shard.uri} is not whole"


def _ingest_result(here: Path) -> object:
    file = here / "out" / "examples" / MANIFEST
    return sorted(str(shard) for shard in Manifest.from_json(file.read_text()).shards)


def _contents(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def _generate(here: Path, name: str = "generated") -> None:
    generate(from_dict(DatasetSpec, {**TINY, "level": "video"}), here / name)


def _generated_flaws(here: Path) -> Iterator[str]:
    expected = _contents(here / "expected")
    found = _contents(here / "generated") if (here / "generated").exists() else {}
    for name, content in found.items():
        if name.endswith(".tfrecord") and content != expected[name]:
            yield f"{name} is there and not whole"


def _generated_result(here: Path) -> object:
    names = ("tfrecord", "csv", "json")
    return sorted((n, c) for n, c in _contents(here / "generated").items() if n.endswith(names))


# The records of a run.


def _write_run(here: Path) -> None:
    layout = Layout(here / "root")
    record = RunRecord(run_id="20260101-000000-000000", started=1.0, push_dir="push")
    begin_record(layout, record)
    for name in ("ExampleGen", "Trainer", "Pusher"):
        for state in (State.RUNNING, State.DONE):
            record = record.with_node(NodeRecord(name=name, state=state))
            write_record(layout, record)
    write_record(layout, dataclasses.replace(record, verdict=Verdict.PUSHED))


def _run_flaws(here: Path) -> Iterator[str]:
    layout = Layout(here / "root")
    written = list(Path(layout.runs).glob("*/run.json"))
    if len(list(read_run_records(layout))) != len(written):
        yield "a run's record cannot be read"
    newest = Path(layout.newest)
    if newest.is_symlink() and not (newest / "run.json").exists():
        yield "the newest run has no record"


def _run_result(here: Path) -> object:
    return [record.verdict for record in read_run_records(Layout(here / "root"))]


def _rollback(here: Path) -> None:
    rollback(str(here / "push"), 2, keep=2)


def _prune(here: Path) -> None:
    remove_damaged(str(here / "push"))


_REGISTRY = {"prepare": _registry_with_versions, "flaws": _local_flaws, "result": _registry_result}
_DAMAGED = {"prepare": _registry_with_damage, "flaws": partial(_local_flaws, damaged=2)}
_EXAMPLES = {"prepare": _records, "flaws": _ingest_flaws, "result": _ingest_result}
_QUARANTINE = partial(_ingest, bad_input="quarantine", max_quarantined=0.5)
REGISTRY_WRITERS = (
    Writer(part="push into a registry that is full", write=_push_new, **_REGISTRY),
    Writer(part="import of a baseline", write=partial(_push_new, served=False), **_REGISTRY),
    Writer(part="rollback", write=_rollback, **_REGISTRY),
    Writer(part="prune", write=_prune, **{**_REGISTRY, **_DAMAGED}),
)
RUN_RECORDS = Writer(part="a run's records", write=_write_run, flaws=_run_flaws, result=_run_result)
_RECORD_WRITERS = (
    Writer(part="ingest by links", write=partial(_ingest, ingest="link"), **_EXAMPLES),
    Writer(part="ingest by copies", write=partial(_ingest, ingest="copy"), **_EXAMPLES),
    Writer(
        part="ingest with quarantine",
        write=_QUARANTINE,
        **{**_EXAMPLES, "prepare": partial(_records, damaged=True)},
    ),
    Writer(
        part="generated records",
        prepare=partial(_generate, name="expected"),
        write=_generate,
        flaws=_generated_flaws,
        result=_generated_result,
    ),
    RUN_RECORDS,
)
