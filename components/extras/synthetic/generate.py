"""Write a generated data set: shards, vocabulary, and the values that it was made from."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from yt8m.components import storage
from yt8m.components.extras.synthetic.frames import FrameRecords
from yt8m.components.extras.synthetic.labels import BLOCK, LabelSampler, Stream
from yt8m.components.extras.synthetic.spec import SPLITS, DatasetSpec
from yt8m.components.extras.synthetic.video import VideoRecords
from yt8m.components.extras.synthetic.vocabulary import vocabulary_csv
from yt8m.components.extras.synthetic.world import create_world
from yt8m.components.predictions.segment_classes import RATED_FILE
from yt8m.components.records.tfrecord import write_records
from yt8m.components.storage.lock import alone_in
from yt8m.schemas.config_tree import from_dict, to_dict
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import Level
from yt8m.schemas.json_file import NewerFormatError, fields_of, own_version, reading, to_text
from yt8m.schemas.vocabulary import FILE_NAME as VOCABULARY_FILE

SPEC_FILE = "dataset.json"
_LOCK = ".generate.lock"  # there while somebody generates


@dataclass(frozen=True, kw_only=True)
class Generated:
    """Contents of the directory after the generation."""

    out: Path
    files: tuple[Path, ...]  # every shard, those that were there already included
    records: int
    bytes: int
    vocabulary: Path


@dataclass(frozen=True)
class _Shard:
    path: Path
    stream: Stream
    first: int
    end: int

    @property
    def labelled(self) -> bool:
        return SPLITS[self.stream.split] != "test"  # published test records have no labels


def generate(
    spec: DatasetSpec, out: str | Path, *, advance: Callable[[int], None] = lambda count: None
) -> Generated:
    """Write the data set into the directory `out`, and complete it where it was interrupted.

    The same `spec` gives the same bytes. More spans may be added later to those that are there;
    anything else in `out` is refused, and so is a second process at the same time. `advance` is
    called with the number of records written.
    """
    with alone_in(Path(out), _LOCK, does="generates records"):
        return _generate(spec, Path(out), advance)


def _generate(spec: DatasetSpec, out: Path, advance: Callable[[int], None]) -> Generated:
    _claim(out, spec)
    world = create_world(spec)
    sampler = LabelSampler(world)
    maker = VideoRecords if spec.level is Level.VIDEO else FrameRecords
    make_records = maker(spec, world).records
    counts = np.zeros(spec.classes, dtype=np.int64)
    shards = list(_shards(spec, out))
    for shard in shards:
        counted = counts if SPLITS[shard.stream.split] == "train" else np.zeros_like(counts)
        if shard.path.exists():  # complete, because files get their name last
            for _, _, labels, rows in _blocks(shard, sampler):
                _count(counted, labels, rows)
            advance(shard.end - shard.first)
        else:
            _write_shard(shard, sampler, make_records, counted, advance)
    storage.write_text(str(out / VOCABULARY_FILE), vocabulary_csv(world, counts))
    if spec.level is Level.SEGMENT:
        rated = "".join(f"{line}\n" for line in ("Index", *world.rated.tolist()))
        storage.write_text(str(out / RATED_FILE), rated)
    files = tuple(shard.path for shard in shards)
    return Generated(
        out=out,
        files=files,
        records=spec.total_examples,
        bytes=sum(path.stat().st_size for path in files),
        vocabulary=out / VOCABULARY_FILE,
    )


def read_dataset_spec(out: Path) -> DatasetSpec | None:
    """The spec of the data set that was generated in `out`, None if there is none."""
    try:
        with reading(out / SPEC_FILE, advice="remove the directory, and generate it again"):
            fields = fields_of((out / SPEC_FILE).read_text())
            known = {field.name for field in dataclasses.fields(DatasetSpec)}
            if unknown := sorted(fields.keys() - known):
                raise NewerFormatError(
                    f"this yt8m {own_version()} does not know {', '.join(unknown)}, so a newer one "
                    "wrote it. Use that one, or generate into another directory"
                )
            return from_dict(DatasetSpec, fields)
    except FileNotFoundError:
        return None


def _claim(out: Path, spec: DatasetSpec) -> None:
    _remove_leftovers(out / SPEC_FILE)
    before = read_dataset_spec(out)
    others = sorted(path.name for path in out.iterdir() if path.name != _LOCK)
    if before is None and others:
        raise UserError(
            f"{out}: holds other files ({', '.join(others[:3])}{', ...' if others[3:] else ''}); "
            "generate into a new directory"
        )
    if before is not None and not _extends(spec, before):
        changed = [k for k, v in to_dict(spec).items() if v != to_dict(before)[k]]
        raise UserError(
            f"{out}: holds a data set generated with different {', '.join(changed)}; "
            "generate into a new directory, or remove this one"
        )
    storage.write_text(str(out / SPEC_FILE), to_text(to_dict(spec)) + "\n")


def _extends(spec: DatasetSpec, before: DatasetSpec) -> bool:
    """True where the data set of `before` is a part of that of `spec`."""
    more = spec.spans is not None and before.spans is not None and spec.spans >= before.spans
    return spec == before or (more and replace(spec, spans=before.spans) == before)


def _shards(spec: DatasetSpec, out: Path) -> Iterator[_Shard]:
    spans = [(0, out)]
    if spec.spans is not None:
        spans = [(span, out / f"span-{span}") for span in range(1, spec.spans + 1)]
    for span, directory in spans:
        for number, split in enumerate(SPLITS):
            count = spec.examples(split)
            files = min(spec.shards, count)
            for i in range(files):
                yield _Shard(
                    directory / f"{split}{i:04d}.tfrecord",
                    Stream(spec.seed, number, span),
                    count * i // files,
                    count * (i + 1) // files,
                )


def _blocks(
    shard: _Shard, sampler: LabelSampler
) -> Iterator[tuple[Stream, int, list[list[int]], range]]:
    """The blocks that the shard has a part of, with their labels and the rows of its own."""
    for block in range(shard.first // BLOCK, (shard.end - 1) // BLOCK + 1):
        start = block * BLOCK
        rows = range(max(shard.first - start, 0), min(shard.end - start, BLOCK))
        yield shard.stream, block, sampler.block(shard.stream, block), rows


def _count(counts: np.ndarray, labels: list[list[int]], rows: range) -> None:
    for i in rows:
        counts[labels[i]] += 1


def _write_shard(
    shard: _Shard,
    sampler: LabelSampler,
    make_records: Callable[..., Iterator[bytes]],
    counts: np.ndarray,
    advance: Callable[[int], None],
) -> None:
    shard.path.parent.mkdir(exist_ok=True)
    _remove_leftovers(shard.path)
    with storage.atomic_write(str(shard.path)) as file:
        for stream, block, labels, rows in _blocks(shard, sampler):
            records = make_records(stream, block, rows, labels, labelled=shard.labelled)
            advance(write_records(file, records))
            _count(counts, labels, rows)


def _remove_leftovers(path: Path) -> None:
    """What a kill left of a file that was being written."""
    for left in path.parent.glob(f".{path.name}.*"):
        left.unlink()
