"""The action of Evaluator."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from tensorflow_model_analysis.proto import config_pb2
from tfx.components.evaluator import constants
from tfx.dsl.components.base import base_beam_executor
from tfx.types import artifact_utils
from tfx.utils import path_utils

from yt8m.components import storage
from yt8m.components.artifacts import decision as decision_file
from yt8m.components.artifacts import evaluation as evaluation_file
from yt8m.components.artifacts import manifest, operating_points, record_index
from yt8m.components.artifacts.decision import Decision, GateMode, decision_text
from yt8m.components.artifacts.evaluation import Evaluation
from yt8m.components.artifacts.read import read_file
from yt8m.components.declaration import Artifacts
from yt8m.components.engines.parallelism import parallelism_of
from yt8m.components.evaluator.beam_scoring import add_scoring, collect, scoring_followed
from yt8m.components.evaluator.champion import Contender, find_contender
from yt8m.components.evaluator.champion_scores import (
    ChampionScores,
    scores_digest,
    with_champion,
)
from yt8m.components.evaluator.config import EvaluatorConfig, GateConfig
from yt8m.components.evaluator.evaluation import (
    evaluate,
    fits_points,
    with_baseline_as_champion,
)
from yt8m.components.evaluator.gate import GateLimit, decide
from yt8m.components.evaluator.record_ranges import divide_records
from yt8m.components.evaluator.score_table import (
    BASELINE,
    CHAMPION,
    ScoreTable,
    require_scorable,
)
from yt8m.components.evaluator.scoring import ScoringPlan, check_models, create_plan, empty_table
from yt8m.components.evaluator.shard_selection import ShardSelection, choose_shards
from yt8m.components.evaluator.tensor_memory import collect_tensors
from yt8m.components.evaluator.tfma_output import (
    create_eval_config,
    create_validation,
    metrics_records,
    write_eval_config,
    write_metrics,
    write_plots,
    write_validation,
)
from yt8m.components.evaluator.tfma_user_metrics import (
    Extracts,
    add_user_metrics,
    collect_user_results,
    parse_user_metrics,
    user_checks,
    with_user_metrics,
)
from yt8m.components.evaluator.thresholds import check_gate, limits_of, resolve_gate
from yt8m.components.metrics.operating_points import MIN_HITS, fit
from yt8m.components.records.vocabulary import load_vocabulary
from yt8m.components.registry.baseline_artifact import (
    baseline_model,
    read_in_service,
    read_passed_over,
    require_sound,
)
from yt8m.components.registry.digests import model_digest
from yt8m.schemas.config_tree import from_parameter
from yt8m.schemas.errors import ConfigError, DataError, UserError
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.vocabulary import Vocabulary

_log = logging.getLogger(__name__)
_REMEDY = (
    "; `yt8m models rollback` restores a sound version, `yt8m models champion --set` chooses "
    "another champion, and baseline.version=none judges by thresholds on values alone"
)


@dataclass(frozen=True, kw_only=True)
class _Job:
    """Work of one execution."""

    config: EvaluatorConfig
    mode: GateMode
    limits: tuple[GateLimit, ...]
    plan: ScoringPlan
    digests: dict[str, str]  # of the models' bytes before they are scored, by directory
    chosen: ShardSelection[manifest.Shard]
    examples_uri: str
    evaluation_uri: str
    baseline: str | None  # its name in the decision
    contender: Contender
    kept_scores: ChampionScores | None  # None where no champion has to be scored
    vocabulary: Vocabulary | None
    user_config: config_pb2.EvalConfig | None  # metrics and thresholds of the user's own


class Executor(base_beam_executor.BaseBeamExecutor):
    """Scores all models in one pass, and decides whether the candidate may ship."""

    def Do(  # noqa: N802  (TFX's name)
        self, input_dict: Artifacts, output_dict: Artifacts, exec_properties: dict[str, Any]
    ) -> None:
        self._log_startup(input_dict, output_dict, exec_properties)
        job = _job(input_dict, output_dict, exec_properties)
        for name in ("baseline_model", "champion"):
            if uri := _uri(input_dict, name):
                require_sound(uri)
        digest = job.digests[job.plan.model]
        scored, notes = self._score(job)
        if not scored.broken:
            require_scorable(scored, _names(job), remedy=_REMEDY)
        evaluation = evaluate(
            scored,
            job.config,
            level=job.plan.level,
            vocabulary=job.vocabulary,
            spans=job.chosen.spans,
            dated=job.chosen.dated,
            notes=[*job.chosen.notes, *notes],
        )
        if job.contender.champion is not None and job.contender.model is None:
            evaluation = with_baseline_as_champion(evaluation)
        evaluation, decision = _decide(job, evaluation)
        not_compared = _passed_over(input_dict)
        decision = dataclasses.replace(
            decision,
            reason="; not compared with ".join([decision.reason, *not_compared]),
            not_compared=not_compared,
            model_digest=digest,
            is_baseline=digest == _digest_in_service(input_dict),
            champion_retired=job.contender.retired,
            vocabulary_digest=_names_digest(job.vocabulary),
        )
        metrics_file = storage.join(job.evaluation_uri, evaluation_file.FILE_NAME)
        storage.write_text(metrics_file, evaluation.to_json())
        _write_operating_points(job, scored)
        _write_blessing(decision, inputs=input_dict, outputs=output_dict)
        for line in decision_text(decision).splitlines():
            _log.info("%s", line)

    def _score(self, job: _Job) -> tuple[ScoreTable, list[str]]:
        """Score all models, the champion where it was not scored on these videos before."""
        champion = job.kept_scores.load() if job.kept_scores else None
        if job.kept_scores and champion is not None:
            others = dataclasses.replace(job.plan, champion=None)
            notes = check_models(others)
            joined = with_champion(self._pass(job, others), champion)
            if joined is not None:
                return joined, notes
            job.kept_scores.forget()
        notes = check_models(job.plan)
        scored = self._pass(job, job.plan)
        if job.kept_scores:
            job.kept_scores.store(scored)
        return scored, notes

    def _pass(self, job: _Job, plan: ScoringPlan) -> ScoreTable:
        """Score the models of `plan` in one pass over the records."""
        collect_tensors()  # of the training and of the check of the models
        extracts = Extracts(slices=job.config.slices, vocabulary=job.vocabulary)
        ranges = divide_records(
            job.chosen.shards,
            workers=parallelism_of(self._beam_pipeline_args),
            batch_size=plan.records_at_once,
        )
        with (
            scoring_followed(ranges, job.evaluation_uri),
            self._make_beam_pipeline() as pipeline,
        ):
            examples = add_scoring(
                pipeline,
                plan,
                ranges,
                job.evaluation_uri,
                index=storage.join(job.examples_uri, record_index.FILE_NAME),
                extracts=extracts if job.user_config else None,
            )
            if job.user_config is not None:
                add_user_metrics(examples, job.user_config, job.evaluation_uri)
        collect_tensors()  # the models make room for the rows
        scored = collect(empty_table(plan), ranges, job.evaluation_uri)
        _require_unchanged(plan, job.digests)
        return _complete(scored, plan, job.chosen.shards)


def _job(inputs: Artifacts, outputs: Artifacts, properties: dict[str, Any]) -> _Job:
    config, gate, features = _nodes(properties)
    examples_uri = artifact_utils.get_single_uri(inputs["examples"])
    examples = _read_manifest(examples_uri)
    vocabulary = _vocabulary(config, features)
    contender = find_contender(
        _uri(inputs, "champion"),
        _uri(inputs, "baseline_model"),
        level=examples.level,
        features=features,
        vocabulary_digest=_names_digest(vocabulary),
    )
    plan = create_plan(
        config,
        model=_model_path(inputs),
        baseline=_baseline_path(inputs),
        champion=contender.model,
        level=examples.level,
        features=features,
    )
    has_baseline = plan.baseline is not None
    chosen = choose_shards(config, examples.shards, dated=examples.dated)
    return _Job(
        config=config,
        mode=gate.mode,
        limits=limits_of(gate),
        plan=plan,
        digests={directory: model_digest(directory) for directory in plan.directories},
        chosen=chosen,
        examples_uri=examples_uri,
        evaluation_uri=artifact_utils.get_single_uri(outputs["evaluation"]),
        baseline=_baseline_name(inputs) if has_baseline else None,
        contender=contender,
        kept_scores=_kept_scores(contender, plan, chosen.shards, properties),
        vocabulary=vocabulary,
        user_config=parse_user_metrics(config.eval_config, has_baseline=has_baseline),
    )


def _kept_scores(
    contender: Contender,
    plan: ScoringPlan,
    shards: tuple[manifest.Shard, ...],
    properties: dict[str, Any],
) -> ChampionScores | None:
    directory = properties.get("cache_dir")
    if contender.champion is None or plan.champion is None or not directory:
        return None
    digest = scores_digest(
        plan,
        shards,
        model=contender.champion.digest,
        code_version=properties["code_version"],
    )
    return ChampionScores(directory, digest)


def _complete(
    scored: ScoreTable, plan: ScoringPlan, shards: tuple[manifest.Shard, ...]
) -> ScoreTable:
    """`scored`, unless records are missing: a file cut off between two records looks whole."""
    listed = sum(shard.records for shard in shards)
    read = len(scored) + scored.unscorable.rows
    if plan.level is not Level.SEGMENT and not scored.broken and read != listed:
        raise DataError(
            f"{read:,} of the {listed:,} records in the manifest were read: the shards "
            "changed since ExampleGen listed them; run it again"
        )
    return scored


def _require_unchanged(plan: ScoringPlan, digests: Mapping[str, str]) -> None:
    """Workers load the models, maybe at different times: all of them must have had one state."""
    for directory in plan.directories:
        if model_digest(directory) != digests[directory]:
            raise DataError(f"{directory}: its files changed while it was scored; run again")


def _nodes(properties: dict[str, Any]) -> tuple[EvaluatorConfig, GateConfig, FeatureConfig]:
    config = from_parameter(EvaluatorConfig, properties["config"], path="evaluator")
    gate = resolve_gate(
        from_parameter(GateConfig, properties["gate"], path="gate"),
        gap_threshold=properties.get("gap_threshold") or "",
        gap_change_threshold=properties.get("gap_change_threshold") or "",
    )
    problems = check_gate(gate, config)
    if problems:
        raise ConfigError(problems)
    features = from_parameter(FeatureConfig, properties["features"], path="features")
    return config, gate, features


def _decide(job: _Job, ours: Evaluation) -> tuple[Evaluation, Decision]:
    """The decision, what it rests on, and both as TFMA reads them."""
    uri = job.evaluation_uri
    users = collect_user_results(uri)
    evaluation = with_user_metrics(ours, users.metrics)
    decision = decide(
        evaluation,
        job.limits,
        mode=job.mode,
        baseline=job.baseline,
        champion=job.contender.champion,
        more=user_checks(users.validation),
    )
    eval_config = create_eval_config(
        job.limits,
        job.config.slices,
        has_baseline=job.baseline is not None,
        users=job.user_config,
    )
    models = [path for path in (job.plan.model, job.plan.baseline) if path is not None]
    write_eval_config(uri, eval_config, data=job.examples_uri, models=models)
    write_metrics(uri, metrics_records(ours, users.metrics))
    write_plots(uri, evaluation, users.plots)
    write_validation(uri, create_validation(evaluation, job.limits, decision, users.validation))
    return evaluation, decision


def _write_operating_points(job: _Job, scored: ScoreTable) -> None:
    """Those of all evaluated videos; nothing where they are too few."""
    if scored.broken or not fits_points(job.config, job.plan.level):
        return
    points = fit(scored.candidate)
    if points is None:
        _log.info(
            "no operating points: %d of the model's predictions are labels, and a fit needs %d; "
            "the signature `decisions` of a pushed model will refuse requests",
            np.count_nonzero(scored.candidate.rows.hits),
            MIN_HITS,
        )
        return
    path = storage.join(job.evaluation_uri, operating_points.FILE_NAME)
    storage.write_text(path, operating_points.table_text(points))


def _read_manifest(examples_uri: str) -> manifest.Manifest:
    place = storage.join(examples_uri, manifest.FILE_NAME)
    if not storage.exists(place):
        raise UserError(
            f"{examples_uri}: no {manifest.FILE_NAME}; examples come from yt8m's ExampleGen, "
            "which lists the shards there"
        )
    return read_file(place, manifest.Manifest.from_json)


def _model_path(inputs: Artifacts) -> str:
    model = artifact_utils.get_single_instance(inputs["model"])
    return path_utils.serving_model_path(model.uri, path_utils.is_old_model_artifact(model))


def _uri(inputs: Artifacts, name: str) -> str | None:
    """The address of an optional input; None where it is not connected."""
    given = inputs.get(name)
    return artifact_utils.get_single_uri(given) if given else None


def _baseline_path(inputs: Artifacts) -> str | None:
    uri = _uri(inputs, "baseline_model")
    return baseline_model(uri) if uri else None


def _passed_over(inputs: Artifacts) -> tuple[str, ...]:
    """Faults of the versions that the candidate should have been compared with."""
    uri = _uri(inputs, "baseline_model")
    return read_passed_over(uri) if uri else ()


def _names(job: _Job) -> dict[str, str]:
    """Names, for messages, of the models that the candidate is compared with."""
    champion = job.contender.champion
    return {
        BASELINE: job.baseline or "",
        CHAMPION: f"{champion.name}, the champion," if champion is not None else "",
    }


def _names_digest(vocabulary: Vocabulary | None) -> str:
    """Changes when a class gets another name; empty without a vocabulary."""
    if vocabulary is None:
        return ""
    return hashlib.sha256(json.dumps(vocabulary.names).encode()).hexdigest()


def _baseline_name(inputs: Artifacts) -> str:
    artifact = artifact_utils.get_single_instance(inputs["baseline_model"])
    version = artifact.get_int_custom_property("version")
    return f"version {version}" if version else artifact.uri


def _digest_in_service(inputs: Artifacts) -> str:
    """The digest of the model that was in service when the run began; empty without one."""
    uri = _uri(inputs, "baseline_model")
    served = read_in_service(uri) if uri else None
    return served.digest if served else ""


def _vocabulary(config: EvaluatorConfig, features: FeatureConfig) -> Vocabulary | None:
    if not config.vocabulary:
        return None
    return load_vocabulary(config.vocabulary, num_classes=features.num_classes)


def _write_blessing(decision: Decision, *, inputs: Artifacts, outputs: Artifacts) -> None:
    """The blessing as TFX's own Evaluator leaves it, and the whole decision beside it."""
    blessing = artifact_utils.get_single_instance(outputs["blessing"])
    model = artifact_utils.get_single_instance(inputs["model"])
    storage.write_text(storage.join(blessing.uri, decision_file.FILE_NAME), decision.to_json())
    blessing.set_string_custom_property(
        constants.ARTIFACT_PROPERTY_CURRENT_MODEL_URI_KEY, model.uri
    )
    blessing.set_int_custom_property(constants.ARTIFACT_PROPERTY_CURRENT_MODEL_ID_KEY, model.id)
    if decision.baseline is not None:
        baseline = artifact_utils.get_single_instance(inputs["baseline_model"])
        blessing.set_string_custom_property(
            constants.ARTIFACT_PROPERTY_BASELINE_MODEL_URI_KEY, baseline.uri
        )
        blessing.set_int_custom_property(
            constants.ARTIFACT_PROPERTY_BASELINE_MODEL_ID_KEY, baseline.id
        )
    blessing.set_string_custom_property("reason", decision.reason)
    blessing.set_string_custom_property("model_digest", decision.model_digest)
    for name, estimates in (("gap", decision.metrics), ("gap_baseline", decision.baseline_metrics)):
        value = estimates["gap"].value if estimates else None
        if value is not None:
            blessing.set_float_custom_property(name, value)
    file_name, value = (
        (constants.BLESSED_FILE_NAME, constants.BLESSED_VALUE)
        if decision.blessed
        else (constants.NOT_BLESSED_FILE_NAME, constants.NOT_BLESSED_VALUE)
    )
    storage.write_text(storage.join(blessing.uri, file_name), "")
    blessing.set_int_custom_property(constants.ARTIFACT_PROPERTY_BLESSED_KEY, value)
