"""The reference of docs/configuration.md, from the configuration's classes; `make reference`."""

from __future__ import annotations

from collections.abc import Iterator

from docs_blocks import ROOT

from yt8m.pipeline.config import PipelineConfig
from yt8m.schemas.config_docs import FieldDoc, NodeDoc, describe

PAGE = ROOT / "docs" / "configuration.md"
BEGIN = "<!-- From the code, by `make reference`. -->\n"


def reference() -> str:
    """A table for each node, in the order of the configuration."""
    return "\n".join(line for node in describe(PipelineConfig) for line in _lines(node)) + "\n"


def with_reference(page: str) -> str:
    """The page with its end, below the mark, written again."""
    before, mark, _ = page.partition(BEGIN)
    assert mark, f"{PAGE.name} has no line {BEGIN}"
    return f"{before}{mark}\n{reference()}"


def _lines(node: NodeDoc) -> Iterator[str]:
    title = f"`{node.path}`" if node.path else "The top"
    chosen = f", `name: {node.choice}`" if node.choice else ""
    yield from (f"### {title}{chosen}", "", _escaped(node.meaning), "")
    fields = [field for field in node.fields if field.type != node.choice]  # all but `name`
    if fields:
        yield from (
            "| key | type | default | role | meaning |",
            "| --- | --- | --- | --- | --- |",
        )
        yield from map(_row, fields)
        yield ""


def _row(field: FieldDoc) -> str:
    key = field.path.rpartition(".")[2]
    kind = f"{field.type}; {field.limits}" if field.limits else field.type
    default = f"`{field.default_text}`" if field.default_text else ""
    explained = [f"`{name}`: {text}" for name, text in field.choices.items() if text]
    named = explained if field.type.startswith("one of") else []
    meaning = ". ".join(text.rstrip(".") for text in [field.meaning, *named])
    return f"| `{key}` | {_escaped(kind)} | {default} | {field.role} | {_escaped(meaning)} |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(with_reference(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
