"""`run_fn`, which TFX's Trainer calls by its dotted path."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from yt8m.components import storage
from yt8m.components.artifacts.manifest import FILE_NAME, Manifest
from yt8m.components.artifacts.read import read_file
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.artifacts.tuner_results import tuned_values
from yt8m.components.records.vocabulary import vocabulary_digest
from yt8m.components.storage.followed import followed
from yt8m.components.trainer.backends.backend import create_backend
from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.trainer.hyperparameters import with_values
from yt8m.components.trainer.job import TrainingJob, training_code
from yt8m.components.trainer.kubernetes_config import KubernetesBackend
from yt8m.components.trainer.state.content_digest import content_digests
from yt8m.components.trainer.state.done_marker import NAMING_OTHERS
from yt8m.components.trainer.state.training_notes import announce_interrupted
from yt8m.components.trainer.state.warm_start import weights_digest
from yt8m.components.trainer.transformed import are_transformed, write_manifest
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.errors import UserError
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.kubernetes import IMAGE_VARIABLE


def run_fn(fn_args: Any) -> None:  # Any: TFX's FnArgs is an attrs class without types
    """Train, and export to `fn_args.serving_model_dir`."""
    job = job_of(fn_args)
    announce_interrupted(job)
    with followed(job.checkpoint_dir, last=NAMING_OTHERS) as directory:
        here = replace(job, checkpoint_dir=directory)
        create_backend(job.trainer.backend).run(here, os.environ)


def job_of(fn_args: Any) -> TrainingJob:
    """The job that TFX's arguments and `custom_config` (see component.py) describe."""
    custom: Mapping[str, Any] = fn_args.custom_config
    trainer = from_dict(TrainerConfig, custom["config"], path="trainer")
    if fn_args.hyperparameters:  # a Tuner came before
        trainer = with_values(trainer, tuned_values(fn_args.hyperparameters["values"]))
    features = from_dict(FeatureConfig, custom["features"], path="features")
    level = Level(custom["level"])
    patterns = [*fn_args.train_files, *fn_args.eval_files]
    if are_transformed(patterns):
        # The Trainer's directory, or the Tuner's.
        manifest = write_manifest(patterns, fn_args.model_run_dir or fn_args.working_dir)
    else:
        manifest = _find_manifest(fn_args.train_files)
    vocabulary = custom.get("vocabulary", "")
    base_model = _existing_model(fn_args.base_model) if trainer.start_from_base else ""
    transform = custom.get("transform", "")
    content = {
        "the records": _data_digest(manifest),
        # Not the digest that was compiled in: the image may have other code.
        "the code": training_code(trainer, transform),
        **_other_image(trainer, os.environ),
        **content_digests(trainer, path="trainer"),
    }
    if base_model and not trainer.warm_start:
        content["the baseline"] = weights_digest(base_model)
    if trainer.learns_verticals:
        content["evaluator.vocabulary"] = vocabulary_digest(vocabulary)
    job = TrainingJob(
        manifest=manifest,
        checkpoint_dir="",
        log_dir=fn_args.model_run_dir,
        export_dir=fn_args.serving_model_dir,
        transform_graph=fn_args.transform_output or "",
        transform=transform,
        vocabulary=vocabulary,
        base_model=base_model,
        content=content,
        level=level,
        features=features,
        trainer=trainer,
    )
    return replace(job, checkpoint_dir=f"{custom['checkpoint_root']}/{job.key}")


def _find_manifest(train_files: list[str]) -> str:
    """The manifest above the patterns of files that TFX passes."""
    for pattern in train_files:
        path = f"{pattern.rpartition('/')[0].rpartition('/')[0]}/{FILE_NAME}"
        if storage.exists(path):
            return path
    raise UserError(f"no {FILE_NAME} above {train_files}; yt8m's ExampleGen writes one")


def _data_digest(manifest: str) -> str:
    return read_file(manifest, Manifest.from_json).digest


def _other_image(trainer: TrainerConfig, environ: Mapping[str, str]) -> dict[str, str]:
    """Pods of another image have code of their own, which this process cannot look at."""
    backend = trainer.backend
    image = backend.image if isinstance(backend, KubernetesBackend) else ""
    other = image and image != environ.get(IMAGE_VARIABLE, "")
    return {"trainer.backend.image": image} if other else {}


def _existing_model(path: str | None) -> str:
    """Baseline's artifact is empty while no model was blessed; TFX hands its path over anyway."""
    return path if path and storage.exists(f"{path}/{MODEL_FILE}") else ""
