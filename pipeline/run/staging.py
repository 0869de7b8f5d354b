"""A root in an object store: executors get local copies of what they read, and write beside them.

TensorFlow has no `s3://`, and many an executor of TFX opens paths. What a component has written is
sent when it has ended well, before MLMD calls it complete. Artifacts that list records by address,
which may be large, are read and written where they are. So is all that an engine's workers read and
write: they have no disk of this process.
"""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attr

from yt8m.components import storage
from yt8m.components.artifacts.manifest import FILE_NAME as MANIFEST
from yt8m.pipeline.workspace import Check

# They read and write with `storage` alone, and what they write names artifacts.
_BY_ADDRESS = ("ExampleGen", "Baseline", "Pusher", "Report")
_ON_ENGINE = ("ExampleGen", "StatisticsGen", "Evaluator", "BulkInferrer")  # where there is one
_TEXTS = (".json", ".pbtxt")  # of those which an executor may write its places into
_SYSTEM = ".system"

Artifacts = Mapping[str, Sequence[Any]]  # of TFX, which has no types for them


class Staging:
    """Local copies of the artifacts below `root`, in `directory`; `check` before any is sent.

    `engine`: Beam's workers are elsewhere.
    """

    def __init__(self, root: str, directory: Path, check: Check, *, engine: bool) -> None:
        self._root, self._directory, self._check = root.rstrip("/"), directory, check
        self._on_engine = _ON_ENGINE if engine else ()

    def run(self, info: Any, execute: Callable[[Any], Any]) -> Any:
        """`execute` a TFX execution on local copies; gives its result, with the true addresses."""
        node, number = info.pipeline_node.node_info.id, str(info.execution_id)
        is_staged = node not in (*_BY_ADDRESS, *self._on_engine)
        inputs, outputs = (info.input_dict, info.output_dict) if is_staged else ({}, {})
        for uri in _addresses(outputs):
            self._local(uri).mkdir(parents=True, exist_ok=True)
        system = self._directory / _SYSTEM / number
        staged = attr.evolve(
            info,
            input_dict={**info.input_dict, **self._staged(inputs, self._fetched)},
            output_dict={**info.output_dict, **self._staged(outputs, self._place)},
            execution_output_uri=str(system / "executor_output.pb"),
            stateful_working_dir=_made(system / "stateful"),
            tmp_dir=info.tmp_dir if node in self._on_engine else f"{_made(system / 'temp')}/",
        )
        result = execute(staged)
        self._check()
        for uri in _addresses(outputs):
            self._send(self._local(uri), uri)
        for uri in _addresses(info.output_dict):
            if not storage.exists(uri):  # without files; TFX's cache asks whether it is there
                storage.write_bytes(f"{uri}/", b"")
        return self._with_addresses(result)

    def _staged(self, artifacts: Artifacts, place: Callable[[str], str]) -> dict[str, list[Any]]:
        copies = {key: [copy.deepcopy(one) for one in listed] for key, listed in artifacts.items()}
        for listed in copies.values():
            for artifact in listed:
                artifact.uri = place(artifact.uri)
        return copies

    def _fetched(self, uri: str) -> str:
        """Where its copy is; the address itself where records are listed there."""
        local = self._local(uri)
        if not self._is_ours(uri) or storage.exists(storage.join(uri, MANIFEST)):
            return uri
        if not local.exists():
            partial = local.with_name(f".{local.name}")
            partial.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):  # it has no files
                storage.copy_tree(uri, str(partial))
            partial.rename(local)
        return str(local)

    def _place(self, uri: str) -> str:
        return str(self._local(uri)) if self._is_ours(uri) else uri

    def _local(self, uri: str) -> Path:
        return self._directory / uri.removeprefix(f"{self._root}/")

    def _is_ours(self, uri: str) -> bool:
        return uri.startswith(f"{self._root}/")

    def _send(self, local: Path, uri: str) -> None:
        here, there = str(self._directory).encode(), self._root.encode()
        for name in storage.walk_files(str(local)):
            target, content = storage.join(uri, name), b""
            if name.endswith(_TEXTS):
                content = (local / name).read_bytes()
            if here in content:
                storage.write_bytes(target, content.replace(here, there))
            else:
                storage.copy(str(local / name), target)

    def _with_addresses(self, result: Any) -> Any:
        """Of the places in this process's directory, what others call them."""
        here = str(self._directory)
        for listed in result.output_artifacts.values():
            for artifact in listed.artifacts:
                artifact.uri = artifact.uri.replace(here, self._root)
                for values in (artifact.properties, artifact.custom_properties):
                    for value in values.values():
                        if value.WhichOneof("value") == "string_value":
                            value.string_value = value.string_value.replace(here, self._root)
        return result


def _addresses(artifacts: Artifacts) -> Iterator[str]:
    return (artifact.uri for listed in artifacts.values() for artifact in listed)


def _made(directory: Path) -> str:
    directory.mkdir(parents=True, exist_ok=True)
    return str(directory)
