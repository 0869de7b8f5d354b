"""The measures of the code in docs/architecture.md, counted anew: `make measures`.

A code line is a line that is no docstring, comment or blank line.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("components", "pipeline", "schemas", "kubeflow", "src/yt8m")
TESTBEDS = ("tests/support", "tests/testbed")
_Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """One module: its file, text and syntax tree."""

    path: Path
    text: str
    tree: ast.Module

    @classmethod
    def read(cls, path: Path) -> Module:
        """Read and parse the file."""
        text = path.read_text(encoding="utf-8")
        return cls(path, text, ast.parse(text))

    @property
    def code_lines(self) -> int:
        """Number of lines without docstrings, comments and blank lines."""
        docstrings = {line for node in _docstrings(self.tree) for line in _span(node)}
        lines = enumerate(map(str.strip, self.text.splitlines()), start=1)
        return sum(
            bool(line) and not line.startswith("#") and number not in docstrings
            for number, line in lines
        )

    @property
    def late_imports(self) -> int:
        """Number of imports inside functions or by name."""
        functions = [node for node in ast.walk(self.tree) if isinstance(node, _Function)]
        inside = {
            id(node): node
            for function in functions
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        by_name = re.findall(r"\b(?:import_module|__import__)\(", self.text)
        lazy = [f for f in self.tree.body if isinstance(f, _Function) and f.name == "__getattr__"]
        return len(inside) + len(by_name) + len(lazy)


def product_modules() -> list[Module]:
    """Every module of the product."""
    return [
        Module.read(path) for folder in PRODUCT for path in sorted((ROOT / folder).rglob("*.py"))
    ]


def create_pipeline_lines() -> int:
    """Number of lines of `create_pipeline`."""
    body = Module.read(ROOT / "pipeline" / "graph.py").tree.body
    (function,) = (f for f in body if isinstance(f, _Function) and f.name == "create_pipeline")
    return len(_span(function))


def _docstrings(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | _Function) and ast.get_docstring(node):
            yield node.body[0]


def _span(node: ast.AST) -> range:
    return range(node.lineno, node.end_lineno + 1)  # type: ignore[attr-defined]


def main() -> None:
    """Print the table."""
    modules = product_modules()
    core = [module for module in modules if "extras" not in module.path.parts]
    perr = [module for module in modules if re.search(r"\bperr\b", module.text)]
    graph = grimp.build_graph("yt8m", cache_dir=None)
    support = [path for folder in TESTBEDS for path in sorted((ROOT / folder).rglob("*.py"))]
    rows = {
        "code lines": sum(module.code_lines for module in modules),
        "code lines without extras": sum(module.code_lines for module in core),
        "modules": len(modules),
        "imports between modules": graph.count_imports(),
        "modules in which `perr` stands": len(perr),
        "imports inside functions or by name": sum(module.late_imports for module in modules),
        "lines of `create_pipeline`": create_pipeline_lines(),
        "lines of the tests' support": sum(
            len(path.read_text(encoding="utf-8").splitlines()) for path in support
        ),
    }
    for name, value in rows.items():
        print(f"| {name} | {value:,} |")


if __name__ == "__main__":
    main()
