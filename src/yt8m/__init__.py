"""yt8m: train on YouTube-8M, or on any video set in its format, and ship the models.

In Python and in notebooks (docs/python.md):

    import yt8m

    config = yt8m.load_config("smoke", data="data", root="run", push="models")
    run = yt8m.run(config)
    run.metrics, run.classes, run.curves

Nothing heavy is imported before it is asked for. The code lies in four layers, linked here from
the top of the repository: `schemas`, `components`, `pipeline`, `kubeflow`.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from yt8m.pipeline.python.data import dataset as dataset
    from yt8m.pipeline.python.metrics import metrics as metrics
    from yt8m.pipeline.python.models import evaluate as evaluate
    from yt8m.pipeline.python.models import load_model as load_model
    from yt8m.pipeline.python.models import registry as registry
    from yt8m.pipeline.python.runs import compare as compare
    from yt8m.pipeline.python.runs import load_config as load_config
    from yt8m.pipeline.python.runs import run as run
    from yt8m.pipeline.python.runs import runs as runs

    __version__: str

# Before anything loads HDF5, which otherwise loads code from a folder that others may write to
# (CVE-2026-2492). TensorFlow 2.21 does the same.
os.environ.setdefault("HDF5_PLUGIN_PATH", "disable")

_MODULES = {
    "yt8m.pipeline.python.data": ("dataset",),
    "yt8m.pipeline.python.metrics": ("metrics",),
    "yt8m.pipeline.python.models": ("evaluate", "load_model", "registry"),
    "yt8m.pipeline.python.runs": ("compare", "load_config", "run", "runs"),
}
_MODULE_BY_NAME = {name: module for module, names in _MODULES.items() for name in names}
# A checker takes the names from the imports above.
__all__ = ["__version__", *_MODULE_BY_NAME]  # pyright: ignore[reportUnsupportedDunderAll]


def __getattr__(name: str) -> Any:
    """Import what is asked for, the first time (PEP 562)."""
    if name == "__version__":
        from importlib.metadata import version

        return version("yt8m-pipeline")
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(importlib.import_module(_MODULE_BY_NAME[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
