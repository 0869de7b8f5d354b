"""What pages name in passing is there: values of the configuration, files of the repository."""

import dataclasses
import re
import typing

import pytest
from docs_blocks import PAGES, ROOT

from yt8m.pipeline.config import PipelineConfig
from yt8m.schemas.config_tree import type_hints

EVERY_PAGE = sorted({*PAGES, *(ROOT / "docs").rglob("*.md")})
NODES = {field.name for field in dataclasses.fields(PipelineConfig)}
_VALUE = re.compile(r"`([a-z_]+(?:\.[a-z0-9_]+)+)(?:[:= ][^`]*)?`")
_FILE = re.compile(r"`((?:components|pipeline|kubeflow|schemas|tests|benchmarks|lock)/[^` ]+)`")
_ENDINGS = {
    "csv",
    "db",
    "html",
    "json",
    "jsonl",
    "lock",
    "pbtxt",
    "prom",
    "py",
    "sql",
    "txt",
    "yaml",
}


def is_a_value(path: str) -> bool:
    """Whether some configuration has this dotted path; a node may be one of several classes."""
    classes: list[object] = [PipelineConfig]
    for key in path.split("."):
        found = [type_hints(c)[key] for c in classes if isinstance(c, type) and key in _keys(c)]
        if not found:
            return False
        classes = [plain for hint in found for plain in _plain(hint)]
    return True


def _keys(cls: type) -> dict[str, object]:
    return type_hints(cls) if dataclasses.is_dataclass(cls) else {}


def _plain(hint: object) -> list[object]:
    inner = typing.get_args(hint)
    return [plain for part in inner for plain in _plain(part)] if inner else [hint]


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.name)
def test_every_value_that_a_page_names_is_in_the_configuration(page):
    named = {match[1] for match in _VALUE.finditer(page.read_text())}
    values = {
        n for n in named if n.partition(".")[0] in NODES and n.rpartition(".")[2] not in _ENDINGS
    }
    assert [name for name in sorted(values) if not is_a_value(name)] == []


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: page.name)
def test_every_file_that_a_page_names_is_there(page):
    named = {match[1] for match in _FILE.finditer(page.read_text())}
    missing = [name for name in named if not list(ROOT.glob(name.rstrip("/")))]
    assert [
        name for name in missing if name != "schemas/compat.py"
    ] == []  # to be, should it need be


def test_a_value_that_is_not_there_is_noticed():
    assert is_a_value("trainer.model.width")
    assert is_a_value("gate.thresholds")
    assert not is_a_value("trainer.model.widht")
    assert not is_a_value("gate.gap.threshold")
