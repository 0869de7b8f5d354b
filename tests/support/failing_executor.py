"""ExampleGen's executor, failing when all its links are made: the worst moment for a source."""

from __future__ import annotations

from typing import Any

from yt8m.components.example_gen.executor import Executor


class FailsAfterLinking(Executor):
    """Does everything, then raises."""

    def Do(self, input_dict: Any, output_dict: Any, exec_properties: Any) -> None:  # noqa: N802
        super().Do(input_dict, output_dict, exec_properties)
        raise RuntimeError("failed after linking")
