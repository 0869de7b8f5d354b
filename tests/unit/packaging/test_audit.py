"""`make audit`: what it says of a database that knows, of one that does not, and of none.

pip-audit is a program of an environment of its own; here a script stands in its place and prints
what the real one prints.
"""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
LANE = "tfx-1.16-py311"


@pytest.fixture
def audit():
    spec = importlib.util.spec_from_file_location("audit", ROOT / "lock" / "audit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def pip_audit(tmp_path):
    """A program that answers with these rows: for the version that everybody knows, for a lock."""

    def make(known, rows, stderr=""):
        answers = [
            json.dumps({"dependencies": found}) if found is not None else ""
            for found in (known, rows)
        ]
        program = tmp_path / "pip-audit"
        program.write_text(
            f"#!{sys.executable}\nimport sys\n"
            f"print({answers!r}['--require-hashes' in sys.argv], end='')\n"
            f"print({stderr!r}, file=sys.stderr)\n"
        )
        program.chmod(0o755)
        return str(program)

    return make


def row(name, version, *vulns):
    return {"name": name, "version": version, "vulns": list(vulns)}


BAD = row(
    "urllib3",
    "1.24.1",
    {"id": "PYSEC-2019-1", "aliases": ["CVE-2019-11324"], "fix_versions": ["1.24.2"]},
)
HELD = row(
    "protobuf",
    "4.25.9",
    {"id": "GHSA-7gcm", "aliases": ["CVE-2026-0994"], "fix_versions": ["5.29.6"]},
)


def test_what_is_admitted_for_this_lock_is_no_finding(audit, pip_audit, capsys):
    assert audit.main([pip_audit([BAD], [HELD, row("rich", "15.0.0")]), LANE]) == 0
    assert capsys.readouterr().out == f"{LANE}: nothing new\n"


def test_an_advisory_that_nobody_admitted_is_named_with_its_remedy(audit, pip_audit, capsys):
    assert audit.main([pip_audit([BAD], [HELD]), "tfx-1.21-py313"]) == 1
    assert "protobuf 4.25.9: CVE-2026-0994/GHSA-7gcm, fixed in 5.29.6" in capsys.readouterr().out


def test_a_package_that_the_database_has_nothing_on_is_said_and_is_no_success(
    audit, pip_audit, capsys
):
    skipped = {"name": "tfx", "skip_reason": "Dependency not found"}
    assert audit.main([pip_audit([BAD], [skipped]), LANE]) == 1
    assert "tfx: not known to the database" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("known", "stderr", "says"),
    [
        ([row("urllib3", "1.24.1")], "", "it knows of no advisory for urllib3==1.24.1"),
        ([{"name": "urllib3", "skip_reason": "not found"}], "", "it knows of no advisory"),
        (None, "ERROR: Could not connect", "ERROR: Could not connect"),
    ],
)
def test_a_database_that_is_not_reached_is_no_clean_result(
    audit, pip_audit, capsys, known, stderr, says
):
    assert audit.main([pip_audit(known, [], stderr), LANE]) == 3
    said = capsys.readouterr()
    assert "could not be asked" in said.err
    assert says in said.err
    assert said.out == ""


ADMITTED = json.loads((ROOT / "lock" / "advisories.json").read_text())


@pytest.mark.parametrize("entry", ADMITTED, ids=lambda entry: entry["advisory"])
def test_what_is_admitted_is_pinned_below_its_fix_and_is_in_the_documentation(entry):
    from packaging.version import Version

    fixes = [Version(text) for text in entry["fixed_in"].split(", ")]
    documented = (ROOT / "docs" / "dependencies.md").read_text()
    assert entry["advisory"] in documented
    for lock in entry["locks"]:
        text = (ROOT / "lock" / f"{lock}.txt").read_text()
        pinned = re.search(rf"^{re.escape(entry['package'])}==(\S+)", text, re.MULTILINE)
        assert pinned, f"{lock} holds no {entry['package']}"
        assert Version(pinned[1]) < min(fixes), f"{lock} holds a fixed version: take the entry out"
