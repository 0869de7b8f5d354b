"""No circles of imports: of files, and of folders, where a folder and its subfolder are two.

import-linter's contracts cannot see those; its own library, grimp, has the graph. An action of the
command line is found by its command's words, which counts as importing it.
"""

from __future__ import annotations

import graphlib
from collections import defaultdict
from collections.abc import Mapping

import grimp
import pytest

from yt8m.cli.table import COMMANDS, action_module

MAIN = "yt8m.cli.main"
# `help` has no module: it is another command's --help.
ACTIONS = {action_module(words) for words in COMMANDS if words != "help"}
SHARING = {"yt8m.cli.kubeflow_run", "yt8m.cli.kubeflow_wait"}  # of each other, and of `schedule`


@pytest.fixture(scope="module")
def imports() -> dict[str, set[str]]:
    """The modules that each module imports; modules of a folder alone, not the folder's own."""
    graph = grimp.build_graph("yt8m", cache_dir=None)
    found = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    found[MAIN] |= ACTIONS
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


def test_every_action_is_there_and_main_alone_imports_it(imports: dict[str, set[str]]) -> None:
    assert set(imports) >= ACTIONS
    from_elsewhere = {
        module: imported & ACTIONS - SHARING
        for module, imported in imports.items()
        if module != MAIN and imported & ACTIONS - SHARING
    }
    assert from_elsewhere == {}
