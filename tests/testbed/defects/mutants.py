"""Random changes of one operator, number, condition or call, and whether the tests notice them.

make mutants SEED=1 COUNT=150

The tests are the unit tests, the integration tests of the changed package, and those elsewhere
that import the changed module, all as `make test` runs them. What they do not notice is printed as
a patch, and kept in build/mutants: each needs a test, or a reason why nothing that can be seen has
changed. Tests that fail without any change notice nothing: they end it.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from defects.code_copy import ROOT, Ended, code_copy, run_tests

_LAYERS = ("components", "pipeline", "schemas", "kubeflow", "src/yt8m/cli")
_TIMEOUT_S = 3600.0  # of whole folders; a single test that hangs ends at pytest's own timeout
_ORDINARY = "not (slow or real or lane_b or control_plane or engines or many_runs)"
_KEPT = ROOT / "build" / "mutants"
_OTHER: dict[type[ast.AST], type[ast.AST]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
_NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True, kw_only=True)
class Mutant:
    """One change of one file."""

    file: str
    before: str
    after: str

    @property
    def patch(self) -> str:
        """The change as a patch."""
        texts = (self.before.splitlines(True), self.after.splitlines(True))
        return "".join(difflib.unified_diff(*texts, f"a/{self.file}", f"b/{self.file}"))

    @property
    def tests(self) -> list[list[str]]:
        """The tests that should notice it, the likeliest first."""
        parts = Path(self.file).parts
        below = 2 if parts[1] == "extras" else 1
        package = {"components": parts[below], "src": "cli"}.get(parts[0], parts[0])
        folders = [ROOT / "tests" / kind / package for kind in ("unit", "integration")]
        there = [str(folder.relative_to(ROOT)) for folder in folders if folder.is_dir()]
        return [tests for tests in (there[:1], ["tests/unit"], there[1:], self._importers) if tests]

    @property
    def _importers(self) -> list[str]:
        module = self.file.removesuffix(".py").removeprefix("src/yt8m/").replace("/", ".")
        files = sorted((ROOT / "tests" / "integration").rglob("test_*.py"))
        return [str(f.relative_to(ROOT)) for f in files if f"yt8m.{module} " in f.read_text()]


def mutants(chance: random.Random) -> Iterator[Mutant]:
    """One change after the other, each of a random place."""
    files = [p for layer in _LAYERS for p in sorted((ROOT / layer).rglob("*.py"))]
    sizes = [len(path.read_text().splitlines()) for path in files]
    while True:
        (path,) = chance.choices(files, sizes)
        before = path.read_text()
        places = [node for node in _nodes(ast.parse(before)) if _changed(node) is not None]
        if not places:
            continue
        place = chance.choice(places)
        after = _replaced(before, place)
        if after != before:
            yield Mutant(file=str(path.relative_to(ROOT)), before=before, after=after)


def _nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below, but those in f-strings, whose places Python 3.11 does not tell."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, ast.JoinedStr):
            yield child
            yield from _nodes(child)


def _changed(node: ast.AST) -> str | None:
    """The other text of an expression; None of what is not changed."""
    match node:
        case ast.Compare(left=left, ops=[op, *ops], comparators=others) if type(op) in _OTHER:
            return ast.unparse(ast.Compare(left, [_OTHER[type(op)](), *ops], others))  # type: ignore[list-item]
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OTHER:
            return ast.unparse(ast.BinOp(left, _OTHER[type(op)](), right))  # type: ignore[arg-type]
        case ast.BoolOp(op=op, values=values):
            return ast.unparse(ast.BoolOp(_OTHER[type(op)](), values))  # type: ignore[arg-type]
        case ast.Constant(value=bool(value)):
            return str(not value)
        case ast.Constant(value=int(value)):
            return str(value + 1)
        case ast.Name(id=name) if name in _NAMES:
            return _NAMES[name]
        case ast.Expr(value=ast.Call()):
            return "pass"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return ast.unparse(operand)
    return None


def _replaced(text: str, node: ast.AST) -> str:
    lines = text.splitlines(True)
    first, last = node.lineno - 1, node.end_lineno - 1  # type: ignore[attr-defined]
    head = lines[first].encode()[: node.col_offset].decode()  # type: ignore[attr-defined]
    tail = lines[last].encode()[node.end_col_offset :].decode()  # type: ignore[attr-defined]
    changed = _changed(node) or ""
    whole = changed if isinstance(node, ast.Expr | ast.Constant | ast.Name) else f"({changed})"
    return "".join([*lines[:first], head + whole + tail, *lines[last + 1 :]])


class Suite:
    """The tests of a copy, which are known to pass there before they count as noticing a change."""

    def __init__(self, copy: Path, *, workers: int) -> None:
        self._copy, self._workers = copy, workers
        self._passing: set[tuple[str, ...]] = set()

    def notice(self, mutant: Mutant) -> bool:
        """Whether tests fail with the change, and pass without it; SystemExit if they do not."""
        file = self._copy / mutant.file
        file.write_text(mutant.after)
        try:
            failing = next((tests for tests in mutant.tests if not self._run(tests).passed), None)
        finally:
            file.write_text(mutant.before)
        if failing is not None and tuple(failing) not in self._passing:
            without = self._run(failing)
            if not without.passed:
                raise SystemExit(f"without any change {failing} fail: {without.said}")
            self._passing.add(tuple(failing))
        return failing is not None

    def _run(self, tests: list[str]) -> Ended:
        words = ["-m", _ORDINARY, *tests]
        return run_tests(self._copy, words, workers=self._workers, timeout_s=_TIMEOUT_S)


def main() -> int:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--first", type=int, default=1, help="number of the first one of the seed")
    parser.add_argument("--workers", type=int, default=2, help="of pytest")
    args = parser.parse_args()
    _KEPT.mkdir(parents=True, exist_ok=True)
    before = args.first - 1
    chosen = islice(enumerate(mutants(random.Random(args.seed)), 1), before, before + args.count)
    survivors = 0
    with code_copy() as copy:
        suite = Suite(copy, workers=args.workers)
        for number, mutant in chosen:
            noticed = suite.notice(mutant)
            print(f"{number:4d}  {mutant.file}: {'noticed' if noticed else 'MISSED'}", flush=True)
            if not noticed:
                survivors += 1
                (_KEPT / f"{args.seed}-{number}.patch").write_text(mutant.patch)
                print(mutant.patch, flush=True)
    print(f"{args.count - survivors} of {args.count} noticed; the others are in {_KEPT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
