"""Large outputs stay on the volume that all pods share; the object store gets their address.

The launcher would upload ExampleGen's sample and Baseline's models in full, and download them for
each task that reads them. In their place it is given one small file, which it treats as any other;
an artifact with a path for its URI would be refused by the launchers of its readers.
"""

from __future__ import annotations

import logging
import os
import shutil
import time
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from yt8m.components import storage
from yt8m.kubeflow.container.launcher import Place, Places
from yt8m.kubeflow.container.task_cache import digest_tree
from yt8m.schemas.errors import UserError
from yt8m.schemas.json_file import fields_of, reading, to_text

_FILE = "reference.json"
_PATH = "path"
_SMALL_BYTES = 1 << 20  # not worth a file of its own
_UNUSED_S = 30 * 24 * 3600.0
# Of executors whose outputs several tasks read: the outputs that are large.
_LARGE = {
    "yt8m.components.example_gen.executor.Executor": ("sample",),
    "yt8m.components.baseline.executor.Executor": ("model", "champion"),
}
_log = logging.getLogger(__name__)


def leave_on_volume(
    executor: str, executor_input: Mapping[str, Any], environ: Mapping[str, str]
) -> None:
    """Move the large outputs to the work directory, and put their address in their place."""
    work_dir = environ.get("YT8M_WORK_DIR", "")
    given = executor_input["outputs"].get("artifacts", {})
    large = (key for key in _LARGE.get(executor, ()) if work_dir and key in given)
    for key in large:
        output = Path(given[key]["artifacts"][0]["uri"])
        if output.is_dir() and _bytes(output) >= _SMALL_BYTES:
            shared = Path(work_dir, "shared")
            target = shared / digest_tree(output)[:32]
            _store(output, target)
            shutil.rmtree(output)
            output.mkdir()
            (output / _FILE).write_text(to_text({_PATH: str(target)}), encoding="utf-8")
            forget_unused(shared)


def follow(executor_input: Mapping[str, Any], places: Places) -> None:
    """Lead inputs that are addresses to what they mean, in place."""
    for key, artifacts in executor_input["inputs"].get("artifacts", {}).items():
        for artifact in artifacts["artifacts"]:
            file = Path(artifact["uri"], _FILE)
            if not file.is_file():
                continue
            with reading(file, advice="start a new run, without its cache"):
                target = Path(fields_of(file.read_text(encoding="utf-8"))[_PATH])
            if not target.is_dir():
                raise UserError(
                    f"inputs.{key}: {target} is not there: its volume is not mounted here, or it "
                    f"was removed after {_UNUSED_S / 86400:.0f} days without use; start a new run"
                )
            os.utime(target)  # its time is that of the last use
            known = places[artifact["uri"]]
            places[str(target)] = Place(uri=known.uri, name=known.name)
            artifact["uri"] = str(target)


def _store(source: Path, target: Path) -> None:
    """Copy, all or nothing: links are followed, for their volume may not be mounted elsewhere."""
    if target.is_dir():
        os.utime(target)
        return
    partial = target.with_name(f".{target.name}.{uuid.uuid4().hex[:12]}")
    try:
        storage.copy_tree(str(source), str(partial))  # onto the disk: its name says its content
        partial.rename(target)
    except OSError:
        if not target.is_dir():  # else another run was faster
            raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def forget_unused(folder: Path) -> None:
    """Remove what nobody has used for a month."""
    oldest = time.time() - _UNUSED_S
    for path in folder.iterdir():
        try:
            if path.stat().st_mtime < oldest:
                shutil.rmtree(path)
        except OSError as error:  # another run was faster
            _log.warning("%s could not be removed: %s", path, error)


def _bytes(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
