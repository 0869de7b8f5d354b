"""Every file on disk has a row in docs/files.md, and a number of its format where it is ours."""

from __future__ import annotations

import importlib
import inspect
import json
import pickle
import pkgutil
import re
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from docs_blocks import ROOT

from yt8m.components import artifacts
from yt8m.components.artifacts.comparisons import Comparisons
from yt8m.components.artifacts.decision import Decision
from yt8m.components.artifacts.evaluation import Evaluation
from yt8m.components.artifacts.export_info import load_info
from yt8m.components.artifacts.infra_check import InfraCheckResult
from yt8m.components.artifacts.manifest import Manifest
from yt8m.components.artifacts.push_outcome import PushOutcome
from yt8m.components.artifacts.read import read_if_present
from yt8m.components.artifacts.run_outputs import RunOutputs
from yt8m.components.artifacts.training_curve import read_curve
from yt8m.components.extras.synthetic.generate import read_dataset_spec
from yt8m.components.registry.baseline_artifact import read_in_service, read_passed_over
from yt8m.components.registry.champion import read_choice
from yt8m.components.registry.versions import load_record
from yt8m.components.report.collect_run import read_run_record
from yt8m.kubeflow.container.references import follow
from yt8m.pipeline.retraining.judged_data import read_judged
from yt8m.pipeline.run.retrain_status import read_status
from yt8m.pipeline.run_record import list_runs
from yt8m.pipeline.workspace import Layout
from yt8m.schemas.errors import EXIT_USER, UserError
from yt8m.schemas.json_file import DamagedFileError, JsonFile, NewerFormatError

PAGE = (ROOT / "docs" / "files.md").read_text()
LEFT = ROOT / "tests" / "golden" / "lanes"
NEWER = '{"format": 3, "yt8m": "1.4.0", "key": "of that time"}'


def _rows(heading: str) -> dict[str, str]:
    """A table's last column by each name in its first."""
    table = PAGE.partition(f"## {heading}")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| `")]
    return {name: row[-1] for row in rows for name in re.findall(r"`([^`]+)`", row[0])}


OURS = _rows("In a run's root, an artifact or a registry")
OTHERS = {**_rows("In formats of other projects"), **_rows("For people, or within one step")}


def _matches(path: str, names: dict[str, str]) -> list[str]:
    return [name for name in names if fnmatch(f"/{path}", f"*/{name}")]


@pytest.mark.parametrize("module", [m.name for m in pkgutil.iter_modules(artifacts.__path__)])
def test_a_file_between_steps_has_a_row_with_the_number_that_the_code_has(module: str) -> None:
    found = importlib.import_module(f"yt8m.components.artifacts.{module}")
    names = [value for key, value in vars(found).items() if key.endswith(("FILE_NAME", "_FILE"))]
    kept = [
        value
        for value in vars(found).values()
        if inspect.isclass(value)
        and issubclass(value, JsonFile)
        and value.__module__ == found.__name__
    ]
    for name in names:
        assert _matches(f"any/{name}", {**OURS, **OTHERS}), name
    for cls in kept:
        (row,) = {row for name in names for row in _matches(f"any/{name}", OURS)}
        assert OURS[row].split(" or ")[-1] == str(cls.FORMAT), row


@pytest.mark.parametrize(
    "path",
    sorted(p for p in LEFT.rglob("*") if p.is_file()),
    ids=lambda p: p.relative_to(LEFT).as_posix(),
)
def test_whatever_a_run_leaves_has_a_row_and_its_number(path: Path) -> None:
    relative = path.relative_to(LEFT).as_posix()
    if "/" not in relative.partition("/")[2] and path.suffix in (".npz", ".yaml"):
        return  # what the tests expect, beside what the lane left
    ours = _matches(relative, OURS)
    assert ours or _matches(relative, OTHERS)
    if ours and path.suffix not in (".npz", ".jsonl"):
        assert str(json.loads(path.read_text())["format"]) in OURS[ours[0]].split(" or ")


def _any(cls: type[JsonFile]) -> Callable[[Path], Any]:
    return lambda path: read_if_present(str(path.parent), path.name, cls.from_json)


def _references(path: Path) -> None:
    artifact = {"uri": str(path.parent), "name": "a"}
    follow({"inputs": {"artifacts": {"sample": {"artifacts": [artifact]}}}}, {})


def _done(path: Path) -> object:
    from yt8m.components.trainer.state.done_marker import read_done

    return read_done(str(path.parent))


def _prepare(path: Path) -> None:
    from yt8m.components.trainer.state.checkpoints import check_model

    check_model(str(path.parent), {})


def _best(path: Path) -> None:
    from yt8m.components.trainer.config import BestExporterConfig
    from yt8m.components.trainer.evaluation.exporters import Exporter

    metrics = {"gap": 0.5, "loss": 0.5}
    exporter = Exporter(BestExporterConfig(), str(path.parents[1]))
    exporter.export(1, metrics, lambda directory: None, final=True)


READERS: list[tuple[str, Callable[[Path], Any]]] = [
    ("manifest.json", _any(Manifest)),
    ("comparisons.json", _any(Comparisons)),
    ("metrics.json", _any(Evaluation)),
    ("decision.json", _any(Decision)),
    ("infra_check.json", _any(InfraCheckResult)),
    ("pushed.json", _any(PushOutcome)),
    ("in_service.json", lambda path: read_in_service(str(path.parent))),
    ("passed_over.json", lambda path: read_passed_over(str(path.parent))),
    (".champion.json", lambda path: read_choice(str(path.parent))),
    (".judged.json", lambda path: read_judged(str(path.parent))),
    ("training.jsonl", lambda path: read_curve(str(path))),
    ("dataset.json", lambda path: read_dataset_spec(path.parent)),
    ("run.json", lambda path: read_run_record(str(path))),
    ("runs/1/run.json", lambda path: list_runs(Layout(path.parents[2]))),
    ("retrain.json", lambda path: read_status(Layout(path.parent))),
    ("assets.extra/yt8m_export.json", lambda path: load_info(str(path.parents[1]))),
    ("7/assets.extra/yt8m_record.json", lambda path: load_record(str(path.parents[2]), 7)),
    (
        "Format-Serving/assets.extra/yt8m_record.json",
        lambda path: RunOutputs({"baseline": str(path.parents[2])}).baseline,
    ),
    ("reference.json", _references),
    ("model.json", _prepare),
    ("DONE", _done),
    ("best/best.json", _best),
]


@pytest.mark.parametrize(("name", "read"), READERS, ids=[name for name, _ in READERS])
def test_a_file_of_a_newer_yt8m_is_refused_by_its_name_and_its_writer(
    tmp_path: Path, name: str, read: Callable[[Path], Any]
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{NEWER}\n")
    with pytest.raises(NewerFormatError) as caught:
        read(path)
    said = str(caught.value)
    assert said.count(str(path)) == 1
    assert "yt8m 1.4.0 wrote it, in format 3" in said
    assert said.endswith("Use yt8m 1.4.0 or newer")
    assert caught.value.exit_code == EXIT_USER
    assert path.read_text() == f"{NEWER}\n"


# A crash of the machine, a full disk of whoever copied it, an editor.
DAMAGES = {
    "emptied": b"",
    "cut off": b'{"format": 1, "blessed',
    "zeros": b"\0" * 8 + b"\n",
    "no text": b"\xff\xfe\n",
    "a list": b"[]",
    "without keys": b"{}",
}


@pytest.mark.parametrize("content", DAMAGES.values(), ids=list(DAMAGES))
@pytest.mark.parametrize(("name", "read"), READERS, ids=[name for name, _ in READERS])
def test_a_damaged_file_is_named_or_counts_as_none_and_is_no_bug(
    tmp_path: Path, name: str, read: Callable[[Path], Any], content: bytes
) -> None:
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    problem = _problem(read, path)
    if problem is None:
        assert path.read_bytes() == content or name == "best/best.json"
        return
    assert str(tmp_path) in str(problem)
    assert "\n" not in str(problem)
    if isinstance(problem, DamagedFileError):
        assert str(problem).startswith(f"{path} is damaged ({problem.problem}): ")
        again = pickle.loads(pickle.dumps(problem))  # as from a Beam worker or a pool
        assert (str(again), again.problem) == (str(problem), problem.problem)


def _problem(read: Callable[[Path], Any], path: Path) -> UserError | None:
    try:
        read(path)
    except UserError as error:
        return error
    return None


def test_a_damaged_marker_of_the_end_counts_as_none(tmp_path: Path) -> None:
    (tmp_path / "DONE").write_bytes(b"")
    assert _done(tmp_path / "DONE") is None
