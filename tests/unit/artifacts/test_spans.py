"""Spans that are dates are shown as dates, wherever people read them."""

from dataclasses import replace

import pytest
from registry_models import blessed_record, fake_model

from yt8m.cli.main import run
from yt8m.components.artifacts.decision import Decision, decision_text
from yt8m.components.artifacts.manifest import Manifest, Shard
from yt8m.components.artifacts.run_outputs import RunOutputs
from yt8m.components.artifacts.spans import are_dates
from yt8m.components.evaluator.config import EvaluatorConfig
from yt8m.components.evaluator.shard_selection import choose_shards
from yt8m.components.registry.model_card import model_card
from yt8m.components.registry.push import push
from yt8m.components.report.collect_data import collect_data
from yt8m.components.report.data_changes import compared
from yt8m.components.report.model import RunReport
from yt8m.components.report.page import render_report
from yt8m.pipeline.results.comparison import compare
from yt8m.pipeline.results.model_results import ModelResults
from yt8m.schemas.features import Level

DAYS = {"data": {"splits": {"train": ["{YYYY}-{MM}-{DD}/train*"], "test": []}}}
SPANS = (20776, 20777)
BOTH = "2026-11-19 (20776), 2026-11-20 (20777)"


@pytest.mark.parametrize(
    ("data", "dates"),
    [
        (DAYS["data"], True),
        ({**DAYS["data"], "divide": {"patterns": ["span-{SPAN:2}/*"]}}, False),
        ({"divide": {"patterns": ["{YYYY}{MM}{DD}/*", "more/*"]}, "splits": {}}, True),
        ({"splits": {"train": ["{YYYY}{MM}{DD}/*"], "eval": ["span-{SPAN}/*"]}}, False),
        ({"splits": {"train": ["train*"]}}, False),
        ({"splits": {"train": None}}, False),
        ({"splits": ["train*"]}, False),
        ({}, False),
        ("of another yt8m", False),
    ],
)
def test_the_patterns_on_record_tell_whether_spans_are_dates(data, dates):
    assert are_dates({"data": data}) is dates
    assert are_dates({}) is False


@pytest.fixture
def record():
    """Of a model that was made from two days, and evaluated on the second."""
    data = replace(blessed_record().data, spans=SPANS)
    decision = {"blessed": True, "reason": "fine", "videos": 9, "examples": 9, "spans": [20777]}
    return replace(blessed_record(), data=data, configuration=DAYS, decision=decision)


def test_versions_are_listed_shown_and_described_with_dates(record, tmp_path, capsys):
    push_dir = str(tmp_path / "push")
    push(fake_model(tmp_path / "model"), push_dir, record, keep=5)
    assert run(["models", "list", "--push", push_dir]) == 0
    assert BOTH in capsys.readouterr().out
    assert run(["models", "show", "1", "--push", push_dir]) == 0
    assert f"spans {BOTH}" in capsys.readouterr().out
    card = model_card(record)
    assert f"| spans | {BOTH} |" in card
    assert "On 9 videos, of span 2026-11-20 (20777)." in card
    assert "Evaluation records of span 2026-11-20 (20777)" in card


def test_a_comparison_names_the_dates():
    a, b = (
        ModelResults(name=f"run {spans}", configuration=DAYS, spans=spans)
        for spans in (SPANS[:1], SPANS)
    )
    (note, *_) = compare(a, b).notes
    assert f"from span 2026-11-19 (20776) of the data and b from spans {BOTH}" in note


def test_the_evaluator_and_its_gate_name_the_dates():
    shards = [
        Shard(uri=f"{span}", split="eval", records=1, bytes=1, digest="", span=span)
        for span in SPANS
    ]
    chosen = choose_shards(EvaluatorConfig(), shards, dated=True)
    (note,) = chosen.notes
    assert note.startswith("scored on span 2026-11-20 (20777), the newest, only; not on 2026-11-19")
    text = decision_text(Decision(blessed=True, reason="fine", spans=chosen.spans, dated=True))
    assert "0 videos of span 2026-11-20 (20777);" in text


def test_a_report_names_the_dates_and_those_of_the_run_before(tmp_path):
    shards = tuple(
        Shard(uri=f"{span}", split="train", records=1, bytes=1, digest=f"{span}", span=span)
        for span in SPANS
    )
    manifest = Manifest(level=Level.VIDEO, shards=shards, dated=True)
    (tmp_path / "manifest.json").write_text(manifest.to_json())
    before = {"level": "video", "digest": "other", "spans": [20776]}  # by a yt8m without dates
    data = compared(collect_data(RunOutputs({"examples": str(tmp_path)})), ("run 1", before))
    (change,) = [change for change in data.changes if change.key == "spans"]
    assert (change.before, change.now) == ("2026-11-19 (20776)", BOTH)
    decision = Decision(blessed=True, reason="fine", spans=SPANS[1:], dated=True, videos=9)
    page = render_report(RunReport(data=data, decision=decision))
    assert f"Video-level records, spans {BOTH}" in page
