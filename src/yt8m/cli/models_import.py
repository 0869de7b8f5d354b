"""Action of `yt8m models import`."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Mapping

from yt8m.cli.arguments.models import ModelsImportArguments
from yt8m.components import storage
from yt8m.components.artifacts.estimate import Estimate, estimate_text
from yt8m.components.artifacts.evaluation import Evaluation
from yt8m.components.artifacts.export_info import FILE_NAME, ExportInfo, foreign_info
from yt8m.components.artifacts.saved_model import MODEL_FILE
from yt8m.components.artifacts.version_record import DataRecord, Origin, VersionRecord
from yt8m.components.console.console import Console
from yt8m.components.evaluator.model_evaluation import evaluate_files
from yt8m.components.export.load import LoadedModel, check_self_contained, load_model
from yt8m.components.extras.starter_code.checkpoint import export_checkpoint, find_checkpoint
from yt8m.components.extras.starter_code.saved_model import (
    export_saved_model,
    is_starter_code_export,
)
from yt8m.components.registry.archive import is_archive, unpack_model
from yt8m.components.registry.config import RegistryConfig
from yt8m.components.registry.push import push
from yt8m.components.registry.signature import check_keys, signer_of
from yt8m.components.registry.versions import InService, in_service, version_path
from yt8m.schemas.config_tree import to_dict
from yt8m.schemas.errors import UserError, Yt8mError
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.metric_names import GAP


def run(args: ModelsImportArguments, console: Console) -> None:
    """Check the model, score it, and push it."""
    said = {name: value for name, _, value in (flag.partition("=") for flag in args.flag)}
    with as_export(args.model, level=args.level, said=said) as export:
        _import(args, export, args.level, console)


def _import(args: ModelsImportArguments, export: str, said: Level | None, console: Console) -> None:
    if storage.exists(storage.join(export, MODEL_FILE)):  # else loading says what is wrong
        check_self_contained(export)
    model = load_model(export)
    _ = model.serve
    registry = RegistryConfig(signing_key=args.signing_key)
    if args.data:
        _check_push(args.push, registry)
    served = in_service(args.push) if args.data else InService()
    evaluation = _score(args, export, served, console) if args.data else None
    if evaluation is not None and not evaluation.classes:  # every model's GAP is 0 on them
        raise UserError(
            f"no record of {args.data} has a label, so no model can be scored and nothing was "
            "imported; give labelled records (segments with ratings), or import without --data as "
            "a baseline that is not served"
        )
    level = _level(model, said, evaluation)
    with _described(model, level) as (directory, info):
        metrics = evaluation.overall.candidate if evaluation else {}
        is_compared = evaluation is not None and bool(evaluation.overall.baseline)
        record = VersionRecord(
            origin=Origin.IMPORT,
            origin_path=args.model,
            blessed=True,  # by whoever imports it
            reason=_reason(evaluation, args.data, served),
            baseline_version=served.version if is_compared else 0,
            baseline_digest=served.digest if is_compared else "",
            metrics=dict(metrics),
            data=DataRecord(level=info.level.value),
            configuration={"trainer": info.config, "features": to_dict(info.features)},
        )
        version = push(
            directory,
            args.push,
            record,
            served=evaluation is not None,
            replaces=served if evaluation is not None else None,
            signer=signer_of(registry),
        )
    change = _change(evaluation)
    value = {
        "version": version.number,
        "path": version.path,
        "imported": args.model,
        "served": evaluation is not None,
        "metrics": {name: estimate.value for name, estimate in metrics.items()},
        "compared_with": record.baseline_version or None,
        "gap_difference": to_dict(change) if record.baseline_version else None,
    }
    note = "" if evaluation else "; it is not served, because it was not scored (no --data)"
    if record.baseline_version:
        note = f"; GAP {estimate_text(change, sign='+')} against {served}, which it replaces"
    console.result(value, f"version {version.number}: {version.path}, from {args.model}{note}")


def _check_push(push_dir: str, registry: RegistryConfig) -> None:
    """UserError where the push is sure to fail: the scoring that comes before it may take hours."""
    check_keys(registry)
    if storage.is_dir(push_dir) and (problem := storage.unwritable(push_dir)):
        raise UserError(f"{push_dir}: {problem}")


def _score(
    args: ModelsImportArguments, export: str, served: InService, console: Console
) -> Evaluation:
    """The model and what it would replace on the same records; UserError where it is the worse one.

    With --yes it may be, or what is in service may be beyond scoring.
    """
    patterns = [args.data or ""]
    if not served:
        return evaluate_files(export, patterns, console)
    in_place = version_path(args.push, served.version)
    try:
        evaluation = evaluate_files(export, patterns, console, baseline=in_place)
    except Yt8mError as error:
        alone = evaluate_files(export, patterns, console)  # is it the imported one that fails?
        what = f"{served} in service cannot be scored on these records ({error})"
        if not args.yes:
            raise UserError(
                f"{what}, so nothing was imported; --yes replaces it all the same"
            ) from error
        console.warn(f"{what}: it is replaced without a comparison")
        return alone
    change = _change(evaluation)
    if (change.value is None or change.value < 0) and not args.yes:
        raise UserError(
            f"{args.model} is worse than {served}, which is in service: on "
            f"{evaluation.videos:,} videos of {args.data} its GAP is "
            f"{estimate_text(evaluation.overall.candidate[GAP])}, a difference of "
            f"{estimate_text(change, sign='+')}. Nothing was imported; --yes replaces it all the "
            "same, and without --data it becomes a baseline that is not served"
        )
    return evaluation


def _change(evaluation: Evaluation | None) -> Estimate:
    """How much better the imported model's GAP is, on the same videos."""
    return (
        evaluation.overall.difference.get(GAP, Estimate()) if evaluation is not None else Estimate()
    )


def _reason(evaluation: Evaluation | None, pattern: str | None, served: InService) -> str:
    if evaluation is None:
        return "imported by `yt8m models import` as a baseline, not scored"
    gap = evaluation.overall.candidate[GAP].value
    against = ""
    if evaluation.overall.baseline:
        against = f", {estimate_text(_change(evaluation), sign='+')} against {served}"
    return (
        f"imported by `yt8m models import`: GAP {gap:.4f} on {evaluation.videos:,} videos of "
        f"{pattern}{against}"
    )


def _level(model: LoadedModel, said: Level | None, evaluation: Evaluation | None) -> Level:
    level = model.level or said or (evaluation.level if evaluation else None)
    if level is None:
        raise UserError(
            f"{model.directory} does not say what records it takes (yt8m did not export it); say "
            "it with --level video, frame or segment, or give records with --data"
        )
    for other in (said, evaluation.level if evaluation else None):
        if other not in (None, level):
            raise UserError(f"{model.directory} is of level {level.value}, not {other.value}")
    return level


@contextlib.contextmanager
def as_export(
    source: str, *, level: Level | None = None, said: Mapping[str, str] | None = None
) -> Iterator[str]:
    """Where `source` is with the signatures of an export: itself, unless the starter code made it.

    `level` and the flags `said` are what the user says of a checkpoint, which does not itself.
    """

    if is_archive(source):
        source = unpack_model(source)
    is_export = is_starter_code_export(source)
    has_model = storage.exists(storage.join(source, MODEL_FILE))
    checkpoint = None if has_model else find_checkpoint(source)
    if not is_export and checkpoint is None:
        yield source
        return
    with tempfile.TemporaryDirectory(prefix="yt8m-import-") as place:
        made = storage.join(place, "export")
        if checkpoint is not None:
            export_checkpoint(checkpoint, made, level=level, said=said)
        else:
            export_saved_model(source, made)
        yield made


@contextlib.contextmanager
def _described(model: LoadedModel, level: Level) -> Iterator[tuple[str, ExportInfo]]:
    """A directory with the model and what it says of itself, a copy where that was missing."""
    if model.level is not None:
        yield model.directory, model.info
        return
    classes = model.num_classes
    if classes is None:
        raise UserError(
            f"{model.directory}: its signature `scores` does not say how many classes it scores"
        )
    info = foreign_info(level, FeatureConfig(num_classes=classes))
    with tempfile.TemporaryDirectory(prefix="yt8m-import-") as copy:
        storage.copy_tree(model.directory, copy)
        storage.write_text(storage.join(copy, FILE_NAME), info.to_json())
        yield copy, info
