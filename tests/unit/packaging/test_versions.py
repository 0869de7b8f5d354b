"""The lock is complete and names no place; the ranges admit both sets of TFX."""

import re
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[3]
LOCKS = ("py310.txt", "py310-dev.txt", "uv.txt")
# What TFX 1.16 and 1.21 come with, the oldest and the newest that setup.py is to admit: the lock,
# and the set that the tests were run with by hand (docs/decisions/0001).
FAMILIES = {
    "1.16": {
        "tfx": "1.16.0",
        "tensorflow": "2.16.2",
        "tf-keras": "2.16.0",
        "tensorflow-transform": "1.16.0",
        "tensorflow-model-analysis": "0.47.1",
        "tensorflow-data-validation": "1.16.1",
        "ml-metadata": "1.16.0",
        "apache-beam": "2.61.0",
        "dill": "0.3.1.1",
        "tensorboard": "2.16.2",
        "kfp": "2.5.0",
        "kubernetes": "26.1.0",
        "numpy": "1.26.4",
    },
    "1.21": {
        "tfx": "1.21.0",
        "tensorflow": "2.21.0",
        "tf-keras": "2.21.0",
        "tensorflow-transform": "1.21.0",
        "tensorflow-model-analysis": "0.52.0",
        "tensorflow-data-validation": "1.21.0",
        "ml-metadata": "1.21.0",
        "apache-beam": "2.74.0",  # below 2.69 Beam does not take the protobuf that TFX 1.21 needs
        "dill": "0.4.1",
        "tensorboard": "2.21.0",
        "kfp": "2.16.1",
        "kubernetes": "26.1.0",
        "numpy": "2.4.6",
    },
}

OF_NO_FAMILY = {"google-crc32c", "pyyaml", "rich", "tzdata", "boto3"}


def locked(name):
    """The lock's entries: `name==version` and the hashes below it."""
    text = (ROOT / "lock" / name).read_text()
    joined = text.replace("\\\n", " ")
    return [line for line in joined.splitlines() if line and not line.startswith("#")]


@pytest.mark.parametrize("name", LOCKS)
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


@pytest.mark.parametrize("family", FAMILIES)
def test_ranges_admit_both_sets_of_tfx(family):
    ranges = declared()
    for name, version in FAMILIES[family].items():
        assert ranges[name].specifier.contains(version), f"{ranges[name]} and {version}"


@pytest.mark.parametrize(("lock", "extra"), [("py310.txt", ""), ("py310-dev.txt", "dev")])
def test_lock_satisfies_every_range(lock, extra):
    versions = dict(entry.split()[0].split("==") for entry in locked(lock))
    versions = {re.sub(r"\[.*", "", n).lower().replace("_", "-"): v for n, v in versions.items()}
    for name, requirement in declared(extra=extra).items():
        assert requirement.specifier.contains(versions[name]), requirement


def test_every_requirement_is_looked_at_in_both_sets():
    for family in FAMILIES.values():
        assert set(family) | OF_NO_FAMILY == set(declared())
