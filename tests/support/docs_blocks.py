"""The commands that README and docs/ show, read from their fenced blocks.

```bash blocks are run, a page's blocks one after the other in one empty folder. ```console blocks
need what a test machine lacks (a cluster, an engine, terabytes): their `yt8m` lines are parsed by
the command's own parser, their configurations are loaded, and their `make` lines must name a
target. ```yaml blocks must be configurations, and what ```python blocks import must be there.
"""

from __future__ import annotations

import contextlib
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SHELL = ("bash", "console")
_FENCE = re.compile(r"^```(bash|console|yaml|python)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: Path
    line: int
    kind: str  # bash, console, yaml or python
    text: str

    def commands(self) -> list[list[str]]:
        """The command lines of a shell block, joined, without comments and prompts."""
        found, begun = [], ""
        for line in self.text.replace("\\\n", " ").splitlines():
            begun = f"{begun}\n{line}" if begun else line.strip().removeprefix("$ ")
            with contextlib.suppress(ValueError):  # a quotation that the next line goes on with
                found.append(shlex.split(begun, comments=True))
                begun = ""
        assert not begun, f"{self.page.name}:{self.line}: {begun}"
        return [words for words in found if words]


def blocks(page: Path) -> list[Block]:
    """Every block of `page`, in order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, match.start()) + 1, match[1], match[2])
        for match in _FENCE.finditer(text)
    ]


def anchors(text: str) -> set[str]:
    """The anchors that GitHub derives from a page's headings."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


def files_of(way: str) -> list[str]:
    """The files that a way of CONTRIBUTING's to add something names, in its order."""
    section = (ROOT / "CONTRIBUTING.md").read_text().split(f"### {way}\n")[1].split("\n###")[0]
    return re.findall(r"^\d\. `([^`]+)`", section, flags=re.M)
