"""Planted defects: each is a small patch, which names the tests that should notice it.

make planted                                    every defect
make planted PLANTED="storage-lock-shared"      by name
make planted PLANTED="--some 5"                 five, chosen by the commit's hash
make planted PLANTED="--write"                  and the rows of the tried ones, into the docs

The tests must pass without a defect. A patch that does not apply any more is a failure: write it
anew. Of all defects 4 % may be missed, of five none.
"""

from __future__ import annotations

import argparse
import random
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from defects.code_copy import ROOT, code_copy, run_tests

PATCHES = Path(__file__).with_name("patches")
PAGE = ROOT / "docs" / "reliability.md"
_MISSED = 0.04  # of all
_BEGIN, _END = "<!-- planted: begin -->\n", "<!-- planted: end -->"
_HEAD = ("| planted | what it does | noticed |", "| --- | --- | --- |")


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A defect."""

    name: str
    what: str
    tests: tuple[str, ...]
    patch: Path

    @property
    def files(self) -> list[str]:
        """The files that it changes."""
        lines = self.patch.read_text().splitlines()
        return [line.removeprefix("+++ b/") for line in lines if line.startswith("+++ b/")]


def planted() -> list[Planted]:
    """All defects, by name."""
    return [_parsed(path) for path in sorted(PATCHES.glob("*.patch"))]


def _parsed(path: Path) -> Planted:
    head = path.read_text().partition("\n\n")[0].splitlines()
    values = [tuple(line.split(": ", 1)) for line in head]
    (what,) = (value for key, value in values if key == "Defect")
    tests = tuple(value for key, value in values if key == "Test")
    return Planted(name=path.stem, what=what, tests=tests, patch=path)


def apply(defect: Planted, copy: Path, *, undo: bool = False) -> bool:
    """Whether the patch could be applied to the copy, or taken back."""
    words = ["git", "apply", *(["--reverse"] if undo else []), str(defect.patch)]
    # Outside a repository, so that it takes the copy's directory for the root of the paths.
    done = subprocess.run(words, cwd=copy, capture_output=True, text=True, check=False)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
    return done.returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="planted", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="of defects; all without one")
    parser.add_argument("--some", type=int, help="so many, chosen by the commit's hash")
    parser.add_argument("--write", action="store_true", help="put the table into the docs")
    args = parser.parse_args()
    chosen = _chosen(args.names, args.some)
    with code_copy() as copy:
        clean = run_tests(copy, sorted({test for defect in chosen for test in defect.tests}))
        if not clean.passed:
            print(f"without any defect the tests fail: {clean.said}", file=sys.stderr)
            return 1
        noticed = {defect.name: found for defect, found in _tried(chosen, copy)}
    if args.write:
        PAGE.write_text(with_rows(PAGE.read_text(), noticed))
    missed = [name for name, found in noticed.items() if not found]
    print(f"{len(noticed) - len(missed)} of {len(noticed)} planted defects were noticed")
    lost = len(chosen) - len(noticed)
    return 1 if lost or len(missed) > _MISSED * len(chosen) else 0


def _chosen(names: Sequence[str], some: int | None) -> list[Planted]:
    everything = planted()
    if some is not None:
        words = ["git", "rev-parse", "HEAD"]
        done = subprocess.run(words, cwd=ROOT, check=True, capture_output=True, text=True)
        return random.Random(done.stdout.strip()).sample(everything, some)
    unknown = set(names) - {defect.name for defect in everything}
    if unknown:
        raise SystemExit(f"no such defects: {', '.join(sorted(unknown))}")
    return [defect for defect in everything if not names or defect.name in names]


def _tried(chosen: Sequence[Planted], copy: Path) -> Iterator[tuple[Planted, bool]]:
    for defect in chosen:
        if not apply(defect, copy):
            print(f"{defect.name}: the patch does not apply any more", file=sys.stderr)
            continue
        try:
            run = run_tests(copy, defect.tests)
        finally:
            apply(defect, copy, undo=True)
        how = f"MISSED: {run.said[-300:]}" if run.passed else "noticed"
        print(f"{run.seconds:6.1f} s  {defect.name}: {how}", flush=True)
        yield defect, not run.passed


def with_rows(page: str, noticed: dict[str, bool]) -> str:
    """The page with a row for each defect: of those that were not tried now, the one it had."""
    head, rest = page.split(_BEGIN)
    table, tail = rest.split(_END)
    known = {row.split("`")[1]: row for row in table.splitlines()[len(_HEAD) :]}
    rows = [_row(defect, noticed, known.get(defect.name, "")) for defect in planted()]
    lines = "".join(f"{row}\n" for row in [*_HEAD, *filter(None, rows)])
    return f"{head}{_BEGIN}{lines}{_END}{tail}"


def _row(defect: Planted, noticed: dict[str, bool], before: str) -> str:
    if defect.name not in noticed:
        return before
    return f"| `{defect.name}` | {defect.what} | {'yes' if noticed[defect.name] else '**no**'} |"


if __name__ == "__main__":
    sys.exit(main())
