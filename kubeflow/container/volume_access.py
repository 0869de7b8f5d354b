"""Check that this pod can write to its volumes, before any work is done."""

from __future__ import annotations

import errno
import logging
import os
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from yt8m.components import storage
from yt8m.schemas.errors import UserError, Yt8mError

_log = logging.getLogger(__name__)


def check_volumes_writable(parameters: Mapping[str, Any], environ: Mapping[str, str]) -> None:
    """UserError where the work directory or the registry cannot be written to, with the remedy.

    Baseline is given the registry at the start of a run, so Pusher need not find out at its end.
    """
    problems = [
        f"{what} {path}: {problem}"
        for what, path in _needed(parameters, environ)
        if (problem := _problem(Path(path)) if path.startswith("/") else _store_problem(path))
    ]
    if problems:
        raise UserError("\n".join(problems))


def _needed(parameters: Mapping[str, Any], environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for what, path in (
        ("kubeflow.work_dir", environ.get("YT8M_WORK_DIR", "")),
        ("push_dir", str(parameters.get("push_dir") or "")),
    ):
        if path.startswith("/") or "://" in path:
            yield what, path


def _store_problem(uri: str) -> str:
    """Why no object can be written below `uri`; empty where one can, or nobody can say now."""
    probe = storage.join(uri, f".yt8m-{uuid.uuid4().hex}")
    try:
        storage.write_text(probe, "")
        storage.remove(probe)
    except (PermissionError, FileNotFoundError, UserError) as error:
        return f"nothing can be written there ({error}); give the pods credentials that may"
    except (OSError, Yt8mError) as error:  # the storage is away: the tasks wait for it
        _log.warning("%s cannot be tried out now: %s", uri, error)
    return ""


def _problem(path: Path) -> str:
    """Why nothing can be written below `path`, which need not exist yet; empty where it can."""
    there = path
    try:
        while not there.exists():
            there = there.parent
        with tempfile.TemporaryFile(dir=there):
            return ""
    except PermissionError:
        return _not_allowed(there)
    except OSError as error:
        if error.errno == errno.EROFS:
            return f"{there} is mounted read-only"
        return f"nothing can be written to {there} ({error.strerror})"


def _not_allowed(there: Path) -> str:
    user, group = os.geteuid(), os.getegid()
    try:
        status = there.stat()
        owner = (
            f"which belongs to user {status.st_uid} and group {status.st_gid} "
            f"(mode {status.st_mode & 0o7777:o})"
        )
    except PermissionError:  # a directory above it is closed
        owner = "which it may not read"
    return (
        f"this pod runs as user {user} and may not write to {there}, {owner}. "
        f"Make it theirs once, `chown -R {user}:{group} {there}` in a pod that runs as root, or "
        f"let Kubernetes do it at every mount: securityContext.fsGroup {group} in the "
        "workflowDefaults of Argo's controller"
    )
