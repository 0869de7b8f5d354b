"""Whatever a page shows can be typed: options exist, values are right, pages are reachable."""

import ast
import importlib
import itertools
import re

import pytest
import yaml
from docs_blocks import PAGES, ROOT, SHELL, Block, anchors, blocks

from yt8m.cli.main import find, parse
from yt8m.components.evaluator.thresholds import check_gate
from yt8m.kubeflow.config import load_platform
from yt8m.kubeflow.server.connection import load_connection
from yt8m.pipeline.presets import load_config

BLOCKS = [block for page in PAGES for block in blocks(page)]
_SEPARATORS = ("|", ">", ">>", "&", "&&", "||", ";")
MAKEFILE = (ROOT / "Makefile").read_text()
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
SHIPPING = ("run", "retrain", "kubeflow compile")  # they refuse a gate that stops nothing


def each(*kinds: str) -> pytest.MarkDecorator:
    chosen = [block for block in BLOCKS if block.kind in kinds]
    return pytest.mark.parametrize("block", chosen, ids=lambda b: f"{b.page.name}:{b.line}")


@each(*SHELL)
def test_every_shown_command_is_understood_and_its_configuration_is_right(block: Block) -> None:
    for words in block.commands():
        if words[0] == "yt8m" and words[1:] != ["--help"]:
            typed = list(itertools.takewhile(lambda word: word not in _SEPARATORS, words[1:]))
            command, rest = find(typed)
            args = parse(command, rest)
            presets = [getattr(args, "config", None), *getattr(args, "layers", ())]
            # A file is one that the page tells to write.
            if presets[0] is None or any(name.endswith(".yaml") for name in presets):
                continue
            # Of a sweep one of its combinations stands for all.
            config = args.configs()[-1][1] if command == "sweep" else args.load()
            if command in SHIPPING:
                assert check_gate(config.gate, config.evaluator) == []
        if words[0] == "make":
            variables = [word.partition("=")[0] for word in words[1:] if "=" in word]
            assert {word for word in words[1:] if "=" not in word} <= TARGETS, words
            assert all(re.search(rf"\$\([^$]*\b{name}\b", MAKEFILE) for name in variables), words


@each("yaml")
def test_every_shown_file_is_a_configuration(block, tmp_path):
    file = tmp_path / "shown.yaml"
    file.write_text(block.text)
    keys = set(yaml.safe_load(block.text))
    if keys == {"kubeflow"}:
        load_platform(str(file))
    elif "host" in keys:
        load_connection({}, {}, str(file))
    else:
        load_config(str(file))


@each("python")
def test_what_shown_code_imports_is_there(block):
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom):
            module = importlib.import_module(node.module)
            assert all(hasattr(module, alias.name) for alias in node.names)


def test_every_page_is_linked_from_the_readme_or_another_page() -> None:
    linked = {
        (page.parent / target).resolve()
        for page in PAGES
        for target in re.findall(r"\]\(([^)#:]+\.md)", page.read_text())
    }
    assert [page.name for page in PAGES if page.resolve() not in linked] == ["README.md"]


def test_no_link_between_pages_is_broken() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:\s]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_section_that_a_page_links_to_is_there() -> None:
    for page in PAGES:
        for name, anchor in re.findall(r"\]\(([^)#:\s]*)#([^)\s]+)\)", page.read_text()):
            text = (page.parent / name if name else page).read_text()
            assert anchor in anchors(text), f"{page.name} links to {name}#{anchor}"
