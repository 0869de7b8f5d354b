"""The code's digest: it follows a module and all that it imports, and nothing else."""

import sys

import pytest

from yt8m.schemas import code_version as subject

SOURCES = {
    "low": "VALUE = 1\n",
    "alone": "VALUE = 2\n",
    "middle": "from yt8m.trial.low import VALUE\n",
    "late": "def run():\n    import yt8m.trial.low\n",
    "named": "RUN_FN = 'yt8m.trial.low.run_fn'\n",
    "top": "import yt8m.trial.middle\n",
    "ring_a": "import yt8m.trial.ring_b\n",
    "ring_b": "import yt8m.trial.ring_a\nimport yt8m.trial.alone\n",
}


@pytest.fixture
def trial(tmp_path, monkeypatch):
    """A package yt8m.trial beside the real ones, in files that the test may change."""
    import yt8m

    package = tmp_path / "trial"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for name, text in SOURCES.items():
        (package / f"{name}.py").write_text(text)
    monkeypatch.setattr(yt8m, "__path__", [*yt8m.__path__, str(tmp_path)])
    yield package
    for name in [name for name in sys.modules if name.startswith("yt8m.trial")]:
        del sys.modules[name]


def versions():
    subject.code_version.cache_clear()
    return {name: subject.code_version(f"yt8m.trial.{name}") for name in SOURCES}


@pytest.mark.parametrize(
    ("changed", "affected"),
    [
        ("low", {"low", "middle", "top", "late", "named"}),
        ("middle", {"middle", "top"}),
        ("top", {"top"}),
        ("alone", {"alone", "ring_a", "ring_b"}),
        ("ring_a", {"ring_a", "ring_b"}),
    ],
)
def test_changing_a_source_changes_the_digest_of_exactly_those_that_import_it(
    trial, changed, affected
):
    before = versions()
    path = trial / f"{changed}.py"
    path.write_text(path.read_text() + "# another line\n")
    after = versions()
    assert {name for name in SOURCES if before[name] != after[name]} == affected


def test_package_initialiser_counts(trial):
    before = versions()
    (trial / "__init__.py").write_text("SWITCH = True\n")
    assert all(before[name] != version for name, version in versions().items())


def test_digest_depends_on_sources_alone(trial):
    first = versions()
    assert versions() == first
    assert first["ring_a"] == first["ring_b"]  # each needs the other, so they are one
    assert len(set(first.values())) == len(first) - 1


def test_module_that_does_not_exist_is_an_error(trial):
    with pytest.raises(ModuleNotFoundError, match="no source"):
        subject.code_version("yt8m.trial.absent")


def test_a_real_component_depends_on_what_it_uses_and_not_on_what_uses_it():
    closure = subject._closure(("yt8m.components.extras.synthetic.generate",))
    assert "yt8m.components.records.wire" in closure
    assert "yt8m.schemas.features" in closure
    assert not [name for name in closure if name.startswith(("yt8m.pipeline", "yt8m.kubeflow"))]
