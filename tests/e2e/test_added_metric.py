"""CONTRIBUTING's way "A metric", walked: two files are edited, and every part of a run knows it.

A metric of the user's own, which `evaluator.metrics` names, is beside it in the same run.
"""

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from docs_blocks import ROOT, files_of
from yt8m_runs import QUICK, Place, environment, generate

pytestmark = pytest.mark.e2e

ENTRY = """    mean_metric(
        "recall_at_3",
        "Recall@3",
        lambda rows: rows.hits[:, :3].sum(axis=1) / np.maximum(rows.label_counts, 1),
        meaning="share of a video's labels among its three best classes",
    ),
"""
ROW = "| `recall_at_3` | share of a video's labels among its three best classes |\n"
OWN = '''
"""A metric of our own: how sure the model is of a video's best class."""

from yt8m.components.metrics import mean_metric

sureness = mean_metric("sureness", "Sureness", lambda rows: rows.scores[:, 0].astype(float))
'''
GATE = (
    "evaluator.metrics=[own_metrics.sureness]",
    "gate.thresholds=[{metric: recall_at_3, minimum: 0.01, confident: true}, "
    "{metric: sureness, minimum: 0.01, confident: true}]",
)
READ = """
import contextlib, io, json, sys
import yt8m
from yt8m.cli.main import run

def said(*words):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert run([*words, "--json"]) == 0
    return json.loads(out.getvalue())

root, file = sys.argv[1:]
newest = yt8m.runs(root)[0]
print(json.dumps({
    "run": json.loads(newest.metrics.to_json(orient="index")),
    "runs": yt8m.runs(root).frame.iloc[0].to_dict(),
    "history": said("history", "--root", root)["runs"][0],
    "compare": said("compare", newest.id, newest.id, "--root", root)["metrics"],
    "metrics": said("metrics", file),
    "curves": newest.curves[newest.curves.kind == "train"].recall_at_3.dropna().tolist(),
}, default=str))
with contextlib.redirect_stderr(sys.stdout):
    run(["history", "--root", root, "--metric", "recall_at_3", "--metric", "sureness"])
"""


@dataclass(frozen=True, kw_only=True)
class Walked:
    """What a run left, and what the commands say of it."""

    place: Place
    said: dict
    table: str

    def read(self, pattern: str) -> dict:
        return json.loads(next(self.place.root.glob(pattern)).read_text())


def copy_with_metric(place: Path) -> Path:
    """The code with the metric, as the way says; the folder to import it from."""
    catalogue, page, _ = files_of("A metric")
    for layer in ("schemas", "components", "pipeline", "kubeflow", "src/yt8m/cli"):
        target = place / "yt8m" / layer.rpartition("/")[2]
        shutil.copytree(ROOT / layer, target, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "src" / "yt8m" / "__init__.py", place / "yt8m")
    shutil.copy(ROOT / "src" / "yt8m" / "__main__.py", place / "yt8m")
    code = place / "yt8m" / catalogue
    before, entries, after = code.read_text().partition("METRICS: tuple[Metric, ...] = (\n")
    code.write_text(f"{before}{entries}{ENTRY}{after}")
    rows = (ROOT / page).read_text()
    (place / "gating.md").write_text(rows.replace("| `gap` |", f"{ROW}| `gap` |", 1))
    return place


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    scratch = tmp_path_factory.mktemp("added")
    site = copy_with_metric(scratch / "site")
    (site / "own_metrics.py").write_text(OWN)
    env = environment(PYTHONPATH=str(site))
    data = generate(scratch / "data")
    place = Place(data, scratch / "root", scratch / "push", (*QUICK, *GATE), env, cold=True)
    done = place.run()
    assert done.returncode == 0, done.stderr
    rng = np.random.default_rng(0)
    file = scratch / "predictions.npz"
    np.savez(file, predictions=rng.random((9, 5)), labels=rng.random((9, 5)) < 0.4)
    reader = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", READ, str(place.root), str(file)],
        capture_output=True,
        text=True,
        timeout=200,
        env=env,
        check=False,
    )
    assert reader.returncode == 0, reader.stderr
    said, _, table = reader.stdout.partition("\n")
    return Walked(place=place, said=json.loads(said), table=table)


def test_the_documentation_must_have_its_row(walked, tmp_path):
    code = (
        "from pathlib import Path; import sys; from yt8m.components.metrics import METRICS\n"
        "rows = [f'| `{m.name}` | {m.meaning} |' for m in METRICS]\n"
        "print([row in Path(sys.argv[1]).read_text() for row in rows])"
    )
    pages = [ROOT / "docs" / "gating.md", Path(walked.place.env["PYTHONPATH"], "gating.md")]
    for page, is_there in zip(pages, (False, True), strict=True):
        done = subprocess.run(
            [sys.executable, "-c", code, str(page)],
            capture_output=True,
            text=True,
            env=walked.place.env,
            check=True,
        )
        assert (False not in json.loads(done.stdout.lower())) is is_there


@pytest.mark.parametrize("name", ["recall_at_3", "sureness"])
def test_evaluation_and_gate_know_the_metric(walked, name):
    evaluation = walked.read("artifacts/Evaluator/evaluation/*/metrics.json")
    estimate = evaluation["overall"]["candidate"][name]
    assert 0 < estimate["lower"] < estimate["value"] < estimate["upper"] < 1
    decision = walked.read("artifacts/Evaluator/blessing/*/decision.json")
    (check,) = [check for check in decision["checks"] if check["metric"] == name]
    assert (check["observed"], check["passed"]) == (estimate["lower"], True)


@pytest.mark.parametrize(("name", "title"), [("recall_at_3", "Recall@3"), ("sureness", "Sureness")])
def test_report_history_compare_and_python_show_it(walked, name, title):
    value = walked.said["run"][name]["value"]
    assert value > walked.said["run"][name]["lower"] > 0
    (page,) = walked.place.root.glob("artifacts/Report/report/*/report.html")
    assert title in page.read_text()
    report = walked.read("artifacts/Report/report/*/report.json")
    (shown,) = [m for m in report["evaluation"]["metrics"] if m["name"] == name]
    assert shown["candidate"]["value"] == pytest.approx(value)
    assert walked.said["history"][name] == pytest.approx(value)
    assert walked.said["runs"][name] == pytest.approx(value)
    assert f"{value:.4f}" in walked.table
    (compared,) = [m for m in walked.said["compare"] if m["name"] == name]
    assert compared["a"]["value"] == pytest.approx(value)


def test_training_and_arrays_know_one_of_the_catalogue(walked):
    curve = walked.said["curves"]
    assert len(curve) == 3
    assert all(0 < value <= 1 for value in curve)
    assert 0 < walked.said["metrics"]["recall_at_3"] <= 1
