"""A temporary directory of this process's own, gone with it: libraries leave things behind.

Beam has its `beam-pipeline-temp*`, AutoGraph its `__autograph_generated_file*.py`. Each removes
what it made when it ends, and a process that is killed never does: the next one does it for it.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from yt8m.components.storage.lock import LockedError, file_lock

_PREFIX = "yt8m-tmp-"
_UNLOCKED = "yt8m-new-"  # before it has its lock, so that nobody takes it for an abandoned one
_LOCK = "owner.lock"


@contextlib.contextmanager
def own_temporary_directory() -> Iterator[Path]:
    """In the block, temporary files of this process and of its children have a directory of theirs.

    What killed processes of this user left of theirs is removed, too.
    """
    system = system_temporary_directory()
    _remove_abandoned(system)
    made = Path(tempfile.mkdtemp(prefix=_UNLOCKED, dir=system))
    own = made.with_name(made.name.replace(_UNLOCKED, _PREFIX, 1))
    with file_lock(made / _LOCK, holder=str(os.getpid())):
        made.rename(own)
        try:
            with _temporary_files_in(own):
                yield own
        finally:
            shutil.rmtree(own, ignore_errors=True)


def system_temporary_directory() -> Path:
    """Where temporary files belong that outlive this process, or are shared with others."""
    here = Path(tempfile.gettempdir())
    return here.parent if here.name.startswith(_PREFIX) else here


@contextlib.contextmanager
def _temporary_files_in(directory: Path) -> Iterator[None]:
    before, environment = tempfile.tempdir, os.environ.get("TMPDIR")
    tempfile.tempdir = os.environ["TMPDIR"] = str(directory)
    try:
        yield
    finally:
        tempfile.tempdir = before
        del os.environ["TMPDIR"]
        if environment is not None:
            os.environ["TMPDIR"] = environment


def _remove_abandoned(system: Path) -> None:
    for directory in system.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError, LockedError):
            # Of nobody else: they might be links to somewhere.
            if directory.lstat().st_uid == os.getuid() and not directory.is_symlink():
                with file_lock(directory / _LOCK, holder=str(os.getpid())):
                    shutil.rmtree(directory, ignore_errors=True)
