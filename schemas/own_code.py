"""Code of the user's own, which the configuration names by a dotted path.

It is one file or package, found like any module: installed, or in the working directory of the
command, and on Kubeflow in the image. Its content is part of the cache keys as our own code's is
(`code_digest`): what it imports from its own folder counts with it.
"""

from __future__ import annotations

import importlib
from typing import Any

from yt8m.schemas.code_digest import find_source
from yt8m.schemas.errors import ConfigError

_WHERE = (
    "it must be installed, or lie in the directory that the command is given in; on Kubeflow it "
    "must be in the image"
)


def load_named(path: str, where: str) -> Any:
    """Import what `path` names; ConfigError, which begins with `where`, if that fails."""
    module, _, name = path.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError as error:
        raise ConfigError(f"{where}: cannot be imported ({error}); {_WHERE}") from error
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"{where}: cannot be imported ({error})") from error


def missing_module(module: str) -> str:
    """Say why `module` cannot be found; "" where it can."""
    return "" if not module or find_source(module) else f"there is no module {module}; {_WHERE}"
