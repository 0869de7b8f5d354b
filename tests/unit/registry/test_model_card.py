"""The card of a version: what Hugging Face's own reader finds in it, and what people read."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from registry_models import blessed_record, fake_model

from yt8m.components.artifacts.decision import Check, Decision
from yt8m.components.artifacts.estimate import Estimate
from yt8m.components.artifacts.infra_check import InfraCheckResult, Latency, Serving
from yt8m.components.artifacts.version_record import (
    CARD_FILE,
    Origin,
    SliceRecord,
    VersionRecord,
)
from yt8m.components.registry.model_card import model_card
from yt8m.components.registry.push import push, rollback
from yt8m.components.registry.verify import verify_version
from yt8m.schemas.config_tree import to_dict

DECISION = Decision(
    blessed=True,
    reason="gap >= 0.4 holds",
    videos=400,
    examples=400,
    spans=(7,),
    checks=(
        Check(metric="gap", needed="gap >= 0.4", observed=0.5, passed=True),
        Check(metric="gap", needed="gap >= 0.3", slice="num_labels=5+", observed=0.2),
    ),
    notes=("classes 3 | 4 were counted\nunlike",),
)
SERVING = Serving(
    load_s=1.5,
    first_answer_s=2,
    latencies=(Latency(batch_size=8, requests=9, p50_ms=3, p99_ms=6.25),),
)
FULL = dataclasses.replace(
    blessed_record(run_key="run-1"),
    version=3,
    metrics={
        "gap": Estimate(value=0.5, lower=0.48, upper=0.52),
        "loss": Estimate(value=7.25),
        "perr": Estimate(),
    },
    slices={"num_labels=5+": SliceRecord(videos=90, metrics={"gap": Estimate(value=0.25)})},
    decision=to_dict(DECISION),
    infra_check=to_dict(InfraCheckResult(blessed=True, reason="it can be served", serving=SERVING)),
    configuration={"trainer": {"model": {"name": "moe"}}, "features": {"num_classes": 50}},
    license="apache-2.0",
)  # fmt: skip


@pytest.mark.needs("huggingface_hub")
def test_hugging_faces_own_reader_finds_licence_and_every_defined_metric() -> None:
    from huggingface_hub import ModelCard

    card = ModelCard(model_card(FULL), ignore_metadata_errors=False)

    assert card.data.license == "apache-2.0"
    assert card.data.pipeline_tag == "video-classification"
    results = card.data.eval_results
    assert {r.metric_type: r.metric_value for r in results} == {"gap": 0.5, "loss": 7.25}
    assert {r.dataset_name for r in results} == {"Evaluation records of span 7"}
    assert card.data.model_name == "YouTube-8M moe, version 3"
    assert "| num\\_labels=5+ | 90 | 0.2500 |" in card.text


@pytest.mark.needs("huggingface_hub")
@pytest.mark.parametrize(
    "record",
    [
        VersionRecord(version=1),
        VersionRecord(version=1, origin=Origin.IMPORT, origin_path="/x\n---\nlicense: mit\n---"),
        dataclasses.replace(FULL, reason="---\nlicense: mit\n---\n# no"),
        dataclasses.replace(FULL, decision={"of": "another form"}, infra_check={"serving": 3}),
    ],
    ids=["empty", "import", "a reason like a head", "parts of another form"],
)
def test_a_card_is_read_whatever_its_record_lacks_or_says(record: VersionRecord) -> None:
    from huggingface_hub import ModelCard

    card = ModelCard(model_card(record), ignore_metadata_errors=False)

    assert card.data.license == (record.license or None)
    assert card.text.count("\n# ") <= 1


@pytest.mark.parametrize(
    ("trainer", "name"),
    [
        ({"model": {"name": "dbof"}}, "YouTube-8M dbof"),
        ({"ensemble": [{"model": "one", "weight": 0.5}] * 2}, "YouTube-8M ensemble of 2 models"),
        ({"starter_code": {"checkpoint": "/old", "model": "moe"}}, "YouTube-8M moe"),
        ({"starter_code": {"saved_model": "/old"}}, "YouTube-8M model"),
        ({}, "YouTube-8M model"),
    ],
)
def test_the_title_names_what_was_trained_averaged_or_imported(
    trainer: dict[str, Any], name: str
) -> None:
    record = VersionRecord(version=4, configuration={"trainer": trainer})
    assert f"# {name}, version 4" in model_card(record).splitlines()


def test_people_read_intervals_thresholds_serving_and_limits() -> None:
    card = model_card(FULL)

    for line in (
        "| GAP | 0.5 | 0.48 to 0.52 |",
        "On 400 videos, of span 7.",
        "| gap >= 0.4 | 0.5 | passed |",
        "| gap >= 0.3 on num\\_labels=5+ | 0.2 | failed |",
        "| latency of 8 records | 3 ms median, 6.25 ms 99th percentile |",
        "- classes 3 \\| 4 were counted unlike",
        "- It knows 50 classes, and scores every record among them",
        "| digest of the manifest | `d1` |",
    ):
        assert line in card.splitlines(), line
    assert "licence is not recorded" not in card
    assert "- Its licence is not recorded" in model_card(VersionRecord(version=1)).splitlines()


def test_each_version_has_a_card_of_its_own_that_is_verified(tmp_path: Path) -> None:
    registry = str(tmp_path / "push")
    model = fake_model(tmp_path / "model")
    Path(model, CARD_FILE).write_text("of its maker")
    first = push(model, registry, blessed_record())
    second = push(fake_model(tmp_path / "other"), registry, blessed_record())
    again = rollback(registry, first.number)

    cards = [Path(v.path, CARD_FILE).read_text() for v in (first, second, again)]
    assert [f"version {n}" in card for n, card in enumerate(cards, 1)] == [True] * 3
    assert "the files of version 1 again" in cards[2]
    assert again.record.model_digest == first.record.model_digest
    assert [verify_version(registry, n).problems for n in (1, 2, 3)] == [()] * 3
    Path(again.path, CARD_FILE).write_text(cards[0])
    (problem,) = verify_version(registry, 3).problems
    assert problem.startswith(CARD_FILE)


def test_the_files_in_service_are_not_pushed_again_because_a_card_says_something_else(
    tmp_path: Path,
) -> None:
    registry, model = str(tmp_path / "push"), fake_model(tmp_path / "model")
    first = push(model, registry, blessed_record(run_key="one"))

    assert push(model, registry, blessed_record(run_key="two")).number == first.number
