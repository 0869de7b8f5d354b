"""Checks of path arguments, before anything slow is loaded.

Each function says what is wrong with a path, or "". Only this machine's files are looked at: of an
object store the command itself says what is wrong.
"""

from __future__ import annotations

import difflib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from yt8m.components import storage
from yt8m.components.storage.local import other_than_file

_WILDCARDS = set("*?[{")


def missing(path: str) -> str:
    """Of a file or a directory."""
    return _of_local(path, lambda local: "" if local.exists() else _not_there(local))


def missing_directory(path: str) -> str:
    return missing(path) or not_a_directory(path)


def missing_file(path: str) -> str:
    return missing(path) or _of_local(path, _is_a_directory)


def missing_records(path: str) -> str:
    """Of a directory or a pattern; what a pattern finds, the command says."""
    if _WILDCARDS & set(path):
        path = path[: min(path.index(sign) for sign in _WILDCARDS & set(path))].rpartition("/")[0]
    return missing(path or ".")


def not_a_directory(path: str) -> str:
    """Of a directory that is read or made."""
    return _of_local(path, lambda local: _is_below_a_file(_nearest_that_exists(local), local))


def unwritable_directory(path: str) -> str:
    return _of_local(path, lambda local: _unwritable(_nearest_that_exists(local), local))


def unwritable_local_directory(path: str) -> str:
    """Of one that cannot be in an object store."""
    if storage.local_path(path) is None:
        return "is in an object store; choose a local directory, and copy it from there"
    return unwritable_directory(path)


def unwritable(path: str) -> str:
    """Of a file or a directory."""
    return _of_local(path, _is_no_file) or _of_local(
        path, lambda local: _unwritable(_nearest_that_exists(local.parent), local)
    )


def unwritable_file(path: str) -> str:
    return _of_local(path, _is_a_directory) or unwritable(path)


def behind_link(path: str) -> str:
    """The file that a link means, as if its own name were given: a writer replaces that name.

    Links within artifacts mean the user's records, so no other writer follows links.
    """
    local = storage.local_path(path)
    is_link = local is not None and local.is_symlink() and not other_than_file(local)
    return os.path.realpath(local) if local is not None and is_link else path


def _of_local(path: str, problem: Callable[[Path], str]) -> str:
    local = storage.local_path(path)
    try:
        return "" if local is None else problem(local.absolute())
    except OSError as error:  # a directory that may not be read, a name that is too long
        return f"cannot be used ({error.strerror})"


def _nearest_that_exists(path: Path) -> Path:
    return next(above for above in (path, *path.parents) if above.exists())


def _unwritable(above: Path, path: Path) -> str:
    if problem := _is_below_a_file(above, path):
        return problem
    try:
        with tempfile.TemporaryFile(dir=above):
            return ""
    except OSError as error:
        return f"cannot be written ({above}: {error.strerror}); choose another place"


def _is_a_directory(path: Path) -> str:
    return "is a directory, not a file" if path.is_dir() else ""


def _is_no_file(path: Path) -> str:
    kind = other_than_file(path)
    return f"is {kind}, not a file; name another one" if kind else ""


def _is_below_a_file(above: Path, path: Path) -> str:
    if above.is_dir():
        return ""
    return "is a file, not a directory" if above == path else f"{above} is a file, not a directory"


def _not_there(path: Path) -> str:
    """With the nearest name in the lowest directory that exists."""
    above = _nearest_that_exists(path)
    if problem := _is_below_a_file(above, path):
        return problem
    name = path.relative_to(above).parts[0]
    if (above / name).is_symlink():
        where = "is" if above / name == path else f"{above / name} is"
        return f"{where} a link that leads nowhere; repair it"
    # A hidden file is a working file of yt8m's or another program's.
    names = [p.name for p in above.iterdir() if not p.name.startswith(".") or name.startswith(".")]
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {above / close[0] / path.relative_to(above / name)}?" if close else ""
    return f"no such file or directory{hint}"
