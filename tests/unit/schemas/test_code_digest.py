"""The code's digest: it follows a module and all that it imports, and nothing else."""

import importlib
import importlib.machinery
import re
import sys

import pytest
from own_sources import own_sources

from yt8m.schemas.code_digest import code_digest, find_source, module_of, sources
from yt8m.schemas.errors import ConfigError

SOURCES = {
    "low": "VALUE = 1\n",
    "alone": "VALUE = 2\n",
    "middle": "from trial.low import VALUE\n",
    "relative": "from . import low\nfrom .low import VALUE\n",
    "late": "def run():\n    import trial.low\n",
    "named": "RUN_FN = 'trial.low.run_fn'\n",
    "top": "import trial.middle\n",
    "ring_a": "import trial.ring_b\n",
    "ring_b": "import trial.ring_a\nimport trial.alone\n",
    "outside": "import beside, json, absent\n",
}
# Texts that name no code: a type in MLMD, a tag in MLflow.
NO_CODE = {"yt8m.Report", "yt8m.run_id"}


@pytest.fixture(params=["project", "site-packages"])
def folder(request, tmp_path, monkeypatch):
    """A package `trial` and a file beside it, in a project's folder or among installed packages."""
    home = tmp_path / request.param
    (home / "trial").mkdir(parents=True)
    (home / "trial" / "__init__.py").write_text("")
    for name, text in SOURCES.items():
        (home / "trial" / f"{name}.py").write_text(text)
    (home / "beside.py").write_text("")
    monkeypatch.syspath_prepend(str(home))
    importlib.invalidate_caches()
    return home


def digests():
    return {name: code_digest(f"trial.{name}") for name in SOURCES}


@pytest.mark.parametrize(
    ("changed", "affected"),
    [
        ("low", {"low", "middle", "relative", "top", "late", "named"}),
        ("middle", {"middle", "top"}),
        ("top", {"top"}),
        ("alone", {"alone", "ring_a", "ring_b"}),
        ("ring_a", {"ring_a", "ring_b"}),
        ("__init__", set(SOURCES)),
    ],
)
def test_changing_a_source_changes_the_digest_of_exactly_those_that_import_it(
    folder, changed, affected
):
    before = digests()
    path = folder / "trial" / f"{changed}.py"
    path.write_text(path.read_text() + "# another line\n")
    after = digests()
    assert {name for name in SOURCES if before[name] != after[name]} == affected


def test_a_file_beside_the_package_counts_in_a_project_and_not_among_installed_packages(folder):
    assert ("beside" in sources("trial.outside")) is (folder.name == "project")


def test_digest_depends_on_sources_alone_and_imports_nothing(folder):
    first = digests()
    assert digests() == first
    assert len(set(first.values())) == len(first)
    assert not {"trial", "beside"} & set(sys.modules)


def test_paths_are_of_modules_or_of_what_is_in_them_in_any_order(folder):
    names = ["trial.low.VALUE", "trial.alone"]
    assert code_digest(*names) == code_digest(*reversed(names), "")
    assert sources("trial.low.VALUE") == sources("trial.low")
    assert code_digest(*names) != code_digest(names[0])


def test_no_code_is_no_digest_and_code_that_is_not_here_counts_by_its_path():
    assert code_digest("", "") == ""
    assert code_digest("not.there") != code_digest("not.here") != ""


def test_a_compiled_module_counts_by_its_content(folder):
    file = folder / "trial" / f"fast{importlib.machinery.EXTENSION_SUFFIXES[0]}"
    file.write_bytes(b"\x7fELF")
    before = code_digest("trial.fast")
    assert find_source("trial.fast") == file
    file.write_bytes(b"\x7fELF2")
    assert code_digest("trial.fast") != before


def test_code_that_python_cannot_read_is_named_with_its_line(folder):
    (folder / "trial" / "middle.py").write_text("\ndef run(:\n")
    with pytest.raises(ConfigError, match=r"trial/middle\.py, line 2: invalid syntax"):
        code_digest("trial.top")


def test_a_real_component_depends_on_what_it_uses_and_not_on_what_uses_it():
    modules = sources("yt8m.components.extras.synthetic.generate")
    assert "yt8m.components.records.wire" in modules
    assert "yt8m.schemas.features" in modules
    assert not [name for name in modules if name.startswith(("yt8m.pipeline", "yt8m.kubeflow"))]


def test_dotted_paths_in_our_own_texts_name_code_that_is_there():
    texts = {literal.text for source in own_sources() for literal in source.literals}
    paths = {text for text in texts if re.fullmatch(r"yt8m(\.\w+)+", text)} - NO_CODE
    assert len(paths) > 20

    def is_there(path):
        holder = find_source(module_of(path))
        return find_source(path) or (holder and holder.name != "__init__.py")

    assert sorted(path for path in paths if not is_there(path)) == []
