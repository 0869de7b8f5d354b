"""The infra check's own judgement: limits, percentiles, and what is sent."""

import base64
import math

import numpy as np
import pytest

from yt8m.components.artifacts.decision import GateMode
from yt8m.components.artifacts.infra_check import Latency, Serving
from yt8m.components.evaluator.config import GateConfig
from yt8m.components.evaluator.thresholds import check_gate
from yt8m.components.infra_check.check import ProbeError, compare, hold
from yt8m.components.infra_check.config import InfraCheckConfig, ServingLimits
from yt8m.components.infra_check.probe import measure, percentile
from yt8m.pipeline.presets import load_config
from yt8m.schemas.errors import ConfigError

SERVING = Serving(
    load_s=1.0,
    first_answer_s=0.5,
    latencies=(
        Latency(batch_size=1, requests=10, p50_ms=2.0, p99_ms=5.0),
        Latency(batch_size=8, requests=10, p50_ms=9.0, p99_ms=20.0),
    ),
    memory_mb=700.0,
)


def test_no_limit_is_no_check():
    assert hold(SERVING, ServingLimits()) == ()


@pytest.mark.parametrize(
    ("limits", "passed"),
    [
        ({"max_latency_ms": 5.0}, [True]),
        ({"max_latency_ms": 4.9}, [False]),
        ({"max_memory_mb": 700.0, "max_latency_ms": 1.0}, [False, True]),
        ({"max_memory_mb": 699.0}, [False]),
    ],
)
def test_limits_are_on_one_records_p99_and_on_the_peak_of_memory(limits, passed):
    checks = hold(SERVING, ServingLimits(**limits))
    assert [check.passed for check in checks] == passed
    assert {check.name.removeprefix("gate.") for check in checks} == set(limits)


@pytest.mark.parametrize(
    ("count", "share", "expected"), [(1, 0.99, 1), (100, 0.99, 99), (101, 0.99, 100), (4, 0.5, 2)]
)
def test_a_percentile_is_the_smallest_number_that_so_many_do_not_exceed(count, share, expected):
    assert percentile(list(range(1, count + 1)), share) == expected


def test_requests_of_a_size_take_the_records_in_turn_and_end_with_their_time():
    sent = []

    def ask(signature, records):
        sent.append((signature, records))
        return {}

    records = [base64.b64encode(bytes([n])) for n in range(3)]
    found = measure(ask, "serving_default", records, size=2, sent=1000, seconds=0.0)
    assert found["requests"] == 5
    assert found["p50_ms"] <= found["p99_ms"]
    assert sent[0] == sent[1] == ("serving_default", records[:2])  # the first is not measured
    assert sent[2] == ("serving_default", [records[2], records[0]])


@pytest.mark.parametrize("sizes", [(), (8,), (1, 1), (1, 64, 8)])
def test_batch_sizes_begin_with_one_and_rise(sizes):
    with pytest.raises(ConfigError, match=r"batch_sizes = .*ascending and begin with 1"):
        InfraCheckConfig(batch_sizes=sizes)


def test_a_limit_that_nothing_measures_is_refused():
    with pytest.raises(ConfigError, match=r"gate\.max_latency_ms = 5.*infra_check\.enabled"):
        load_config("smoke", ["gate.max_latency_ms=5"])
    measured = ["gate.max_latency_ms=5", "infra_check.enabled=true"]
    assert load_config("smoke", measured).gate.max_latency_ms == 5


def test_a_limit_that_no_model_keeps_or_that_the_gate_ignores_is_told_before_the_run():
    (low,) = check_gate(GateConfig(gap_threshold=0.5, max_memory_mb=400))
    assert low.startswith("gate.max_memory_mb = 400: no model can pass")
    (off,) = check_gate(GateConfig(mode=GateMode.NONE, max_latency_ms=3))
    assert "gate.mode = none disables every limit" in off


def test_the_demo_has_no_infra_check_and_the_other_presets_have_one():
    assert not load_config("smoke").infra_check.enabled
    assert load_config("video_mlp").infra_check.enabled


SCORES = np.array([[0.1, 0.9, 0.5], [0.4, 0.4, 0.2]], np.float32)


def _answer(scores, classes):
    return {"scores": scores, "class_ids": classes}


def test_which_of_two_equal_classes_is_served_first_does_not_matter():
    for second in ([0, 1], [1, 0]):
        answer = _answer([[0.9, 0.5], [0.4, 0.4]], [[1, 2], second])
        rows, difference = compare([SCORES], [answer])
        assert rows == 2
        assert difference <= 1e-6


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (_answer([[0.9, 0.5], [0.4, 0.39]], [[1, 2], [0, 1]]), "0.01 away from the one"),
        (_answer([[0.9, 0.5], [0.4, 0.4]], [[1, 0], [0, 1]]), "0.4 away from the one"),
        (_answer([[0.9, 0.1], [0.4, 0.4]], [[1, 0], [0, 1]]), "0.4 away from the one"),
        (_answer([[0.9, math.nan], [0.4, 0.4]], [[1, 2], [0, 1]]), "nan away from the one"),
        (_answer([[0.9, 0.5]], [[1, 2]]), "1 rows were served, and the Evaluator's are 2"),
    ],
    ids=["a score", "a class", "not the best", "not a number", "a row less"],
)
def test_what_is_served_otherwise_than_it_was_scored_is_named(answer, said):
    with pytest.raises(ProbeError, match=f"request 1: .*{said}"):
        compare([SCORES], [answer])


def test_records_without_segments_have_nothing_to_compare():
    assert compare([np.empty((0, 3), np.float32)], [_answer([], [])]) == (0, 0.0)
