"""Each file that passes between steps is named in `components/artifacts/` and nowhere else."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[3]
OWNERS = ROOT / "components" / "artifacts"
NAMES = (
    "comparisons.json",
    "decision.json",
    "evaluation.jsonl",
    "manifest.json",
    "metrics.json",
    "pushed.json",
    "quarantine.json",
    "report.html",
    "report.json",
    "run.json",
    "saved_model.pb",
    "training.jsonl",
    "yt8m_export.json",
    "yt8m_record.json",
    "Format-Serving",
)


def literals(source: Path) -> Iterator[tuple[int, str]]:
    """The texts of a module with their lines, docstrings and other bare statements left out."""
    tree = ast.parse(source.read_text(encoding="utf-8"))
    bare = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in bare:
            yield node.lineno, node.value


def test_a_file_name_is_a_literal_in_its_own_module_alone() -> None:
    again = [
        f"{source.relative_to(ROOT)}:{line}: {text!r}"
        for layer in ("schemas", "components", "pipeline", "kubeflow", "src/yt8m/cli")
        for source in sorted((ROOT / layer).rglob("*.py"))
        if OWNERS not in source.parents
        for line, text in literals(source)
        if any(name in text for name in NAMES)
    ]
    assert again == []


def test_every_name_belongs_to_one_module() -> None:
    owned = [text for source in OWNERS.glob("*.py") for _, text in literals(source)]
    for name in NAMES:
        assert sum(text.rpartition("/")[2] == name for text in owned) == 1, name
