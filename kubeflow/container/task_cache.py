"""Results of earlier runs, kept on the shared volume: a task whose inputs are the same is skipped.

Kubeflow's own cache asks for the ids of input artifacts, and every night ExampleGen and Baseline,
which have to look outside, give theirs new ones. Here the content counts, as it does locally.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import uuid
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from yt8m.components import storage
from yt8m.components.evaluator.config import EvaluatorConfig, GateConfig
from yt8m.components.trainer.config import TrainerConfig
from yt8m.components.trainer.state.content_digest import content_digest
from yt8m.components.tuner.config import TunerConfig
from yt8m.pipeline.config import PipelineConfig
from yt8m.schemas.code_digest import code_digest
from yt8m.schemas.config_tree import ConfigNode, from_dict
from yt8m.schemas.json_file import NewerFormatError, fields_of, reading, to_text
from yt8m.schemas.roles import Content, ResultNeutral, SourcePath, declared_with, without

# What takes long, or would give other bytes for the same inputs. The others look outside, or are
# done in no time.
_EXECUTORS = {
    "yt8m.components.validation.statistics_executor.StatisticsGenExecutor": "StatisticsGen",
    "tfx.components.transform.executor.Executor": "Transform",
    "tfx.components.tuner.executor.Executor": "Tuner",
    "tfx.components.trainer.executor.GenericExecutor": "Trainer",
    "yt8m.components.evaluator.executor.Executor": "Evaluator",
}
_LIBRARIES = ("tfx", "tensorflow", "apache-beam")
_CODE = "yt8m.pipeline.graph"
# Where parameters hold nodes of the configuration, by component and key.
_NODES: Mapping[str, Mapping[str, type[ConfigNode]]] = {
    "Trainer": {"config": TrainerConfig},
    "Tuner": {"config": TrainerConfig, "tuner": TunerConfig},
    "Evaluator": {"config": EvaluatorConfig, "gate": GateConfig},
}
# Files that parameters name, whatever component is given them.
_SOURCES = {
    path.rpartition(".")[2]: source.content
    for path, source in declared_with(PipelineConfig, SourcePath)
    if source.content is not Content.RECORDS  # which ExampleGen alone reads
}
_RESULT = "result.json"
_KEPT = 5  # of each component
_log = logging.getLogger(__name__)


class CachedResult:
    """The place of one task's result, found again by what the task is given."""

    def __init__(self, directory: Path, executor_input: Mapping[str, Any]) -> None:
        self._directory = directory
        self._uris = {
            f"{side}.{key}": artifacts["artifacts"][0]["uri"]
            for side in ("inputs", "outputs")
            for key, artifacts in executor_input[side].get("artifacts", {}).items()
        }
        self._output_file = Path(executor_input["outputs"]["outputFile"])

    def restore(self) -> bool:
        """Put the outputs of the earlier task where this one's belong; False if there is none."""
        file = self._directory / _RESULT
        try:
            with reading(file):
                result = fields_of(file.read_text(encoding="utf-8"))
            for name, path in self._outputs():
                _copy(self._directory / name, path)
            file.touch()  # its time is that of the last use
        except FileNotFoundError:
            return False
        except (OSError, ValueError, NewerFormatError) as error:
            _log.warning("%s cannot be used, the task runs: %s", self._directory, error)
            return False
        moved = {uri: self._uris[name] for name, uri in result["uris"].items()}
        report = json.dumps(_replaced(result["report"], moved))
        self._output_file.parent.mkdir(parents=True, exist_ok=True)
        self._output_file.write_text(report, encoding="utf-8")
        _log.info("done before with the same inputs: the result is taken from %s", self._directory)
        return True

    def keep(self) -> None:
        """Keep what the task has made; where that cannot be, the next run makes it again."""
        report = json.loads(self._output_file.read_text(encoding="utf-8"))
        partial = self._directory.with_name(f".{self._directory.name}.{uuid.uuid4().hex[:12]}")
        try:
            partial.mkdir(parents=True)
            for name, path in self._outputs():
                _copy(path, partial / name)
            result = {"report": report, "uris": self._uris}
            storage.write_text(str(partial / _RESULT), to_text(result))
            shutil.rmtree(self._directory, ignore_errors=True)
            partial.rename(self._directory)
            self._forget_oldest()
        except OSError as error:
            _log.warning("the result cannot be kept for the next run: %s", error)
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def _outputs(self) -> Iterator[tuple[str, Path]]:
        for name, uri in self._uris.items():
            if name.startswith("outputs."):
                yield name, Path(uri)

    def _forget_oldest(self) -> None:
        results = self._directory.parent.glob(f"*/{_RESULT}")
        for file in sorted(results, key=lambda f: f.stat().st_mtime, reverse=True)[_KEPT:]:
            shutil.rmtree(file.parent)


def find_cached_result(
    executor: str, executor_input: Mapping[str, Any], environ: Mapping[str, str]
) -> CachedResult | None:
    """Where the result of this task would be; None where it is not to be remembered."""
    work_dir, component = environ.get("YT8M_WORK_DIR", ""), _EXECUTORS.get(executor)
    if not work_dir or component is None:
        return None
    inputs = executor_input["inputs"]
    parameters = inputs.get("parameterValues", {})
    settings = {name: _parsed(value) for name, value in parameters.items()}
    if any(_values(settings, "start_new_model", True)):  # asked for by name
        return None
    artifacts = dict(inputs.get("artifacts", {}))
    trains = component in ("Trainer", "Tuner")
    if trains and not any(_values(settings, "start_from_base", True)):
        artifacts.pop("base_model", None)  # what is in service changes nothing then
    parts = [
        _content_of(_neutral(settings, _NODES.get(component, {}))),
        {key: digest_tree(Path(a["artifacts"][0]["uri"])) for key, a in artifacts.items()},
        sorted(executor_input["outputs"].get("artifacts", {})),
        code_digest(_CODE),
        {library: version(library) for library in _LIBRARIES},
    ]
    key = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]
    return CachedResult(Path(work_dir, "results", component, key), executor_input)


def digest_tree(path: Path) -> str:
    """Of a file, or of all files of a directory with their names.

    An object store has no empty directories: an artifact without files is not there.
    """
    digest = hashlib.sha256()
    files = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    for file in files:
        name = file.relative_to(path).as_posix()
        digest.update(f"{name}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _parsed(value: Any) -> Any:
    """Components are given their nodes of the configuration as JSON."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except ValueError:
        return value


def _neutral(tree: Any, nodes: Mapping[str, type[ConfigNode]]) -> Any:
    """`tree` with `nodes` in it without what changes nothing of the result."""
    if not isinstance(tree, Mapping):
        return tree
    return {
        key: without(from_dict(nodes[key], below), ResultNeutral)
        if key in nodes
        else _neutral(below, nodes)
        for key, below in tree.items()
    }


def _content_of(tree: Any) -> Any:
    """`tree` with digests of what source paths lead to, in place of the paths."""
    if isinstance(tree, Mapping):
        return {
            key: content_digest(_SOURCES[key], below, key=key)
            if key in _SOURCES
            else _content_of(below)
            for key, below in tree.items()
        }
    return [_content_of(below) for below in tree] if isinstance(tree, list) else tree


def _values(tree: Any, name: str, wanted: Any = None) -> Iterator[Any]:
    """Every value that stands below the key `name` in `tree`; those equal to `wanted` alone."""
    if isinstance(tree, Mapping):
        for key, below in tree.items():
            if key == name and (wanted is None or below == wanted):
                yield below
            yield from _values(below, name, wanted)
    elif isinstance(tree, list):
        for below in tree:
            yield from _values(below, name, wanted)


def _replaced(value: Any, moved: Mapping[str, str]) -> Any:
    """`value` with the paths of this pod in the place of the earlier one's."""
    if isinstance(value, Mapping):
        return {key: _replaced(below, moved) for key, below in value.items()}
    if isinstance(value, list):
        return [_replaced(below, moved) for below in value]
    if isinstance(value, str):
        for before, now in moved.items():
            if value == before or value.startswith(f"{before}/"):
                return now + value.removeprefix(before)
    return value


def _copy(source: Path, target: Path) -> None:
    """Copy a file or a directory, onto the disk: a node may lose power once it counts as there."""
    if source.is_dir():
        target.mkdir(parents=True, exist_ok=True)  # also for an artifact without files
        storage.copy_tree(str(source), str(target))
    else:
        storage.copy(str(source), str(target))
