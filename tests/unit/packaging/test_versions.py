"""Every lock is complete, small and names no place; the ranges admit both sets of TFX."""

import re
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
LOCKS = sorted(path.name for path in (ROOT / "lock").glob("tfx-*-py*.txt"))
LANES = {"tfx-1.16": ("py311",), "tfx-1.21": ("py311", "py312", "py313")}
MOST_PACKAGES = 150
SERVERS = {"notebook", "jupyterlab", "jupyter-server", "ipykernel", "pytest"}


def locked(name):
    """The lock's entries: `name==version` and the hashes below it."""
    text = (ROOT / "lock" / name).read_text()
    joined = text.replace("\\\n", " ")
    return [line for line in joined.splitlines() if line and not line.startswith("#")]


def versions_of(lock):
    """Name to version."""
    pairs = (entry.split()[0].split("==") for entry in locked(lock))
    return {re.sub(r"\[.*", "", n).lower().replace("_", "-"): v for n, v in pairs}


def test_each_lane_has_a_lock_for_each_of_its_pythons():
    names = [f"{lane}-{python}" for lane, pythons in LANES.items() for python in pythons]
    kinds = ("", "-dev", "-cuda")
    assert sorted(f"{name}{kind}.txt" for name in names for kind in kinds) == LOCKS


@pytest.mark.parametrize("lock", LOCKS)
def test_what_is_tested_and_what_has_cuda_are_the_runtime_lock_and_more(lock):
    runtime = versions_of(re.sub("-(dev|cuda)", "", lock))
    assert runtime.items() <= versions_of(lock).items()
    if "-cuda" in lock:
        more = set(versions_of(lock)) - set(runtime)
        assert more
        assert all(name.startswith("nvidia-") for name in more)


@pytest.mark.parametrize(
    "name", [*LOCKS, "uv.txt", "audit.txt", "pyright.txt", "jupyter.txt", "mlflow.txt"]
)
def test_lock_holds_exact_versions_with_hashes_and_names_no_place(name):
    entries = locked(name)
    assert entries
    for entry in entries:
        assert re.match(r"[A-Za-z0-9._\[\],-]+==[^ ]+ ", entry), entry
        assert "--hash=sha256:" in entry, entry
    text = (ROOT / "lock" / name).read_text()
    assert not re.search(r"https?://|--index-url|--find-links|--extra-index|file:", text)


def declared(*, extra=""):
    """Name to requirement, as the installed package declares them."""
    found = map(Requirement, requires("yt8m-pipeline") or ())
    chosen = (r for r in found if r.marker is None or r.marker.evaluate({"extra": extra}))
    return {r.name.lower().replace("_", "-"): r for r in chosen}


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_satisfies_every_range(lock):
    versions = versions_of(lock)
    extra = (re.findall("-(dev|cuda)", lock) or [""])[0]
    for name, requirement in declared(extra=extra).items():
        assert requirement.specifier.contains(versions[name]), requirement


@pytest.mark.parametrize("lock", [name for name in LOCKS if not re.search("dev|cuda", name)])
def test_what_runs_is_small_and_holds_no_server_and_no_tool(lock):
    versions = versions_of(lock)
    assert len(versions) <= MOST_PACKAGES
    assert not SERVERS & set(versions)
