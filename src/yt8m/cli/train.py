"""Action of `yt8m train`."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from yt8m.cli.arguments.runs import TrainArguments
from yt8m.components import storage
from yt8m.components.artifacts.manifest import FILE_NAME, Manifest
from yt8m.components.artifacts.record_index import FILE_NAME as INDEX_FILE
from yt8m.components.artifacts.record_index import pack_index
from yt8m.components.console.console import Console
from yt8m.components.console.quiet import quiet_tensorflow
from yt8m.components.example_gen.config import Ingest, Verify
from yt8m.components.example_gen.ingest import record_index
from yt8m.components.example_gen.materialize import materialize_shards
from yt8m.components.example_gen.reconcile import enforce_bad_input_policy
from yt8m.components.example_gen.sources import resolve_sources
from yt8m.components.example_gen.verify import count_shards
from yt8m.components.metrics.catalogue import METRICS
from yt8m.components.records.shared_index import SharedIndex
from yt8m.components.storage.lock import NoLocksError
from yt8m.components.storage.temporary import own_temporary_directory
from yt8m.components.trainer.backend_config import LocalProcessesBackend
from yt8m.components.trainer.backends.backend import create_backend
from yt8m.components.trainer.backends.local import run_cluster
from yt8m.components.trainer.evaluation.exported_scores import exported_row
from yt8m.components.trainer.evaluation.exporters import exported_steps
from yt8m.components.trainer.job import TrainingJob
from yt8m.components.trainer.state.content_digest import content_digests
from yt8m.components.trainer.tf_config import Cluster, ClusterKind, check_processes
from yt8m.pipeline.config import PipelineConfig
from yt8m.pipeline.workspace import run_lock
from yt8m.schemas.config_layers import overrides_of
from yt8m.schemas.errors import UserError
from yt8m.schemas.roles import FilePath, replaced

_LOCK = "train.lock"  # in --out


def run(args: TrainArguments, console: Console) -> int | None:
    cluster, alone = Cluster(), False
    if args.processes is None:
        # A wrong TF_CONFIG is reported before anything is read.
        cluster = Cluster.from_env(os.environ)
        alone = cluster.kind is ClusterKind.LOCAL
        if not console.quiet:
            # Before standard error is filtered, so that what is logged is written above the bar.
            logging.basicConfig(level=logging.INFO, format="%(message)s")
    with (
        own_temporary_directory() as temporary,
        quiet_tensorflow(but_errors=not alone),
        contextlib.ExitStack() as stack,
    ):
        config = _config(args)
        out = Path(args.out).absolute()
        if cluster.is_chief:
            stack.enter_context(_only_training(out))
        # Processes that have not met yet must not write over one another's manifest.
        data = (out if cluster.is_chief else temporary) / "data"
        manifest = _write_manifest(config, data, begin=cluster.position)
        job = _job(config, args, out, manifest=manifest)
        _train(job, args, out, console)
    measured = exported_row(job.trainer, job.checkpoint_dir)
    value = {
        "export": job.export_dir,
        "logs": job.log_dir,
        "metrics": _metrics(measured),
        "step": None if measured is None else measured["step"],
        "exports": _exports(job),
    }
    console.result(value, f"model: {job.export_dir}{_text(measured)}")
    return None


@contextlib.contextmanager
def _only_training(out: Path) -> Iterator[None]:
    """Two in one directory would mix their checkpoints and curves, of other settings perhaps."""
    out.mkdir(parents=True, exist_ok=True)
    advice = "wait for it, stop it, or train in another --out"
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(
            NoLocksError
        ):  # a bucket that is mounted is trained in all the same
            stack.enter_context(run_lock(out / _LOCK, advice=advice))
        yield


def _metrics(measured: Mapping[str, Any] | None) -> dict[str, float | None]:
    """The metrics of the catalogue; none where nothing was validated or evaluated."""
    if measured is None:
        return {}
    return {metric.name: measured[metric.name] for metric in METRICS if metric.name in measured}


def _text(measured: Mapping[str, Any] | None) -> str:
    if measured is None:
        return ""
    values = {name: value for name, value in _metrics(measured).items() if value is not None}
    told = ", ".join(f"{name} {value:.4f}" for name, value in values.items())
    return f", of step {measured['step']}: {told}"


def _exports(job: TrainingJob) -> dict[str, list[int]]:
    """The steps that each exporter has kept, by the exporter's directory."""
    names = [exporter.directory for exporter in job.trainer.evaluation.exporters]
    return {name: exported_steps(storage.join(job.exporters_dir, name)) for name in names}


def _config(args: TrainArguments) -> PipelineConfig:
    values = _records(args.data)
    if args.validation:
        values["data.splits.eval"] = [_pattern(args.validation)]
    config = dataclasses.replace(args, set=(*args.set, *overrides_of(values))).load()
    if args.processes is not None:
        check_processes(args.processes, waiting=config.trainer.waits_for_evaluations)
    rewrite = config.data.rewrite
    for key, function in (("parse", rewrite.parse), ("keep", rewrite.keep)):
        if function:
            raise UserError(
                f"data.rewrite.{key} = {function}: yt8m train reads all records as they are; "
                "yt8m run rewrites them first"
            )
    return replaced(config, FilePath, storage.absolute)


def _records(places: Sequence[str]) -> dict[str, str | list[str]]:
    """Return the settings that name the records: a directory, or files by names and patterns."""
    directories = [place for place in places if storage.is_dir(place)]
    if directories and len(places) == 1:
        return {"data.root": places[0]}
    if directories:
        raise UserError(f"--data {directories[0]}: pass one directory, or several patterns")
    beside = storage.absolute(places[0]).rpartition("/")[0]
    return {"data.root": beside, "data.splits.train": [_pattern(place) for place in places]}


def _pattern(place: str) -> str:
    """Its files; one that is there by this very name is that file, whatever is in the name."""
    address = storage.absolute(place)
    return storage.escape(address) if storage.exists(address) else address


def _job(config: PipelineConfig, args: TrainArguments, out: Path, *, manifest: Path) -> TrainingJob:
    return TrainingJob(
        manifest=str(manifest),
        checkpoint_dir=str(out / "checkpoints"),
        log_dir=str(out / "logs"),
        export_dir=str(out / "export"),
        evaluation_dir=str(out / "evaluated"),
        vocabulary=config.evaluator.vocabulary,
        transform=config.transform.function,
        content=content_digests(config.trainer, path="trainer"),
        level=config.data.level,
        features=config.features,
        trainer=config.trainer,
    )


def _write_manifest(config: PipelineConfig, directory: Path, *, begin: float) -> Path:
    """Write a manifest as ExampleGen would; the records stay where they are."""
    data = dataclasses.replace(config.data, ingest=Ingest.REFERENCE, verify=Verify.OFF)
    sources = resolve_sources(data)
    reports = count_shards(sources.shards, data, config.features, index=SharedIndex(), begin=begin)
    enforce_bad_input_policy(reports, data)
    shards = materialize_shards(reports, ingest=Ingest.REFERENCE, root=str(directory))
    manifest = Manifest(
        level=data.level, shards=tuple(shards), verify=data.verify.value, dated=sources.dated
    )
    indices = record_index(shards, reports, {}, level=data.level)
    storage.write_bytes(str(directory / INDEX_FILE), pack_index(indices))
    path = directory / FILE_NAME
    storage.write_text(str(path), manifest.to_json())
    return path


def _train(job: TrainingJob, args: TrainArguments, out: Path, console: Console) -> None:
    if args.processes is not None:
        backend = job.trainer.backend
        local = backend if isinstance(backend, LocalProcessesBackend) else LocalProcessesBackend()
        run_cluster(
            job,
            dataclasses.replace(local, processes=args.processes),
            environ=os.environ,
            log_dir=out / "processes",
            show=lambda name, state: console.info(f"{name}: {state}"),
        )
        return
    for noisy in ("tensorflow", "absl"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    create_backend(job.trainer.backend).run(job, os.environ)
