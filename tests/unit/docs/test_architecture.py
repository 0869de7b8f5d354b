"""No circles of imports: of files, and of folders, where a folder and its subfolder are two.

import-linter's contracts cannot see those; its own library, grimp, has the graph. The command table
names modules as text, which counts as importing them.
"""

from __future__ import annotations

import graphlib
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import grimp
import pytest

from yt8m.cli.table import COMMANDS

TABLE = "yt8m.cli.table"


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """The modules that each module imports; modules of a folder alone, not the folder's own."""
    graph = grimp.build_graph("yt8m", cache_dir=None)
    found = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    found[TABLE] |= {command.module for command in COMMANDS}
    return found


def folders(imports: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """The same by folder: `yt8m.components.trainer` is what lies in it and in no subfolder."""
    parents = {module.rpartition(".")[0] for module in imports}
    found = defaultdict(set)

    def folder(module: str) -> str:
        return module if module in parents else module.rpartition(".")[0]

    for module, imported in imports.items():
        found[folder(module)] |= {folder(one) for one in imported} - {folder(module)}
    return found


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """The nodes of one circle; none where there is none."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        nodes: list[str] = error.args[1]
        return nodes
    return []


def test_no_files_import_each_other(imports: dict[str, set[str]]) -> None:
    assert circle(imports) == []


def test_no_folders_import_each_other(imports: dict[str, set[str]]) -> None:
    assert circle(folders(imports)) == []


def test_a_folder_that_imports_what_imports_it_is_seen() -> None:
    package = {"a": set(), "a.one": {"a.b.two"}, "a.b": set(), "a.b.two": {"a.three"}}
    package |= {"a.three": set(), "c": set()}
    assert circle(package) == []
    assert set(circle(folders(package))) == {"a", "a.b"}


def test_the_table_of_commands_is_above_all_of_them(imports: dict[str, set[str]]) -> None:
    assert {Path(module.replace(".", "/")).parent.name for module in imports[TABLE]} == {"cli"}
