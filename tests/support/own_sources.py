"""The project's own Python sources, each parsed once for all tests of a process that look at them.

What they ask for is kept, and not the trees: the garbage collector would walk those.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from docs_blocks import ROOT
from plain_english import source_texts

LAYERS = ("schemas", "components", "pipeline", "kubeflow", "src/yt8m/cli")


class Literal(NamedTuple):
    line: int
    text: str
    is_statement: bool  # by itself, as a docstring is


@dataclass(frozen=True)
class Source:
    """What tests ask of one module."""

    path: Path
    classes: list[str]  # at its top
    literals: list[Literal]
    texts: list[str]  # the literals and those with values in them, then the comments

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))


@functools.cache
def own_sources() -> list[Source]:
    paths = (path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py")))
    return [_read(path) for path in paths if path.is_file()]


def _read(path: Path) -> Source:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    return Source(
        path=path,
        classes=[node.name for node in tree.body if isinstance(node, ast.ClassDef)],
        literals=_literals(nodes),
        texts=list(source_texts(text, nodes)),
    )


def _literals(nodes: Iterable[ast.AST]) -> list[Literal]:
    bare = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    return [
        Literal(node.lineno, node.value, id(node) in bare)
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
