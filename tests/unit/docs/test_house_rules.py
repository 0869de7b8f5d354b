"""What CONTRIBUTING and architecture.md promise of names and files, looked up in the sources."""

from __future__ import annotations

import ast
from collections import defaultdict

from docs_blocks import ROOT

SOURCES = {
    path: ast.parse(path.read_text(encoding="utf-8"))
    for layer in ("schemas", "components", "pipeline", "kubeflow")
    for path in sorted((ROOT / layer).rglob("*.py"))
}
# TFX's convention: each step's action has this name, and the step's folder tells which it is. The
# path of `Executor` is in compiled specs.
IN_EVERY_STEP = {"Executor"}


def test_a_class_has_a_name_of_its_own() -> None:
    found = defaultdict(list)
    for path, tree in SOURCES.items():
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name not in IN_EVERY_STEP:
                found[node.name].append(str(path.relative_to(ROOT)))
    assert {name: places for name, places in found.items() if len(places) > 1} == {}
