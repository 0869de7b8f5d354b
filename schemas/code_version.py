"""A digest of our own code, so that TFX's cache notices when a function changes.

TFX keys its cache on execution properties, and a dotted path such as `run_fn` is hashed as text.
Each component therefore carries the digest of its module and of every module of ours which that
one imports, directly or not: changed code reruns what depends on it, and nothing else.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import importlib.util
from pathlib import Path

_PACKAGE = "yt8m."


@functools.cache
def code_version(*modules: str) -> str:
    """Digest of the sources of `modules` and of all that they import from this package."""
    digest = hashlib.sha256()
    for name, path in sorted(_closure(modules).items()):
        digest.update(name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:16]


def _closure(modules: tuple[str, ...]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    waiting = list(modules)
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        path = _source(name)
        if path is None:
            if name in modules:
                raise ModuleNotFoundError(f"{name} has no source to take a code version from")
            continue  # `from yt8m.x import function`: x itself is on the list already
        found[name] = path
        waiting += [*_imports(name, path), *_packages_above(name)]
    return found


def _packages_above(name: str) -> list[str]:
    """The packages whose `__init__` runs when `name` is imported."""
    parts = name.split(".")
    return [".".join(parts[:end]) for end in range(2, len(parts))]


def _source(name: str) -> Path | None:
    """The file of module `name`, found without importing it: that could cost seconds."""
    layer, parts = name.split(".")[1:2], name.split(".")[2:]
    root = _layer_root(*layer) if layer else None
    if root is None or not all(part.isidentifier() for part in parts):
        return None
    path = root.joinpath(*parts)
    candidates = (path.with_name(f"{path.name}.py"), path / "__init__.py")
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _layer_root(layer: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(f"{_PACKAGE}{layer}")
    except (ModuleNotFoundError, ValueError):
        return None
    return Path(spec.origin).parent if spec is not None and spec.origin is not None else None


def _imports(name: str, path: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.append(node.module)
            names += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            # A dotted path in a text ("yt8m....run.run_fn") is an import too.
            names += [node.value, node.value.rpartition(".")[0]]
    return [n for n in names if n.startswith(_PACKAGE) and n != name]
