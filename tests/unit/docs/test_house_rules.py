"""What CONTRIBUTING and architecture.md promise of names and files, looked up in the sources."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from docs_blocks import ROOT
from own_sources import own_sources

# TFX's convention: each step's action has this name, and the step's folder tells which it is. The
# path of `Executor` is in compiled specs.
IN_EVERY_STEP = {"Executor"}
DECISIONS = sorted((ROOT / "docs" / "decisions").glob("*.md"))
SECTIONS = ["## Context", "## Choice", "## Consequences"]


def test_a_class_has_a_name_of_its_own() -> None:
    found = defaultdict(list)
    for source in own_sources():
        for name in set(source.classes) - IN_EVERY_STEP:
            found[name].append(source.name)
    assert {name: places for name, places in found.items() if len(places) > 1} == {}


def test_a_file_that_is_written_or_looked_for_is_named_in_one_module() -> None:
    name = re.compile(r"[\w.-]*\w\.(csv|html|json|jsonl|lock|npz|pb|pbtxt|prom|tfrecord|txt)")
    found = defaultdict(set)
    for source in own_sources():
        for _, text, _ in source.literals:
            last = text.rpartition("/")[2]
            if name.fullmatch(last) and not text.startswith("youtube8m/"):  # a URL
                found[last].add(source.name)
    assert {text: places for text, places in found.items() if len(places) > 1} == {}


@pytest.mark.parametrize("page", DECISIONS, ids=lambda page: page.name)
def test_a_decision_has_the_one_header(page: Path) -> None:
    title, _, status, *_ = text = page.read_text(encoding="utf-8").splitlines()
    assert re.match(rf"# {page.name[:4]}: [A-Z]", title)
    assert re.match(r"Status: (accepted|superseded)\b", status)
    sections = [line for line in text if line.startswith("## ")]
    assert [s for s in sections if s in SECTIONS] == SECTIONS
