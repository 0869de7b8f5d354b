"""The wheel: built offline from the checkout, it holds all of yt8m and nothing else."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LAYERS = ("schemas", "components", "pipeline", "kubeflow")
DATA = ("*.pbtxt", "configs/*.yaml", "py.typed", "rbac.yaml")


def run(*command, **options):
    """The command's output; its error output is the failure's text."""
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, **options
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    """A wheel of the sources, built in a copy so that the checkout gets no build directory."""
    source = tmp_path_factory.mktemp("source")
    for layer in LAYERS:
        shutil.copytree(ROOT / layer, source / layer, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(
        ROOT / "src", source / "src", symlinks=True, ignore=shutil.ignore_patterns("*.egg-info")
    )
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    out = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, source)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def names(wheel):
    return set(zipfile.ZipFile(wheel).namelist())


def test_top_level_is_yt8m_and_its_metadata_alone(names):
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"yt8m"}
    assert len(tops) == 2


def test_every_source_file_is_inside_and_nothing_that_is_not_on_disk(names):
    on_disk = {
        f"yt8m/{path.relative_to(ROOT).as_posix()}"
        for layer in LAYERS
        for path in (ROOT / layer).rglob("*.py")
    }
    package = ROOT / "src" / "yt8m"
    on_disk |= {f"yt8m/{path.relative_to(package)}" for path in package.glob("*.py")}
    on_disk |= {f"yt8m/{path.relative_to(package)}" for path in package.glob("cli/**/*.py")}
    assert {name for name in names if name.endswith(".py")} == on_disk


def test_schemas_presets_and_type_markers_are_inside(names):
    for layer in LAYERS:
        for pattern in DATA:
            for path in (ROOT / layer).glob(pattern):
                assert f"yt8m/{path.relative_to(ROOT).as_posix()}" in names
    assert "yt8m/schemas/video.pbtxt" in names
    assert "yt8m/pipeline/configs/smoke.yaml" in names


def test_every_data_file_of_the_layers_is_inside(names):
    """What is not Python and still lies in a layer is needed there, so the wheel must have it.

    Only an image is built from a checkout, and what says how is of no use without one.
    """
    ignored = {".pyc", ".pyo"}
    image = ROOT / "kubeflow" / "images"
    others = {
        f"yt8m/{path.relative_to(ROOT).as_posix()}"
        for layer in LAYERS
        for path in (ROOT / layer).rglob("*")
        if path.is_file() and path.suffix not in ignored and image not in path.parents
    }
    assert others <= names


def test_installed_wheel_works_without_the_checkout(wheel, tmp_path):
    target = tmp_path / "site"
    uv = Path(sys.prefix, "uv", "bin", "uv")  # the set-up puts it there
    where = ("--python", sys.executable, "--target", target)
    run(uv, "pip", "install", "--quiet", "--offline", "--no-deps", *where, wheel)
    probe = """
import sys, yt8m.schemas.features
assert yt8m.schemas.features.__file__.startswith(sys.argv[1]), yt8m.schemas.features.__file__
from yt8m.schemas.features import Level
from yt8m.schemas.load import load_schema
from yt8m.pipeline.presets import list_presets, load_config
for level in Level:
    assert load_schema(level).feature
for preset in list_presets():
    load_config(preset.name)
from yt8m.components.report.model import RunReport
from yt8m.components.report.page import render_report
assert "Run incomplete" in render_report(RunReport())
from yt8m.cli.main import run
from yt8m.pipeline.config import PipelineConfig
from yt8m.schemas.config_docs import describe
assert all(field.meaning for node in describe(PipelineConfig) for field in node.fields)
sys.exit(run(["data", "generate", "--level", "video", "--train", "3", "--eval", "1",
              "--out", sys.argv[2]]))
"""
    # -S leaves out the editable install's import hook; the libraries are given by their path.
    libraries = next(path for path in sys.path if path.endswith("site-packages"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(target), libraries])}
    arguments = (sys.executable, "-S", "-c", probe, target, tmp_path / "data")
    run(*map(str, arguments), env=environment, cwd=tmp_path)
    assert (tmp_path / "data" / "train0000.tfrecord").exists()


def test_console_script_is_declared(wheel):
    archive = zipfile.ZipFile(wheel)
    (entry,) = [name for name in archive.namelist() if name.endswith("entry_points.txt")]
    assert "yt8m = yt8m.cli.main:main" in archive.read(entry).decode()
