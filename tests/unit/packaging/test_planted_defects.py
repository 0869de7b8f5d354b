"""The planted defects apply to the code as it is, and are what `make planted` says they are."""

import random
import re
import subprocess
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from defects.mutants import Mutant, Suite, mutants
from defects.planted import PAGE, Planted, planted, with_rows

ROOT = Path(__file__).resolve().parents[3]
DEFECTS = planted()


@pytest.mark.parametrize("defect", DEFECTS, ids=lambda defect: defect.name)
def test_a_patch_applies_and_its_tests_are_there(defect: Planted) -> None:
    subprocess.run(["git", "apply", "--check", str(defect.patch)], cwd=ROOT, check=True)
    for test in defect.tests:
        file, _, name = test.partition("::")
        assert name.partition("[")[0] in (ROOT / file).read_text()
    removed = [
        line for line in defect.patch.read_text().splitlines() if re.match(r"-\s*def ", line)
    ]
    assert removed == []


def test_there_are_fifty_and_at_most_five_of_a_package() -> None:
    packages = Counter(
        parts[1] if (parts := Path(defect.files[0]).parts)[0] == "components" else parts[0]
        for defect in DEFECTS
    )
    assert len(DEFECTS) >= 50
    assert max(packages.values()) <= 5
    assert len(packages) >= 15
    assert len({defect.name for defect in DEFECTS}) == len({d.patch.read_text() for d in DEFECTS})


@pytest.mark.parametrize(("found", "said"), [(True, "yes"), (False, "**no**")])
def test_the_page_has_a_row_for_each_and_keeps_it_until_it_is_tried_again(
    found: bool, said: str
) -> None:
    page, tried = PAGE.read_text(), DEFECTS[3]
    assert with_rows(page, {}) == page
    row = f"| `{tried.name}` | {tried.what} | {said} |"
    (before,) = (line for line in page.splitlines() if f"| `{tried.name}` |" in line)
    assert with_rows(page, {tried.name: found}) == page.replace(before, row)


def test_a_mutant_changes_one_place_and_is_still_python() -> None:
    for mutant in islice(mutants(random.Random(1)), 20):
        compile(mutant.after, mutant.file, "exec")
        assert mutant.patch.count("\n@@") == 1
        assert all((ROOT / test).exists() for tests in mutant.tests for test in tests)


@pytest.mark.parametrize("passes", [True, False])
def test_tests_that_fail_without_a_change_notice_nothing(tmp_path: Path, passes: bool) -> None:
    mutant = Mutant(file="schemas/one.py", before="ONE = 1\n", after="ONE = 2\n")
    for file, text in {
        "schemas/one.py": mutant.before,
        "tests/unit/schemas/test_one.py": _TEST.format(wanted=1 if passes else 3),
    }.items():
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text(text)
    suite = Suite(tmp_path, workers=0)
    if passes:
        assert suite.notice(mutant)
    else:
        with pytest.raises(SystemExit, match=r"without any change .* fail"):
            suite.notice(mutant)
    assert (tmp_path / mutant.file).read_text() == mutant.before


_TEST = """
from pathlib import Path


def test_one():
    assert Path("schemas/one.py").read_text() == "ONE = {wanted}\\n"
"""
