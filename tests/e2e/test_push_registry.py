"""A registry with imported models, one of them damaged, before a real run and after it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from exported_models import SIZES, fitted_weights, write_model
from records import make_dataset
from yt8m_runs import QUICK, Place, yt8m

pytestmark = pytest.mark.e2e
CLASSES = 20


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("data") / "data"
    return make_dataset(out, level="video", train=400, eval=150, classes=CLASSES, sizes=SIZES)


@pytest.mark.slow
def test_a_run_is_judged_against_the_newest_sound_import_and_says_so(
    data: Path, tmp_path: Path
) -> None:
    sizes = f"features.sizes=[{', '.join(map(str, SIZES.values()))}]"
    default_change = tuple(text for text in QUICK if "gap_change_threshold" not in text)
    settings = (*default_change, sizes)
    place = Place(data=data, root=tmp_path / "root", push=tmp_path / "push", settings=settings)
    weights = fitted_weights(sorted(data.glob("train*")), CLASSES)
    for noise in (0.0, 3.0):
        model = write_model(tmp_path / f"model-{noise}", weights, noise=noise)
        records = ("--data", str(data / "validate*.tfrecord"), "--yes")
        done = yt8m("models", "import", model, "--push", place.push, *records)
        assert done.returncode == 0, done.stderr
    damaged = place.push / "2" / "variables" / "variables.data-00000-of-00001"
    damaged.write_bytes(damaged.read_bytes()[:-8])

    by_default = place.run()

    assert by_default.returncode == 3, by_default.stderr
    assert "change of gap against the baseline >= -0.01 is needed" in by_default.stdout
    assert place.versions() == [1, 2]
    log = (place.root / "logs" / place.records()[0]["run_id"] / "Baseline.log").read_text()

    done = place.run("--set=gate.gap_change_threshold=null")

    assert done.returncode == 0, done.stderr
    record = place.records()[0]
    assert (record["baseline_version"], record["version"]) == (1, 3)
    for said in (done.stderr, log):
        assert f"version 2 in {place.push}: variables/variables.data" in said
    page = Path(record["report"]).read_text()
    doubts = "below its baseline, not compared with a damaged version"
    assert f"<h1>Pushed as version 3, {doubts}</h1>" in page
    facts = json.loads(Path(record["report"]).with_suffix(".json").read_text())
    assert facts["problems"] == []
    assert facts["verdict"]["outcome"] == "pushed"
    gap = facts["evaluation"]["metrics"][0]
    # Least squares on these records is a strong model; thirty steps are not.
    assert gap["baseline"]["value"] > gap["candidate"]["value"] > 0
    pushed = json.loads((place.push / "3" / "assets.extra" / "yt8m_record.json").read_text())
    assert pushed["baseline_version"] == 1
    assert pushed["configuration"]["trainer"]["max_steps"] == 30
    assert (place.push / "3" / "assets.extra" / "statistics" / "Split-train").is_dir()

    rejected = place.run("--set=gate.gap_change_threshold=0.5")

    verified = yt8m("models", "verify", "3", "--push", place.push)
    assert verified.returncode == 0, verified.stdout
    assert rejected.returncode == 3, rejected.stderr
    assert place.versions() == [1, 2, 3]
    facts = json.loads(Path(place.records()[0]["report"]).with_suffix(".json").read_text())
    assert facts["verdict"]["outcome"] == "rejected"
    assert facts["verdict"]["version"] == 0
