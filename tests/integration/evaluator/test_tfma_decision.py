"""Our decision and TFMA's validator on the same numbers: equal wherever TFMA can express the limit.

TFMA is given the files that Evaluator writes: its metrics, and its thresholds in eval_config.json.
"""

import math
import random

import pytest
import tensorflow_model_analysis as tfma
from google.protobuf import json_format
from tensorflow_model_analysis.evaluators import metrics_validator
from tensorflow_model_analysis.metrics import metric_types
from tensorflow_model_analysis.proto import config_pb2, metrics_for_slice_pb2, validation_result_pb2
from tensorflow_model_analysis.slicer import slicer_lib
from tensorflow_model_analysis.writers import metrics_plots_and_validations_writer as writer

from yt8m.components.artifacts.decision import GateMode
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.evaluation import Evaluation, SliceMetrics
from yt8m.components.evaluator.config import GateConfig, SliceBy, SliceConfig
from yt8m.components.evaluator.gate import decide
from yt8m.components.evaluator.tfma_output import (
    METRICS_FILE,
    create_eval_config,
    create_validation,
    metrics_records,
    write_eval_config,
    write_metrics,
    write_validation,
)
from yt8m.components.evaluator.thresholds import limits_of
from yt8m.components.records.tfrecord import read_records
from yt8m.schemas.config_tree import from_dict
from yt8m.schemas.features import Level

METRICS = ("gap", "loss")
SLICES = (SliceConfig(by=SliceBy.FEATURE, feature="country"),)
NO_VERDICT = validation_result_pb2.ValidationResult()


def drawn_part(draw, *, has_baseline, **name):
    """Values in eighths, some undefined, some with an interval."""
    values = [{m: draw.choice([None, *range(-2, 9)]) for m in METRICS} for _ in range(2)]
    ours, theirs = ({m: v if v is None else v / 8 for m, v in row.items()} for row in values)
    change = {m: None if None in (ours[m], theirs[m]) else ours[m] - theirs[m] for m in METRICS}
    rows = (ours, theirs, change) if has_baseline else (ours, {}, {})
    candidate, baseline, difference = ({m: around(draw, v) for m, v in r.items()} for r in rows)
    return SliceMetrics(
        examples=draw.randint(1, 9),
        candidate=candidate,
        baseline=baseline,
        difference=difference,
        **name,
    )


def around(draw, value):
    if value is None or draw.random() < 0.5:
        return Estimate(value=value)
    return Estimate(value=value, lower=value - 1, upper=value + 1)


def drawn_evaluation(draw):
    has_baseline = draw.random() < 0.7
    overall = drawn_part(draw, has_baseline=has_baseline)
    slices = [
        drawn_part(draw, has_baseline=has_baseline, column="country", value=value)
        for value in ("de", "fr")
        if draw.random() < 0.7
    ]
    evaluation = Evaluation(
        level=Level.VIDEO, top_k=20, videos=9, examples=9, overall=overall, slices=tuple(slices)
    )
    return evaluation, "version 1" if has_baseline else None


def drawn_gate(draw):
    names = ("minimum", "maximum", "min_change", "max_change", "min_relative_change")
    thresholds = [
        {
            "metric": draw.choice(METRICS),
            "slice": draw.choice(["", "country=de", "country=fr"]),
            **{name: draw.randint(-6, 9) / 8 for name in draw.sample(names, draw.randint(1, 3))},
        }
        for _ in range(draw.randint(0, 3))
    ]
    return {"min_examples": draw.randint(1, 4), "thresholds": thresholds}


def tfmas_verdict(place):
    """What TFMA's own validator says of the files at `place`."""
    run = json_format.Parse((place / "eval_config.json").read_text(), config_pb2.EvalRun())
    combine = writer.CombineValidations(run.eval_config)
    verdict = combine.create_accumulator()
    with (place / METRICS_FILE).open("rb") as file:
        for _, data in read_records(file):
            record = metrics_for_slice_pb2.MetricsForSlice.FromString(data)
            numbers = {
                metric_types.MetricKey.from_proto(pair.key): pair.value.bounded_value.value.value
                if pair.value.HasField("bounded_value")
                else pair.value.double_value.value
                for pair in record.metric_keys_and_values
            }
            key = slicer_lib.deserialize_slice_key(record.slice_key)
            part = metrics_validator.validate_metrics((key, numbers), run.eval_config)
            verdict = combine.add_input(verdict, part)
    return combine.extract_output(verdict)


def failures(verdict):
    return {
        (
            part.slice_key.SerializeToString(),
            failure.metric_key.SerializeToString(),
            failure.metric_threshold.SerializeToString(),
            "nan" if math.isnan(value := failure.metric_value.double_value.value) else value,
        )
        for part in verdict.metric_validations_per_slice
        for failure in part.failures
    }


def texts(messages):
    return sorted(map(str, messages))


def written(place, evaluation, gate, baseline):
    """The decision, with TFMA's files at `place`."""
    values = {"gap_change_threshold": None, "min_examples": 1, **gate}
    limits = limits_of(from_dict(GateConfig, values, path="gate"))
    has_baseline = baseline is not None
    decision = decide(evaluation, limits, baseline=baseline)
    config = create_eval_config(limits, SLICES, has_baseline=has_baseline, users=None)
    write_eval_config(str(place), config, data="", models=["a", "b"] if has_baseline else ["a"])
    write_metrics(str(place), metrics_records(evaluation, {}))
    verdict = create_validation(evaluation, limits, decision, NO_VERDICT)
    write_validation(str(place), verdict)
    return decision


def test_tfmas_validator_decides_alike_and_would_write_the_same_validation(tmp_path):
    draw = random.Random(34)
    blessed = 0
    for case in range(400):
        evaluation, baseline = drawn_evaluation(draw)
        gate = drawn_gate(draw)
        decision = written(tmp_path, evaluation, gate, baseline)
        theirs = tfmas_verdict(tmp_path)
        ours = tfma.load_validation_result(str(tmp_path))
        where = (case, gate, evaluation)
        assert decision.blessed is ours.validation_ok is theirs.validation_ok, where
        assert failures(ours) == failures(theirs), where
        assert texts(ours.missing_slices) == texts(theirs.missing_slices), where
        assert texts(ours.validation_details.slicing_details) == texts(
            theirs.validation_details.slicing_details
        ), where
        blessed += decision.blessed
    assert 40 < blessed < 360  # both happen often


@pytest.mark.parametrize(("lower", "blessed"), [(0.5, True), (0.3, False)])
def test_what_tfma_cannot_express_is_said_in_the_failures_message(tmp_path, lower, blessed):
    gap = Estimate(value=0.6, lower=lower, upper=0.7)
    overall = SliceMetrics(examples=9, candidate={"gap": gap})
    evaluation = Evaluation(level=Level.VIDEO, top_k=20, videos=9, examples=9, overall=overall)
    gate = {"gap_threshold": 0.4, "confident": True}
    decision = written(tmp_path, evaluation, gate, None)
    assert decision.blessed is blessed
    assert tfmas_verdict(tmp_path).validation_ok  # the value clears it
    ours = tfma.load_validation_result(str(tmp_path))
    assert ours.validation_ok is blessed
    messages = [f.message for part in ours.metric_validations_per_slice for f in part.failures]
    assert messages == ([] if blessed else ["lower bound of gap >= 0.4 is needed, it is 0.3"])


@pytest.mark.parametrize("baseline", [None, "version 1"])
def test_the_recorded_configuration_says_what_was_evaluated(tmp_path, baseline):
    draw = random.Random(2)
    part = drawn_part(draw, has_baseline=baseline is not None)
    evaluation = Evaluation(level=Level.VIDEO, top_k=20, videos=9, examples=9, overall=part)
    written(tmp_path, evaluation, {"gap_threshold": 0.4}, baseline)
    run = json_format.Parse((tmp_path / "eval_config.json").read_text(), config_pb2.EvalRun())
    names = ["candidate", "baseline"] if baseline else [""]
    config = run.eval_config
    assert [list(spec.feature_keys) for spec in config.slicing_specs] == [[], ["country"]]
    assert [spec.name for spec in config.model_specs] == names
    assert [spec.is_baseline for spec in config.model_specs] == [n == "baseline" for n in names]
    assert dict(run.model_locations) == dict(zip(names, "ab", strict=False))


def test_without_a_gate_the_validation_is_a_rubber_stamp(tmp_path):
    evaluation, _ = drawn_evaluation(random.Random(1))
    decision = decide(evaluation, (), mode=GateMode.NONE)
    verdict = create_validation(evaluation, (), decision, NO_VERDICT)
    assert (verdict.validation_ok, verdict.rubber_stamp) == (True, True)
