"""`make golden-lanes`: what a run on this lane leaves, small, for the other lane's tests to read.

    python tests/testbed/lanes/golden_lanes.py tests/golden/lanes

Writes a folder named after the lane: the records, what a run of the whole pipeline left in its root
and in the registry, a training to be continued, and the compiled pipeline. Where it was is written
as ROOT, and MLMD's database is SQL text, so that the files can lie anywhere: `restored` puts them
to a place. A pushed version's record stays as it is, for it is signed.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

import numpy as np
from exported_models import SIZES
from records import make_dataset, read_all
from training import make_job
from yt8m_runs import QUICK, Place

from yt8m.cli.main import run
from yt8m.components.artifacts.version_record import RECORD_FILE
from yt8m.components.trainer.backends.in_process import run_job
from yt8m.components.trainer.state.warm_start import read_weights
from yt8m.schemas.features import FeatureConfig

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "lanes"
LANES = ("tfx-1.16", "tfx-1.21")
CLASSES = 5
HERE = "ROOT"
MADE = Path("/var/tmp/yt8m-lane")  # what a record tells of it is the same on every machine
DATABASE, SQL = "metadata.db", "metadata.sql"
EXPECTED = "expected.npz"
SPEC = "pipeline.yaml"


def lane() -> str:
    """Of the environment that this is run in."""
    return "tfx-" + ".".join(version("tfx").split(".")[:2])


def place_at(folder: Path) -> Place:
    sizes = f"features.sizes=[{', '.join(map(str, SIZES.values()))}]"
    wanted = (sizes, f"features.num_classes={CLASSES}", "gate.gap_threshold=0.001")
    small = ("trainer.model.width=8", "trainer.checkpoint.keep=1")
    settings = (*QUICK, *wanted, *small, "gate.min_examples=1")
    return Place(
        data=folder / "data",
        root=folder / "root",
        push=folder / "push",
        settings=settings,
        cold=True,
    )


def write(out: Path) -> None:
    """The files of this lane, in a folder of its name."""
    with made_folder() as folder:
        place = place_at(folder)
        make_dataset(place.data, level="video", train=40, eval=20, classes=CLASSES, sizes=SIZES)
        done = place.run()
        if done.returncode:
            raise SystemExit(done.stderr)
        train(folder, steps=4)
        compile_pipeline(folder, place.settings)
        kept = out / lane()
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(folder, kept, ignore=shutil.ignore_patterns("*.log", "events.out.*"))
        np.savez(kept / EXPECTED, scores=scores(folder), **train(folder, steps=6))
    for database in kept.rglob(DATABASE):
        with closing(sqlite3.connect(database)) as connection:
            database.with_name(SQL).write_text("\n".join(connection.iterdump()), encoding="utf-8")
        database.unlink()
    _replace(kept, str(MADE), HERE)


@contextmanager
def made_folder() -> Iterator[Path]:
    MADE.mkdir()
    try:
        yield MADE
    finally:
        shutil.rmtree(MADE)


def compile_pipeline(folder: Path, settings: Sequence[str]) -> None:
    """The same pipeline as YAML, for a cluster whose shared volume is the folder."""
    platform = folder / "cluster.yaml"
    platform.write_text(
        f"kubeflow: {{work_dir: {folder}/work, volumes: [{{claim: yt8m, path: {folder}}}]}}\n"
    )
    words = ["kubeflow", "compile", "smoke", "--quiet", "--image", "registry/yt8m:1"]
    words += ["--root", "s3://bucket/yt8m", "--platform", str(platform)]
    words += [f"--set={setting}" for setting in settings]
    if run([*words, "--out", str(folder / SPEC)]):
        raise SystemExit("the pipeline does not compile")


def scores(folder: Path) -> np.ndarray:
    """Of the pushed model, for each record that it was judged by."""
    import tensorflow as tf

    records = [r for path in sorted(folder.glob("data/validate*")) for r in read_all(path)]
    model = tf.saved_model.load(str(folder / "push" / "1"))
    return model.signatures["scores"](examples=tf.constant(records))["scores"].numpy()


def train(folder: Path, *, steps: int) -> dict[str, np.ndarray]:
    """Train on the records, or go on, to so many steps: the weights by name."""
    import tensorflow as tf

    job = make_job(folder / "training", data=folder / "data", max_steps=steps)
    features = FeatureConfig(num_classes=CLASSES, sizes=tuple(SIZES.values()))
    run_job(replace(job, features=features), {})
    return read_weights(tf.train.latest_checkpoint(job.checkpoint_dir))


def restored(name: str, to: Path) -> Path:
    """What lane `name` left, at `to`."""
    shutil.copytree(GOLDEN / name, to)
    _replace(to, HERE, str(to))
    for sql in to.rglob(SQL):
        with closing(sqlite3.connect(sql.with_name(DATABASE))) as connection:
            connection.executescript(sql.read_text(encoding="utf-8"))
        sql.unlink()
    return to


def _replace(folder: Path, old: str, new: str) -> None:
    """In every file that is text; in the others no place is written."""
    for path in filter(Path.is_file, folder.rglob("*")):
        if path.match(RECORD_FILE):
            continue
        content = path.read_bytes()
        if old.encode() in content:
            path.write_text(content.decode("utf-8").replace(old, new), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
