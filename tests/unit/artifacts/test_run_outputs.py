"""What a run left is found by one table and read on first use; what is absent is None."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from yt8m.components.artifacts.decision import Decision
from yt8m.components.artifacts.evaluation import Evaluation, SliceMetrics
from yt8m.components.artifacts.infra_check import InfraCheckResult
from yt8m.components.artifacts.manifest import Manifest, Shard
from yt8m.components.artifacts.push_outcome import PushOutcome
from yt8m.components.artifacts.run_outputs import OUTPUTS, RunOutputs
from yt8m.components.artifacts.version_record import VersionRecord
from yt8m.schemas.features import FeatureConfig, Level
from yt8m.schemas.json_file import DamagedFileError

MANIFEST = Manifest(
    level=Level.VIDEO,
    shards=(
        Shard(uri="a", split="train", records=9, bytes=9, digest="x", span=3),
        Shard(uri="b", split="eval", records=5, bytes=5, digest="y", span=1),
        Shard(uri="c", split="eval", records=5, bytes=5, digest="z"),
    ),
)
EVALUATION = Evaluation(level=Level.VIDEO, top_k=20, videos=9, examples=9, overall=SliceMetrics())
EXPORT = {
    "level": "video",
    "features": {},
    "head": "main",
    "heads": {"main": 4},
    "top_k": 20,
    "has_class_names": False,
    "has_transform_graph": True,
    "config": {"batch_size": 16},
}
TRIALS = [{"trial_id": "1", "score": 0.5, "trainer.batch_size": 8, "tuner/epochs": 2}]
RECORD = VersionRecord(version=4, reason="good")
# Name, file in the artifact, its text.
FILES = (
    ("baseline", "Format-Serving/assets.extra/yt8m_record.json", RECORD.to_json()),
    ("examples", "manifest.json", MANIFEST.to_json()),
    ("validation", "comparisons.json", "{}"),
    ("tuner_results", "tuner_results.json", json.dumps(TRIALS)),
    ("model", "Format-Serving/assets.extra/yt8m_export.json", json.dumps(EXPORT)),
    ("model_run", "training.jsonl", '{"kind": "train", "step": 1}\n'),
    ("model_run", "evaluation.jsonl", '{"kind": "evaluation", "step": 1}\n{"kind": "eva'),
    ("evaluation", "metrics.json", EVALUATION.to_json()),
    ("model_blessing", "decision.json", Decision(blessed=True, reason="good").to_json()),
    ("infra_blessing", "infra_check.json", InfraCheckResult(blessed=True, reason="").to_json()),
    ("pushed_model", "pushed.json", PushOutcome(pushed=True, record=RECORD).to_json()),
    ("report", "report.html", "<!doctype html>"),
)
# How each is read, and what it is where there is none.
READ = {
    "baseline": None,
    "manifest": None,
    "comparisons": None,
    "trials": None,
    "export": None,
    "curve": [],
    "evaluation": None,
    "decision": None,
    "infra_check": None,
    "push": None,
    "page": "",
}


@pytest.fixture
def places(tmp_path: Path) -> dict[tuple[str, str], str]:
    """A run that came to its end: URIs by component and output."""
    for name, file, text in FILES:
        path = tmp_path / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {output: str(tmp_path / name) for name, output in OUTPUTS.items()}


def test_everything_that_a_run_left_is_read_from_its_components_outputs(
    places: dict[tuple[str, str], str],
) -> None:
    outputs = RunOutputs.from_components({**places, ("Transform", "transform_graph"): "elsewhere"})
    assert outputs.uris.keys() == OUTPUTS.keys()
    assert outputs.baseline == RECORD
    assert outputs.manifest is not None
    assert (outputs.manifest, outputs.manifest.spans) == (MANIFEST, (1, 3))
    assert outputs.comparisons is not None
    assert outputs.trials is not None
    assert [(t.score, t.values) for t in outputs.trials] == [(0.5, {"trainer.batch_size": 8})]
    assert outputs.export is not None
    assert outputs.export.features == FeatureConfig()
    assert outputs.export.config == {"batch_size": 16}
    assert [row["kind"] for row in outputs.curve] == ["train", "evaluation"]
    assert outputs.evaluation == EVALUATION
    assert outputs.decision is not None
    assert outputs.decision.reason == "good"
    assert outputs.infra_check is not None
    assert outputs.push is not None
    assert outputs.push.record == RECORD
    assert Path(outputs.page).read_text() == "<!doctype html>"


@pytest.mark.parametrize("uris", [{}, dict.fromkeys(OUTPUTS, "/no/such/folder")])
def test_what_a_run_did_not_reach_or_what_was_removed_is_nothing(uris: dict[str, str]) -> None:
    outputs = RunOutputs(uris)
    assert {name: getattr(outputs, name) for name in READ} == READ


def test_a_file_is_read_when_it_is_asked_for_and_once(
    places: dict[tuple[str, str], str], tmp_path: Path
) -> None:
    (tmp_path / "model_blessing" / "decision.json").write_text('{"blessed": 3}')
    outputs = RunOutputs.from_components(places)  # a damaged file hides no other
    evaluation = outputs.evaluation
    (tmp_path / "evaluation" / "metrics.json").unlink()
    assert outputs.evaluation is evaluation
    with pytest.raises(DamagedFileError, match=r"decision\.json is damaged \(blessed = 3"):
        _ = outputs.decision
