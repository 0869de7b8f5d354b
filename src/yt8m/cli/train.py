"""Train alone, in one process or a local cluster.

The trainer of the pipeline without the pipeline: the same code, from records to an exported model.
Given again, the same command continues where it was. Below --out: `export` (the SavedModel),
`logs` (TensorBoard, training.jsonl), `checkpoints`, `processes` (a log of each process).

With --processes a cluster of real processes is started on this machine, each with its own
TF_CONFIG; when one fails all are ended. Without it TF_CONFIG of this process is obeyed.

examples:
  yt8m train video_logistic --data demo/data --out demo/train
  yt8m train smoke --data 'demo/data/train*' --out demo/cluster --processes chief=1,worker=1
  yt8m train smoke --data demo/data --out demo/ps --processes chief=1,worker=2,ps=1,evaluator=1
"""

from __future__ import annotations

import argparse
import logging
from pathlib import Path
from typing import TYPE_CHECKING

from yt8m.cli.arguments import DEFAULT_CONFIG, add_config_argument
from yt8m.components.console.console import Console
from yt8m.components.console.quiet import quiet_tensorflow
from yt8m.components.storage.temporary import own_temporary_directory

if TYPE_CHECKING:
    from yt8m.components.trainer.job import TrainingJob
    from yt8m.pipeline.config import PipelineConfig

_WILDCARDS = set("*?[{")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config_argument(parser)
    # The old form of it; without either, the default holds.
    parser.add_argument("--config", dest="config_option", help=argparse.SUPPRESS)
    parser.set_defaults(config=None)
    parser.add_argument(
        "--data",
        required=True,
        metavar="DIR|PATTERN",
        help="the records: a directory, or a pattern of the training shards",
    )
    parser.add_argument(
        "--validation",
        metavar="PATTERN",
        help="shards to validate on; default: the configured ones beside the training shards",
    )
    parser.add_argument("--out", required=True, metavar="DIR", help="model, logs and checkpoints")
    parser.add_argument(
        "--processes",
        metavar="ROLE=N,...",
        help="a local cluster, e.g. chief=1,worker=2,ps=1,evaluator=1",
    )
    parser.add_argument("--vocabulary", default="", metavar="CSV", help="names of the classes")
    parser.add_argument(
        "--warm-start", metavar="DIR", help="an export or a checkpoint to take weights from"
    )


def run(args: argparse.Namespace, console: Console) -> int | None:
    import os

    from yt8m.components.trainer.tf_config import Cluster, ClusterKind, check_processes

    alone = False
    if args.processes is None:
        # A wrong TF_CONFIG is reported before anything is read.
        alone = Cluster.from_env(os.environ).kind is ClusterKind.LOCAL
        if not console.quiet:
            # Before standard error is filtered, so that what is logged is written above the bar.
            logging.basicConfig(level=logging.INFO, format="%(message)s")
    else:
        check_processes(args.processes)
    with own_temporary_directory(), quiet_tensorflow(but_errors=not alone):
        config = _config(args)
        out = Path(args.out).absolute()
        job = _job(config, args, out)
        _train(job, args, out, console)
    console.result({"export": job.export_dir, "logs": job.log_dir}, f"model: {job.export_dir}")
    return None


def _config(args: argparse.Namespace) -> PipelineConfig:
    from yt8m.components.trainer.tf_config import check_processes
    from yt8m.pipeline.presets import load_config

    config = load_config(_config_name(args), [*args.set, *_settings(args)])
    if args.processes is not None:
        check_processes(args.processes, waiting=config.trainer.waits_for_evaluations)
    return config


def _config_name(args: argparse.Namespace) -> str:
    from yt8m.schemas.errors import UserError

    name, option = args.config, args.config_option
    if option and name and name != option:
        raise UserError(f"two configurations, {name} and --config {option}: give one")
    return str(option or name or DEFAULT_CONFIG)


def _settings(args: argparse.Namespace) -> list[str]:
    import json

    data = args.data
    settings: dict[str, str | list[str]] = {"data.root": data}
    if _WILDCARDS & set(data):
        settings = {"data.root": str(Path(data).absolute().parent)}
        settings["data.splits.train"] = [str(Path(data).absolute())]
    if args.validation:
        settings["data.splits.eval"] = [str(Path(args.validation).absolute())]
    if args.vocabulary:
        settings["evaluator.vocabulary"] = str(Path(args.vocabulary).absolute())
    if args.warm_start:
        settings["trainer.warm_start"] = str(Path(args.warm_start).absolute())
    return [f"{path}={json.dumps(value)}" for path, value in settings.items()]


def _job(config: PipelineConfig, args: argparse.Namespace, out: Path) -> TrainingJob:
    from yt8m.components.trainer.job import TrainingJob

    return TrainingJob(
        manifest=str(_write_manifest(config, out)),
        checkpoint_dir=str(out / "checkpoints"),
        log_dir=str(out / "logs"),
        export_dir=str(out / "export"),
        evaluation_dir=str(out / "evaluated"),
        vocabulary=config.evaluator.vocabulary,
        transform=config.transform.function,
        level=config.data.level,
        features=config.features,
        trainer=config.trainer,
    )


def _write_manifest(config: PipelineConfig, out: Path) -> Path:
    """What ExampleGen would write; the records stay where they are and are counted only."""
    import dataclasses

    from yt8m.components import storage
    from yt8m.components.artifacts.manifest import FILE_NAME, Manifest
    from yt8m.components.example_gen.config import Ingest, Verify
    from yt8m.components.example_gen.materialize import materialize_shards
    from yt8m.components.example_gen.reconcile import enforce_bad_input_policy
    from yt8m.components.example_gen.sources import resolve_sources
    from yt8m.components.example_gen.verify import verify_shards

    data = dataclasses.replace(config.data, ingest=Ingest.REFERENCE, verify=Verify.OFF)
    reports = verify_shards(resolve_sources(data).shards, data, config.features)
    enforce_bad_input_policy(reports, data)
    shards = materialize_shards(reports, ingest=Ingest.REFERENCE, root=str(out / "data"))
    manifest = Manifest(level=data.level, shards=tuple(shards), verify=data.verify.value)
    path = out / "data" / FILE_NAME
    storage.write_text(str(path), manifest.to_json())
    return path


def _train(job: TrainingJob, args: argparse.Namespace, out: Path, console: Console) -> None:
    import os

    if args.processes is not None:
        from yt8m.components.trainer.backends.local import run_cluster

        run_cluster(
            job,
            args.processes,
            environ=os.environ,
            log_dir=out / "processes",
            show=lambda name, state: console.info(f"{name}: {state}"),
        )
        return
    from yt8m.components.trainer.backends.backend import create_backend

    for noisy in ("tensorflow", "absl"):
        logging.getLogger(noisy).setLevel(logging.ERROR)
    create_backend(job.trainer.backend).run(job, os.environ)
