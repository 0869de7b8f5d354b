"""Digest of code: of the modules that dotted paths name, and of their imports from the same folder.

TFX keys its cache on execution properties, and a dotted path such as `run_fn` is hashed as text.
Each step therefore carries the digest of its own code and of the user's that its configuration
names: changed code reruns what depends on it, and nothing else. Sources are read, never imported:
that could cost seconds, and the user's code may be present in an image alone.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.machinery
import importlib.util
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

from yt8m.schemas.errors import ConfigError

_OURS = __name__.partition(".")[0]
_SHARED = ("site-packages", "dist-packages")  # folders that hold packages of many projects
_SUFFIXES = importlib.machinery.all_suffixes()  # ".py" first; compiled modules count, too
_DOTTED = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)+")


def code_digest(*paths: str) -> str:
    """Compute the digest of the code that dotted paths name; "" of none.

    A path names a module, or something in one. The order of the paths does not count. Code that is
    not here, of a package that only an image has, counts by its path.
    """
    named = sorted({path for path in paths if path})
    modules: dict[str, bytes] = {}
    for path in named:
        modules |= sources(path)
    digest = hashlib.sha256(json.dumps(named).encode())
    for module, source in sorted(modules.items()):
        digest.update(module.encode() + b"\0" + source + b"\0")
    return digest.hexdigest()[:16] if named else ""


def sources(path: str) -> dict[str, bytes]:
    """Read the module of a dotted path and those it imports, directly or not, from beside itself.

    Beside a module are its package and, in a project's own folder, that folder's other packages.
    """
    top = path.partition(".")[0]
    homes = _homes(top)
    is_shared = any(map(is_installed, homes))
    names_in = functools.cache(_names_in)  # most of what is named is no file
    contents: dict[str, bytes] = {}
    waiting, seen = [path, module_of(path)], set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen or (is_shared and name.partition(".")[0] != top):
            continue
        seen.add(name)
        # Our package's `__init__` loads nothing; it names all of `import yt8m` as texts.
        file = _file(name, homes, names_in) if name != _OURS else None
        if file is not None:
            contents[name] = file.read_bytes()
            package = name if file.name == "__init__.py" else module_of(name)
            waiting += [module_of(name), *_imports(package, contents[name], str(file))]
    return contents


def find_source(module: str) -> Path | None:
    """Find the file of a module without importing it or its package; None where there is none."""
    return _file(module, _homes(module.partition(".")[0]))


def is_installed(place: Path) -> bool:
    """Whether a file or folder is among packages of many projects."""
    return any(folder in place.parts for folder in _SHARED)


def module_of(path: str) -> str:
    """The module of a dotted path to something in it, the package of a module; "" of none."""
    return path.rpartition(".")[0]


def _homes(top: str) -> tuple[Path, ...]:
    """The folders in which a top-level package or module lies; a namespace may have several."""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):
        return ()
    if spec is None:
        return ()
    if spec.submodule_search_locations is not None:
        return tuple(Path(place).parent for place in spec.submodule_search_locations)
    return (Path(spec.origin).parent,) if spec.has_location and spec.origin else ()


def _names_in(folder: str) -> frozenset[str]:
    try:
        return frozenset(file.name for file in Path(folder).iterdir())
    except OSError:  # no folder: a name that is not a module's
        return frozenset()


def _file(
    module: str, homes: tuple[Path, ...], names_in: Callable[[str], frozenset[str]] = _names_in
) -> Path | None:
    *packages, last = module.split(".")
    for home in homes if module else ():
        folder = "/".join((str(home), *packages))  # a path for each name took half of the time
        names = names_in(folder)
        files = [Path(folder, last + suffix) for suffix in _SUFFIXES if last + suffix in names]
        if last in names:
            files.insert(0, Path(folder, last, "__init__.py"))
        if file := next((file for file in files if file.is_file()), None):
            return file
    return None


@functools.cache
def _imports(package: str, source: bytes, file: str) -> tuple[str, ...]:
    """Everything that a module of `package` may import: statements, and dotted paths in texts."""
    names: list[str] = []
    try:
        tree = ast.parse(source if file.endswith(".py") else b"")
    except SyntaxError as error:
        raise ConfigError(f"{file}, line {error.lineno}: {error.msg}") from error
    for node in _nodes(tree):
        match node:
            case ast.Import():
                names += [alias.name for alias in node.names]
            case ast.ImportFrom() if package or not node.level:
                relative = "." * node.level + (node.module or "")
                base = importlib.util.resolve_name(relative, package)
                names += [base, *(f"{base}.{alias.name}" for alias in node.names)]
            case ast.Constant(value=str(text)) if _DOTTED.fullmatch(text):
                names += [text, module_of(text)]
    return tuple(names)


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes, as `ast.walk` has them, in a third of its time: each run reads all of our code."""
    waiting: list[object] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.AST):
            yield node
            waiting += vars(node).values()
        elif isinstance(node, list):
            waiting += node
