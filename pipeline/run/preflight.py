"""Preflight: a list of everything that would stop the run later."""

from __future__ import annotations

import contextlib
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from yt8m.components import storage
from yt8m.components.artifacts.decision import GateMode
from yt8m.components.artifacts.saved_model import unfindable
from yt8m.components.baseline.select import check_registry
from yt8m.components.evaluator.shard_selection import choose_shards
from yt8m.components.example_gen.config import BadInput, Ingest
from yt8m.components.example_gen.sources import (
    Sources,
    bytes_copied_to_sample,
    resolve_sources,
)
from yt8m.components.records.decode import MalformedRecord, Record, decode_record
from yt8m.components.records.shard_reader import count_records, open_shard
from yt8m.components.records.tfrecord import BrokenRecord, read_records
from yt8m.components.records.validation import Expected, level_fault
from yt8m.components.records.vocabulary import load_vocabulary
from yt8m.components.registry.archive import is_archive
from yt8m.components.registry.signature import check_keys
from yt8m.components.trainer.kubernetes_config import KubernetesBackend
from yt8m.components.trainer.tf_config import Cluster
from yt8m.pipeline.beam import check_beam
from yt8m.pipeline.cache_keys import digest_of
from yt8m.pipeline.config import BeamRunner, PipelineConfig
from yt8m.pipeline.metadata import check_metadata
from yt8m.pipeline.run.memory_estimate import available_bytes, training_bytes
from yt8m.pipeline.run.prometheus import other_root
from yt8m.pipeline.run_record import read_run_records
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.errors import ConfigError, UserError
from yt8m.schemas.features import LABELS, SEGMENT_LABELS, Level
from yt8m.schemas.own_code import missing_module
from yt8m.schemas.roles import SourcePath, fields_with, own_modules

# Statistics, logs, metadata and a small model; what is copied from the sources comes on top.
_BASE_DISK_BYTES = 300 << 20
_COPYING = (Ingest.COPY, Ingest.REWRITE)
_GB = 1e9
_TRAINED_ON = "train"
# Of the first shard of each split: enough to see that the configuration means other data.
_PEEKED_RECORDS = 100
_PEEKED_BYTES = 4 << 20

Check = Callable[[PipelineConfig, Mapping[str, str]], Iterator[str]]


def preflight(config: PipelineConfig, environ: Mapping[str, str]) -> None:
    """Raise one ConfigError that lists every problem found."""
    all_problems: list[str] = []
    for check in _CHECKS:
        try:
            all_problems += check(config, environ)
        except UserError as error:  # the checked part's own message
            all_problems.append(str(error))
    problems = list(dict.fromkeys(all_problems))  # of an absent file several checks say the same
    if problems:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        listing = "\n".join(f"- {problem}" for problem in problems)
        raise ConfigError(f"the run cannot start, {count}:\n{listing}")


def _root(config: PipelineConfig, _: Mapping[str, str]) -> Iterator[str]:
    if not config.root:
        yield "root is not set: say where to keep artifacts, metadata and logs (--root DIR)"
    elif storage.local_path(config.root) is None:
        yield from _remote_root(config)
    elif wild := storage.wildcards(config.root):
        yield (
            f"root {config.root}: TFX and Beam search files by patterns, in which {wild} are "
            "special characters; choose a directory without them"
        )
    elif problem := storage.unwritable(config.root):
        yield f"root {config.root}: {problem}"


def _remote_root(config: PipelineConfig) -> Iterator[str]:
    """What a root in an object store cannot do yet."""
    where = f"root {config.root}: in an object store"
    if config.beam.runner is not BeamRunner.LOCAL and config.transform.materialize:
        yield (
            f"{where}, and transform.materialize with beam.runner = {config.beam.runner.value}: "
            "TFX's Transform lets an engine's workers write to the root's disk; leave one of the "
            "two out, or use a --root on a disk that the workers share"
        )
    if isinstance(config.trainer.backend, KubernetesBackend):
        yield (
            f"{where}, and trainer.backend.name = {config.trainer.backend.name}: its pods write "
            "checkpoints to a volume; use a --root on that volume"
        )
    if config.tuner is not None:
        yield f"{where}, and a search (tuner) keeps its trials on a disk; use a --root on one"
    if wild := storage.wildcards(config.root):
        yield f"{where}, its name has {wild}, which stand for others in patterns"
    yield from _foreign_metadata(config)


def _foreign_metadata(config: PipelineConfig) -> Iterator[str]:
    """Another machine's runs: this one would number its executions from 1 again, over theirs."""
    layout = Layout(config.root)
    if config.metadata.mysql is not None or layout.database.exists():
        return
    try:
        known = next(read_run_records(layout), None)
    except OSError as error:
        yield f"root {config.root}: cannot be used ({error})"
        return
    if known is not None:
        yield (
            f"root {config.root}: its runs are recorded in metadata.db of the machine that made "
            f"them, and this one has no {layout.database}; run there, put its file here, use "
            "metadata.mysql from the first run on, or another --root"
        )


def _push(config: PipelineConfig, _: Mapping[str, str]) -> Iterator[str]:
    push_dir = config.pusher.push_dir
    if not push_dir:
        yield "pusher.push_dir is not set: say where models go (--push DIR)"
    elif problem := storage.unwritable(push_dir):
        yield f"pusher.push_dir {push_dir}: {problem}"
    elif problem := unfindable(storage.absolute(push_dir)):
        yield f"pusher.push_dir {push_dir}: {problem}; choose a directory without it"
    elif config.root:
        layout, place = Layout(storage.real_name(config.root)), storage.real_name(push_dir)
        within = [owned for owned in layout.owned if f"{place}/".startswith(f"{owned}/")]
        if place == layout.root or within:
            yield (
                f"pusher.push_dir {push_dir}: {within[0] if within else 'root'} is the run's own, "
                "and `yt8m gc` cleans it; give models a directory beside it, e.g. "
                f"{layout.root}-models"
            )


def _registry(config: PipelineConfig, _: Mapping[str, str]) -> Iterator[str]:
    check_registry(config.baseline, config.pusher.push_dir)
    return iter(())


def _keys(config: PipelineConfig, _: Mapping[str, str]) -> Iterator[str]:
    """Whether what is pushed can be signed, and would be trusted."""
    check_keys(config.registry)
    return iter(())


def _sources(config: PipelineConfig, _: Mapping[str, str]) -> Iterator[str]:
    """Whether every source is there, and what it should be."""
    for source in fields_with(config, SourcePath):
        try:
            digest_of(config, source)
        except UserError as error:
            yield str(error)


def _data(config: PipelineConfig, _: Mapping[str, str]) -> Iterator[str]:
    sources = resolve_sources(config.data)
    if (problem := _span_problem(config, sources)) or not sources.shards:
        yield problem or f"data.root {config.data.root}: there are no records"
        return
    choose_shards(config.evaluator, sources.shards, dated=sources.dated)
    yield from _places_of_records(config, sources)
    yield from _other_data(config, sources)


def _span_problem(config: PipelineConfig, sources: Sources) -> str:
    span = config.data.span
    if sources.spans or not span[:1].isdigit():
        return ""
    if any(shard.span is None for shard in sources.shards):
        return (
            f"data.span = {span}: no pattern of data.splits has {{SPAN}} or a date, so there "
            "are none to choose from; write one, e.g. span-{SPAN}/train*, or leave data.span out"
        )
    return f"data.span = {span}: there is no span that every split has"


def _places_of_records(config: PipelineConfig, sources: Sources) -> Iterator[str]:
    """Where records lie nothing else is written: the next run might take it for records."""
    taken = {storage.real_name(shard.uri.rpartition("/")[0] or "/") for shard in sources.shards}
    if config.data.root:
        taken.add(storage.real_name(config.data.root))
    for name, option, place in (
        ("root", "--root", config.root),
        ("pusher.push_dir", "--push", config.pusher.push_dir),
    ):
        if place and storage.real_name(place) in taken:
            yield f"{name} {place}: it holds the records; choose another directory ({option} DIR)"


def _other_data(config: PipelineConfig, sources: Sources) -> Iterator[str]:
    """Where the first records are of another level or have other classes, so are all the others."""
    for split in sorted({shard.split for shard in sources.shards}):
        expected = Expected(
            config.data.level, {}, None, labelled=split not in config.data.unlabelled
        )
        uri = min(shard.uri for shard in sources.split(split))
        records = _first_records(uri)
        other = [r.level for r in records if level_fault(r, expected)]
        if other and len(other) == len(records):
            yield (
                f"data.level = {config.data.level.value}: {uri} holds {other[0].value}-level "
                f"records; choose a preset of that level (yt8m config list), or other records"
            )
            return
        largest = [max(map(int, _classes(record)), default=-1) for record in records]
        beyond = [number for number in largest if number >= config.features.num_classes]
        quarantines = config.data.bad_input is BadInput.QUARANTINE
        tolerated = config.data.max_quarantined if quarantines else 0.0
        if len(beyond) > tolerated * len(records):
            yield (
                f"features.num_classes = {config.features.num_classes}: {len(beyond)} of the first "
                f"{len(records)} records of {uri} have classes from there up to {max(beyond)}; set "
                f"it to the number of classes of your vocabulary, {max(beyond) + 1} or more"
            )
            return


def _first_records(uri: str) -> list[Record]:
    """As far as they can be read; what is damaged is reported by ExampleGen, with its place."""
    records: list[Record] = []
    damage = (BrokenRecord, MalformedRecord, OSError, EOFError, zlib.error)
    with contextlib.suppress(*damage), open_shard(uri) as (file, _):
        for offset, data in read_records(file):
            records.append(decode_record(data))
            if len(records) == _PEEKED_RECORDS or offset > _PEEKED_BYTES:
                break
    return records


def _classes(record: Record) -> Iterable[Any]:
    for key in (LABELS, SEGMENT_LABELS):
        values = record.features.get(key)
        if isinstance(values, np.ndarray) and values.dtype == np.int64:
            yield from values


def _own_code(config: PipelineConfig, _: Mapping[str, str]) -> Iterator[str]:
    """Whether the user's own code is there, without importing it."""
    yield from config.own_code_problems()


def _notify(config: PipelineConfig, _: Mapping[str, str]) -> Iterator[str]:
    command = config.notify.command
    if command and shutil.which(command[0]) is None:
        yield f"notify.command {command[0]}: no such program, or it may not be executed"


def _metrics_file(config: PipelineConfig, _: Mapping[str, str]) -> Iterator[str]:
    """Two roots would replace each other's file by turns, and alerts would come and go."""
    try:
        other = other_root(config)
    except (OSError, UnicodeDecodeError) as error:
        yield f"retrain.metrics_file {config.retrain.metrics_file}: cannot be read ({error})"
        return
    if other:
        yield (
            f"retrain.metrics_file {config.retrain.metrics_file}: it is the file of root {other}; "
            "give each root a file of its own, or remove this one if that root is gone"
        )


def _disk(config: PipelineConfig, _: Mapping[str, str]) -> Iterator[str]:
    needed = _BASE_DISK_BYTES
    with contextlib.suppress(UserError):  # _data says what is wrong there
        sources = resolve_sources(config.data)
        if config.data.ingest in _COPYING:
            needed += sum(shard.size for shard in sources.shards)
        else:
            needed += bytes_copied_to_sample(sources, config.data, to=config.root)
    for name, place in (("root", config.root), ("pusher.push_dir", config.pusher.push_dir)):
        free = storage.free_bytes(place) if place else None
        if free is not None and free < needed:
            yield (
                f"{name} {place}: {free / _GB:.1f} GB free, and the run may need "
                f"{needed / _GB:.1f} GB; make room (yt8m gc), or use another disk"
            )


def _memory(config: PipelineConfig, _: Mapping[str, str]) -> Iterator[str]:
    needed, available = training_bytes(config), available_bytes()
    trials = config.tuner.num_parallel_trials if config.tuner else 1
    if available is not None and needed > available:
        yield (
            f"memory: training with this configuration needs about {needed / _GB:.1f} GB, and "
            f"{available / _GB:.1f} GB are free; lower trainer.batch_size (trainer.accumulate "
            "keeps the update's size), or choose a smaller model"
        )
    elif available is not None and needed * trials > available:
        yield (
            f"memory: {trials} trials side by side need about {needed * trials / _GB:.1f} GB, and "
            f"{available / _GB:.1f} GB are free; lower tuner.num_parallel_trials"
        )


def _gate(config: PipelineConfig, _: Mapping[str, str]) -> Iterator[str]:
    from yt8m.components.evaluator.thresholds import check_gate

    yield from check_gate(config.gate, config.evaluator)
    is_missing = any(map(missing_module, own_modules(config.evaluator)))  # _own_code says so
    if config.evaluator.eval_config and not is_missing:
        # TFMA takes seconds to import.
        from yt8m.components.evaluator.tfma_user_metrics import check_user_metrics

        check_user_metrics(config.evaluator, config.gate)


def _evaluated_split(config: PipelineConfig, _: Mapping[str, str]) -> Iterator[str]:
    split, known = config.evaluator.split, config.data.split_names
    others = ", ".join(sorted(known - {_TRAINED_ON}))
    if split == _TRAINED_ON:
        yield (
            f"evaluator.split = {split}: models are trained on it, so it says nothing about how "
            f"good they are; choose one of {others}"
        )
    elif split not in known:
        yield f"evaluator.split = {split}: the data have no such split; known: {others}"


def _splits_with_files(config: PipelineConfig, _: Mapping[str, str]) -> Iterator[str]:
    """Steps that would find no records of their split, after others have worked for them."""
    wanted = {}
    if config.bulk_inferrer is not None:
        wanted["bulk_inferrer.split"] = config.bulk_inferrer.split
    if config.tuner is not None or config.trainer.waits_for_evaluations:
        wanted["trainer.validation_split"] = config.trainer.validation_split
    if not wanted or config.data.divide.patterns:
        return
    with contextlib.suppress(UserError):  # _data says what is wrong there
        there = {shard.split for shard in resolve_sources(config.data).shards}
        for key, split in wanted.items():
            if split not in there:
                yield (
                    f"{key} = {split}: no file of this split is in the data; choose one of "
                    f"{', '.join(sorted(there))}, or provide the files"
                )


def _evaluated(config: PipelineConfig, _: Mapping[str, str]) -> Iterator[str]:
    """Too few records to judge by: the gate would say so too, but after the training."""
    gate, split = config.gate, config.evaluator.split
    if gate.mode is GateMode.NONE or config.data.level is Level.SEGMENT:  # it counts segments there
        return
    with contextlib.suppress(UserError):  # _data says what is wrong there
        shards = choose_shards(config.evaluator, resolve_sources(config.data).shards).shards
        rows = 0
        for shard in shards:
            if rows >= gate.min_examples or storage.local_path(shard.uri) is None:
                return
            rows += count_records(shard.uri)[0]
        if shards and rows < gate.min_examples:
            yield (
                f"gate.min_examples = {gate.min_examples}: split {split} has {rows} records, so "
                "no model could pass; provide more records, or judge by these alone with "
                f"gate.min_examples={rows}"
            )


def _vocabulary(config: PipelineConfig, _: Mapping[str, str]) -> Iterator[str]:
    if config.evaluator.vocabulary:
        load_vocabulary(config.evaluator.vocabulary, num_classes=config.features.num_classes)
    return iter(())


def _cluster(_: PipelineConfig, environ: Mapping[str, str]) -> Iterator[str]:
    Cluster.from_env(environ)
    return iter(())


def _beam(config: PipelineConfig, _: Mapping[str, str]) -> Iterator[str]:
    yield from check_beam(config.beam)
    if config.beam.runner is BeamRunner.DATAFLOW:
        yield from _out_of_dataflows_reach(config)
    if config.beam.runner is not BeamRunner.LOCAL:
        yield from _archives_for_workers(config)


def _contexts(config: PipelineConfig) -> list[tuple[str, str]]:
    """The models, beside the scored one, that Beam's workers load."""
    contexts = [("evaluator.context", config.evaluator.context)]
    if config.bulk_inferrer is not None:
        contexts.append(("bulk_inferrer.context", config.bulk_inferrer.context))
    return contexts


def _archives_for_workers(config: PipelineConfig) -> Iterator[str]:
    """Archives are unpacked to this machine's temporary directory."""
    for name, place in _contexts(config):
        if is_archive(place):
            yield (
                f"beam.runner = {config.beam.runner.value}: {name} {place} is an archive, and its "
                "workers do not see where it is unpacked; unpack it to a directory that they read, "
                "and name that"
            )


def _out_of_dataflows_reach(config: PipelineConfig) -> Iterator[str]:
    """Places on this machine that its workers would read or write."""
    places = [("root", config.root), *_contexts(config)]
    with contextlib.suppress(UserError):  # _data says what is wrong there
        places += [("data", shard.uri) for shard in resolve_sources(config.data).shards[:1]]
    for name, place in places:
        if place and storage.local_path(place) is not None:
            yield (
                f"beam.runner = dataflow: Google's machines read and write there too, and {name} "
                f"{place} is on this one; put it into a bucket of Google Cloud"
            )


def _metadata(config: PipelineConfig, _: Mapping[str, str]) -> Iterator[str]:
    if config.root:
        yield from check_metadata(config.metadata, Layout(config.root).database)


_CHECKS: tuple[Check, ...] = (
    _root,
    _push,
    _registry,
    _keys,
    _sources,
    _data,
    _disk,
    _memory,
    _gate,
    _evaluated_split,
    _splits_with_files,
    _evaluated,
    _vocabulary,
    _own_code,
    _cluster,
    _beam,
    _metadata,
    _notify,
    _metrics_file,
)
