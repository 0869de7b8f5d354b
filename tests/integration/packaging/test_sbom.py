"""A lock as a bill of materials: whole, and the same each time."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

LOCK = Path(__file__).parents[3] / "lock"
RUNTIME = sorted(path for path in LOCK.glob("tfx-*-py31?.txt"))


def sbom(lock):
    command = [sys.executable, str(LOCK / "sbom.py"), str(lock)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("lock", RUNTIME, ids=lambda path: path.stem)
def test_every_pinned_package_is_in_the_bill_with_every_digest(lock):
    text = lock.read_text()
    bill = json.loads(sbom(lock))
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    pinned = re.findall(r"^([\w.-]+)(?:\[.*?\])?==([^\s\\]+)", text, re.MULTILINE)
    assert {(c["name"], c["version"]) for c in bill["components"]} == {
        (re.sub(r"[._]", "-", name.lower()), version) for name, version in pinned
    }
    hashes = [
        h["content"] for c in bill["components"] for h in c["externalReferences"][0]["hashes"]
    ]
    assert sorted(hashes) == sorted(re.findall("sha256:([0-9a-f]{64})", text))
    references = {c["bom-ref"] for c in bill["components"]}
    assert set(bill["dependencies"][0]["dependsOn"]) == references


def test_the_same_lock_gives_the_same_bytes_and_another_lock_another_serial_number():
    assert sbom(RUNTIME[0]) == sbom(RUNTIME[0])
    numbers = {json.loads(sbom(lock))["serialNumber"] for lock in RUNTIME}
    assert len(numbers) == len(RUNTIME)
