"""Each file that passes between steps is named in `components/artifacts/` and nowhere else."""

from __future__ import annotations

from docs_blocks import ROOT
from own_sources import own_sources

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


def test_a_file_name_is_a_literal_in_its_own_module_alone() -> None:
    again = [
        f"{source.name}:{line}: {text!r}"
        for source in own_sources()
        if OWNERS not in source.path.parents
        for line, text, is_statement in source.literals
        if not is_statement and any(name in text for name in NAMES)
    ]
    assert again == []


def test_every_name_belongs_to_one_module() -> None:
    owned = [
        text
        for source in own_sources()
        if source.path.parent == OWNERS
        for _, text, is_statement in source.literals
        if not is_statement
    ]
    for name in NAMES:
        assert sum(text.rpartition("/")[2] == name for text in owned) == 1, name
