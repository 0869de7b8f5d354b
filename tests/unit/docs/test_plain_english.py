"""Pages have short sentences, and neither pages nor sources a phrase that has a plainer one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from docs_blocks import ROOT
from own_sources import LAYERS, own_sources
from plain_english import LIMIT, found_phrases, read_phrases, sentences, source_texts, words

PHRASES = read_phrases(ROOT / "tests" / "support" / "plain_words.txt")
PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "tests" / "testbed").rglob("*.md"),
        *(ROOT / "tests" / "golden").glob("*/*.md"),
        *(ROOT / "tests" / "golden" / "kubeflow").rglob("*.md"),
    }
)
OTHERS = sorted(
    path
    for layer in LAYERS
    for ending in ("html", "yaml", "md", "js")
    for path in (ROOT / layer).rglob(f"*.{ending}")
)
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def texts_of(path: Path) -> list[str]:
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".ipynb":
        cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
        return ["".join(cell["source"]) for cell in cells]
    return [text]


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=name_of)
def test_a_sentence_has_thirty_words_at_most(page: Path) -> None:
    found = [s for text in texts_of(page) for s in sentences(text)]
    assert [s for s in found if words(s) > LIMIT] == []


def test_no_page_and_no_source_has_a_phrase_that_has_a_plainer_one() -> None:
    pages = [*PAGES, *NOTEBOOKS, *OTHERS, ROOT / "Makefile"]
    looked_at = {name_of(path): texts_of(path) for path in pages}
    looked_at |= {source.name: source.texts for source in own_sources()}
    found = {
        name: phrases
        for name, texts in looked_at.items()
        if (phrases := [p for text in texts for p in found_phrases(text, PHRASES)])
    }
    assert found == {}


def test_sentences_are_told_apart_in_paragraphs_items_cells_and_headings() -> None:
    page = """\
# A title. And more

First one,
over two lines. `a.b. c` is one word! [A link](https://x.y/z?a. b) here?
- An item
  that goes on
- another; with a semicolon
1. numbered

> Quoted, e.g. this. Version 2.5 is one.

| head | cell |
| --- | --- |
| left `x | y` | right. Again |

```bash
not this. nor this.
```
"""
    assert list(sentences(page)) == [
        "A title.",
        "And more",
        "First one, over two lines.",
        "Code is one word!",
        "A link here?",
        "An item that goes on",
        "another; with a semicolon",
        "numbered",
        "Quoted, e.g. this.",
        "Version 2.5 is one.",
        "head",
        "cell",
        "left Code",
        "right.",
        "Again",
    ]


def test_a_long_sentence_is_counted_and_a_dash_is_no_word() -> None:
    long = "word " * LIMIT + "- `one more piece of code`."
    assert [words(s) for s in sentences(long)] == [LIMIT + 1]


def test_a_phrase_is_noticed_over_lines_in_any_case_and_in_sources() -> None:
    assert found_phrases("It Held\n  back.", ["held back"]) == ["held back"]
    assert found_phrases("beheld backs", ["held back"]) == []
    source = 'x = f"he" "ld back {1}"  # goes\n# one\n# more: at\n# once\n'
    found = [p for text in source_texts(source) for p in found_phrases(text, PHRASES)]
    assert found == ["held back", "at once"]
