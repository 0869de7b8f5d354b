"""Unit tests alone do without TFX and Beam, which take longer to load than most of them to run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

_HEAVY = ("tfx", "apache_beam", "tensorflow_model_analysis", "tensorflow_data_validation")


class _NotHere:
    """Refuses to import what belongs to tests/integration."""

    def find_spec(self, name: str, *_: object) -> None:
        if name.split(".")[0] in _HEAVY:
            raise ImportError(f"a unit test imports no {name}; with it, it belongs to integration")


def pytest_configure(config: pytest.Config) -> None:
    here = Path(__file__).parent
    given = [(config.invocation_params.dir / arg.split("::")[0]).resolve() for arg in config.args]
    if all(place.is_relative_to(here) for place in given):  # else others load them, rightly
        sys.meta_path.insert(0, _NotHere())  # type: ignore[arg-type]
