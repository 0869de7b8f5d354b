"""A root that an earlier version of this project (742dd83) has left is gone on with by this one.

`tests/golden/root/742dd83.tar.gz` is what one `yt8m run` of that version left (metadata, artifacts,
checkpoints, the run's record), with its registry and its data: 120 videos of 24 numbers each, in
/srv/yt8m. Here it is moved elsewhere, since nothing may depend on where a root lies.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import tarfile
from pathlib import Path

import pytest
from exported_models import SIZES
from records import make_dataset
from yt8m_runs import QUICK, Place, yt8m

from yt8m.components.example_gen.config import DataConfig
from yt8m.components.example_gen.sources import source_digest

pytestmark = pytest.mark.e2e

LEFT = Path(__file__).parents[1] / "golden" / "root" / "742dd83.tar.gz"
WAS_AT = "/srv/yt8m"
WAS_DIGEST = "b2b78095a82ae724"  # of the data's addresses, sizes and times
CLASSES = 20
SETTINGS = (
    *QUICK[:-1],
    f"features.sizes=[{', '.join(map(str, SIZES.values()))}]",
    "trainer.model.width=16",
    "data.splits={train: ['span-{SPAN}/train*'], eval: ['span-{SPAN}/validate*'], test: []}",
)


def move(directory: Path) -> None:
    """Let everything that was left in `directory` name it, where it named WAS_AT."""
    splits = {"train": ("span-{SPAN}/train*",), "eval": ("span-{SPAN}/validate*",)}
    now = {
        WAS_AT: str(directory),
        WAS_DIGEST: source_digest(DataConfig(root=str(directory / "data"), splits=splits)),
    }
    for path in directory.rglob("*"):
        if path.is_symlink() and str(path.readlink()).startswith(WAS_AT):
            target = str(path.readlink()).replace(WAS_AT, str(directory))
            path.unlink()
            path.symlink_to(target)
        elif path.is_file() and path.suffix in (".json", ".html", ""):
            content = path.read_bytes()
            for before, after in now.items():
                content = content.replace(before.encode(), after.encode())
            path.write_bytes(content)
    with sqlite3.connect(directory / "root" / "metadata.db") as database:
        for table, column in (
            ("Artifact", "uri"),
            ("ArtifactProperty", "string_value"),
            ("ContextProperty", "string_value"),
            ("ExecutionProperty", "string_value"),
        ):
            change = f"UPDATE {table} SET {column} = replace({column}, ?, ?)"
            database.executemany(change, now.items())


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """One place for this module's story; its tests run in their order."""
    directory = tmp_path_factory.mktemp("earlier")
    with tarfile.open(LEFT) as archive:
        archive.extractall(directory)
    move(directory)
    return Place(
        data=directory / "data",
        root=directory / "root",
        push=directory / "push",
        settings=SETTINGS,
    )


def test_its_run_is_told_and_its_artifacts_are_found(place: Place) -> None:
    history = json.loads(yt8m("history", "--root", place.root, "--json").stdout)["runs"]
    assert [(run["verdict"], run["version"], run["spans"]) for run in history] == [
        ("pushed", 1, "1")
    ]
    status = json.loads(yt8m("status", "--root", place.root, "--json").stdout)
    outputs = [output for e in status["executions"] for output in e["outputs"]]
    assert len(status["executions"]) == 11
    assert all(Path(output["uri"]).exists() for output in outputs)
    assert Path(yt8m("report", "--root", place.root).stdout.strip()).is_file()
    planned = yt8m("gc", "--root", place.root, "--dry-run", "--keep-days", 0, "--json")
    assert json.loads(planned.stdout)["runs"] == []


def test_its_data_are_known_to_be_trained_on(place: Place) -> None:
    done = place.run(command="retrain")
    assert done.returncode == 4, done.stderr
    assert "nothing new" in done.stdout


def test_new_data_are_trained_on_from_its_model_and_gated_against_it(place: Place) -> None:
    new = place.data.parent / "new"
    make_dataset(new, level="video", train=120, eval=60, classes=CLASSES, sizes=SIZES, spans=2)
    shutil.move(new / "span-2", place.data / "span-2")
    done = place.run(command="retrain")
    assert done.returncode == 0, done.stderr
    record = place.records()[0]
    assert (record["version"], record["baseline_version"], record["spans"]) == (2, 1, [2])
    assert record["gap_difference"] is not None
    log = place.root / "logs" / record["run_id"] / "Trainer.log"
    assert "warm start from" in log.read_text()


def test_the_same_configuration_begins_no_third_model(place: Place) -> None:
    done = place.run(command="retrain")
    assert done.returncode == 4, done.stderr
    assert place.versions() == [1, 2]


def test_its_version_is_gone_back_to(place: Place) -> None:
    done = yt8m("models", "rollback", 1, "--push", place.push)
    assert done.returncode == 0, done.stderr
    assert place.versions() == [1, 2, 3]
    verified = yt8m("models", "verify", "--push", place.push)
    assert verified.returncode == 0, verified.stdout
