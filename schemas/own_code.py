"""Code of the user's own, which the configuration names by a dotted path.

It is one file or package, found like any module: installed, or in the working directory of the
command, and on Kubeflow in the image. Its content is part of the cache keys as our own code's is
(`code_version`): what it imports from its own folder counts with it.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from yt8m.schemas.errors import ConfigError

_INSTALLED = "site-packages"
_WHERE = (
    "it must be installed, or lie in the directory that the command is given in; on Kubeflow it "
    "must be in the image"
)


def module_of(path: str) -> str:
    """The module of a dotted path; "" of none."""
    return path.rpartition(".")[0]


def load_named(path: str, where: str) -> Any:
    """What `path` names; ConfigError, which begins with `where`, if it cannot be had."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"{where}: cannot be imported ({error}); {_WHERE}") from error
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"{where}: cannot be imported ({error})") from error


def missing_module(module: str) -> str:
    """Why `module` cannot be found; "" where it can."""
    return "" if not module or _source(module) else f"there is no module {module}; {_WHERE}"


def own_code_version(*modules: str) -> str:
    """A digest of `modules` and of what they import from beside them; "" of none.

    A module that is not here (of a package that only an image has) counts by its name.
    """
    digest, named = hashlib.sha256(), sorted({module for module in modules if module})
    for module in named:
        digest.update(module.encode() + b"\0")
        for name, file in sorted(_closure(module).items()):
            digest.update(name.encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()[:16] if named else ""


def _closure(module: str) -> dict[str, Path]:
    first = _source(module)
    if first is None:
        return {}
    depth = module.count(".") + (first.name == "__init__.py")
    home, found, waiting = first.parents[depth], {}, [module]
    while waiting:
        name = waiting.pop()
        file = _below(home, name)
        if file is None or name in found:
            continue
        found[name] = file
        waiting += [one for one in _imports(name, file) if _is_own(one, module, home)]
        waiting += [".".join(name.split(".")[:end]) for end in range(1, name.count(".") + 1)]
    return found


def _is_own(name: str, module: str, home: Path) -> bool:
    """Among installed packages the module's own package alone."""
    return _INSTALLED not in home.parts or name.split(".")[0] == module.split(".")[0]


def _source(module: str) -> Path | None:
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None
    return Path(spec.origin) if spec is not None and spec.has_location and spec.origin else None


def _below(home: Path, name: str) -> Path | None:
    path = home.joinpath(*name.split("."))
    files = (path.with_name(f"{path.name}.py"), path / "__init__.py")
    return next((file for file in files if file.is_file()), None)


def _imports(name: str, file: Path) -> Iterator[str]:
    package = name if file.name == "__init__.py" else module_of(name)
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from _from(node, package)


def _from(node: ast.ImportFrom, package: str) -> Iterable[str]:
    above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
    base = ".".join([*above, *([node.module] if node.module else [])])
    return [base, *(f"{base}.{alias.name}" for alias in node.names)]
