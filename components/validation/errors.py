"""Errors of validation, with the measurements: TFX removes a failed component's files."""

from __future__ import annotations

from yt8m.components import storage
from yt8m.components.artifacts import comparisons as comparisons_file
from yt8m.components.artifacts.comparisons import Comparisons
from yt8m.schemas.errors import DataError


class StoppedError(DataError):
    """The data are not as they should be; `comparisons` is what was measured."""

    def __init__(self, message: str, comparisons: Comparisons) -> None:
        super().__init__(message)
        self._comparisons = comparisons

    def keep(self, directory: str) -> None:
        """Write it where ValidationGate would have, had it let the data pass."""
        path = storage.join(directory, comparisons_file.FILE_NAME)
        storage.write_text(path, self._comparisons.to_json())
