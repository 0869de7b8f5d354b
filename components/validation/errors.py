"""How the stop ends a run: with what was measured, for TFX removes a failed component's files."""

from __future__ import annotations

from yt8m.components import storage
from yt8m.schemas.errors import DataError

COMPARISONS_FILE = "comparisons.json"  # what was measured by feature; the report draws it


class StoppedError(DataError):
    """The data are not as they should be; `comparisons` is the content of that file."""

    def __init__(self, message: str, comparisons: str) -> None:
        super().__init__(message)
        self._comparisons = comparisons

    def keep(self, directory: str) -> None:
        """Write it where ValidationGate would have, had it let the data pass."""
        storage.write_text(storage.join(directory, COMPARISONS_FILE), self._comparisons)
