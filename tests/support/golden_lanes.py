"""`make golden-lanes`: what a run on this lane leaves, small, for the other lane's tests to read.

    python tests/support/golden_lanes.py tests/golden/lanes

Writes a folder named after the lane: the records, what a run of the whole pipeline left in its root
and in the registry, and the compiled spec. Where it was is written as ROOT, and MLMD's database is
SQL text, so that the files can lie anywhere: `restored` puts them to a place.
"""

from __future__ import annotations

import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing
from importlib.metadata import version
from pathlib import Path

from exported_models import SIZES
from golden_specs import compile_case
from records import make_dataset
from yt8m_runs import QUICK, Place

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "lanes"
LANES = ("tfx-1.16", "tfx-1.21")
CLASSES = 5
HERE = "ROOT"
SQL = "metadata.sql"


def lane() -> str:
    """Of the environment that this is run in."""
    return "tfx-" + ".".join(version("tfx").split(".")[:2])


def place_at(folder: Path) -> Place:
    sizes = f"features.sizes=[{', '.join(map(str, SIZES.values()))}]"
    wanted = (sizes, f"features.num_classes={CLASSES}", "gate.gap_threshold=0")
    settings = (*QUICK, *wanted, "gate.min_examples=1")
    return Place(
        data=folder / "data",
        root=folder / "root",
        push=folder / "push",
        settings=settings,
        cold=True,
    )


def write(out: Path) -> None:
    """The files of this lane, in a folder of its name."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        place = place_at(folder)
        make_dataset(place.data, level="video", train=40, eval=20, classes=CLASSES, sizes=SIZES)
        done = place.run()
        if done.returncode:
            raise SystemExit(done.stderr)
        (folder / "smoke.yaml").write_text(compile_case("smoke.yaml"), encoding="utf-8")
        kept = out / lane()
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(folder, kept, symlinks=False, ignore=shutil.ignore_patterns("logs"))
    for database in kept.rglob("metadata.db"):
        with closing(sqlite3.connect(database)) as connection:
            database.with_name(SQL).write_text("\n".join(connection.iterdump()), encoding="utf-8")
        database.unlink()
    _replace(kept, str(folder), HERE)


def restored(name: str, to: Path) -> Path:
    """What lane `name` left, at `to`."""
    shutil.copytree(GOLDEN / name, to)
    _replace(to, HERE, str(to))
    for sql in to.rglob(SQL):
        with closing(sqlite3.connect(sql.with_name("metadata.db"))) as connection:
            connection.executescript(sql.read_text(encoding="utf-8"))
        sql.unlink()
    return to


def _replace(folder: Path, old: str, new: str) -> None:
    """In every file that is text; in the others no place is written."""
    for path in filter(Path.is_file, folder.rglob("*")):
        content = path.read_bytes()
        if old.encode() in content:
            path.write_text(content.decode("utf-8").replace(old, new), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
