"""Sentences of Markdown, texts of sources, and the phrases that neither may contain."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path

LIMIT = 30  # words of a sentence

_FENCE = re.compile(r"^ *(```|~~~).*?^ *\1[^\S\n]*$", re.MULTILINE | re.DOTALL)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_HEAD = re.compile(r"\A---\n.*?^---\n", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
_IMAGE = re.compile(r"!\[([^\]]*)\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_TAG = re.compile(r"</?\w[^>\n]*>")
_ITEM = re.compile(r"^\s*([-*+]|\d+[.)])\s+")
_RULE = re.compile(r"^\s*\|?[\s:|-]*-{3}[\s:|-]*$")
_QUOTE = re.compile(r"^\s*(>\s?)+")
_END = re.compile(r"(?<=[.!?])[\"')*_\]]*\s+")
_ABBREVIATION = re.compile(r"\b(e\.g|i\.e|etc|vs|cf|approx|no)\.$", re.IGNORECASE)


def sentences(page: str) -> Iterator[str]:
    """Yield each sentence of a Markdown page: of paragraphs, list items, headings and cells."""
    for block in _blocks(_prose(page)):
        yield from _split(block)


def words(sentence: str) -> int:
    """Count what has a letter or a digit in it; a piece of inline code is one word."""
    return sum(any(c.isalnum() for c in word) for word in sentence.split())


def source_texts(source: str, nodes: Sequence[ast.AST] | None = None) -> Iterator[str]:
    """Yield each string (docstrings, messages, help) and each comment of a Python source."""
    nodes = list(ast.walk(ast.parse(source))) if nodes is None else nodes
    joined = [node for node in nodes if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for node in joined for part in node.values}
    for node in joined:
        yield "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values)
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            yield node.value
    yield from _comments(source)


def found_phrases(text: str, phrases: list[str]) -> list[str]:
    """List the phrases that occur in `text`, whatever its case and its line breaks."""
    plain = " ".join(text.replace("’", "'").split()).lower()
    there = [phrase for phrase in phrases if phrase.lower() in plain]
    return [p for p in there if re.search(rf"(?<!\w){re.escape(p.lower())}(?!\w)", plain)]


def read_phrases(path: Path) -> list[str]:
    """Read the phrases of a file, one a line, without its comments."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def _prose(page: str) -> str:
    """The page without code blocks, comments and addresses; inline code becomes one word."""
    for pattern in (_HEAD, _FENCE, _COMMENT):
        page = pattern.sub("\n\n", page)
    page = _CODE.sub("Code", page)
    page = _LINK.sub(r"\1", _IMAGE.sub(r"\1", page))
    return _TAG.sub(" ", page)


def _blocks(prose: str) -> Iterator[str]:
    """Each paragraph, list item, heading and table cell, on one line."""
    block: list[str] = []
    for line in [*map(_unquoted, prose.splitlines()), ""]:
        is_alone = line.startswith("#") or line.lstrip().startswith("|")
        if not line.strip() or is_alone or _ITEM.match(line):
            yield " ".join(block)
            block = []
        if line.lstrip().startswith("|"):
            yield from () if _RULE.match(line) else _cells(line)
        elif line.startswith("#"):
            yield line.lstrip("# ")
        else:
            block.append(_ITEM.sub("", line).strip())


def _unquoted(line: str) -> str:
    return _QUOTE.sub("", line)


def _cells(row: str) -> list[str]:
    return re.split(r"(?<!\\)\|", row.strip().strip("|"))


def _split(block: str) -> Iterator[str]:
    begun = ""
    for piece in _END.split(block):
        begun = f"{begun} {piece}".strip()
        if not _ABBREVIATION.search(begun):
            if begun:
                yield begun
            begun = ""
    if begun:
        yield begun


def _comments(source: str) -> Iterator[str]:
    """Comments, those of neighbouring lines as one text."""
    begun: list[str] = []
    last = -1
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            if token.start[0] != last + 1:
                yield " ".join(begun)
                begun = []
            begun.append(token.string.lstrip("#: "))
            last = token.start[0]
    yield " ".join(begun)
