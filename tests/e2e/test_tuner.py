"""The Tuner in a real run: its best values train the model, are on record, and are found again."""

from __future__ import annotations

import json

import pytest
from yt8m_runs import Place, generate, yt8m

from yt8m.components.artifacts.manifest import Manifest

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

RATE = "trainer.optimizer.learning_rate"
RATES = (1e-7, 3e-3)  # one of them learns nothing
ON = (
    "--set",
    f"tuner={{space: {{{RATE}: {{choice: {list(RATES)}}}}}, search: {{name: random_search, "
    "max_trials: 2}, num_parallel_trials: 2}",
    "--set",
    "transform.materialize=true",  # Tuner and Trainer read it
)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuner")
    generate(folder / "data")
    found = Place(data=folder / "data", root=folder / "root", push=folder / "push")
    # What is configured is neither: the Tuner's value decides.
    done = found.run(*ON, "--set", f"{RATE}=1e-5")
    assert done.returncode == 0, done.stderr
    return found


def test_the_model_is_trained_with_the_best_values_and_says_so(place):
    (version,) = place.versions()
    read = lambda name: json.loads((place.push / f"{version}/assets.extra/{name}").read_text())  # noqa: E731
    assert read("yt8m_export.json")["config"]["optimizer"]["learning_rate"] == RATES[1]
    on_record = read("yt8m_record.json")["configuration"]
    assert on_record["trainer"]["optimizer"]["learning_rate"] == RATES[1]
    assert on_record["tuner"]["space"][RATE]["choice"] == list(RATES)


def test_tuner_and_trainer_have_read_what_transform_has_written(place):
    """The Tuner's own manifest goes with its scratch; each trial's job keeps the digest of it."""
    manifests = [
        Manifest.from_json(path.read_text())
        for path in place.root.glob("artifacts/Trainer/model_run/*/manifest.json")
    ]
    assert manifests
    assert all(manifest.transformed for manifest in manifests)
    jobs = list(place.root.glob("checkpoints/tuner-*/search/trial_*/job.json"))
    assert len(jobs) == len(RATES)
    read = {json.loads(path.read_text())["content"]["the records"] for path in jobs}
    assert read == {manifest.digest for manifest in manifests}


def test_the_report_shows_every_trial_the_best_first(place):
    (page,) = place.root.glob("artifacts/Report/report/*/report.html")
    report = json.loads(page.with_name("report.json").read_text())
    assert [trial["values"][RATE] for trial in report["trials"]] == [RATES[1], RATES[0]]
    assert report["configuration"]["trainer"]["optimizer"]["learning_rate"] == RATES[1]
    assert '<section id="tuner">' in page.read_text()


def test_lineage_leads_from_the_model_to_the_search(place):
    told = yt8m("status", "--root", str(place.root), "--artifacts", "--json").stdout
    steps = {step["node"]: step for step in json.loads(told)["executions"]}
    assert {"best_hyperparameters", "tuner_results"} <= {
        output["key"] for output in steps["Tuner"]["outputs"]
    }


def test_the_search_is_found_again_until_its_space_changes(place):
    changed = place.run(*ON, "--set", f"{RATE}=1e-5", "--set", "gate.gap_threshold=0.02")
    assert changed.returncode == 0, changed.stderr
    assert place.states()["Tuner"] == place.states()["Trainer"] == "cached"
    other = place.run(*ON, "--set", f"{RATE}=1e-5", "--set", "tuner.seed=2")
    assert other.returncode in (0, 3), other.stderr
    assert {"Tuner", "Trainer"} <= place.executed()
