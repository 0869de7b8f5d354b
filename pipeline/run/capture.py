"""Everything that a run prints goes to files; the terminal is left to the live table."""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import TextIO

from google.protobuf.text_encoding import CEscape

from yt8m.components.console.listener import Listener

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_STANDARD = (1, 2)


class Capture:
    """While entered, standard output and error of this process, TensorFlow's C++ too, are a file.

    `to(path)` changes the file; `terminal` is the standard error that the user sees.
    """

    def __init__(self, path: Path, *, secrets: Iterable[str] = ()) -> None:
        """`secrets` are hidden in what is logged: TFX logs how it reaches the metadata."""
        self._path = path
        self._saved: list[int] = []
        self._handler = logging.StreamHandler(sys.stderr)
        self._handler.setFormatter(_Redacting(_FORMAT, secrets))
        self.terminal: TextIO = sys.stderr

    def __enter__(self) -> Capture:
        _flush()
        self._saved = [os.dup(descriptor) for descriptor in _STANDARD]
        terminal = os.fdopen(os.dup(self._saved[1]), "wb")
        self.terminal = Listener(terminal, encoding="utf-8", line_buffering=True)
        self.to(self._path)
        root = logging.getLogger()
        root.addHandler(self._handler)
        root.setLevel(logging.INFO)
        return self

    def to(self, path: Path) -> None:
        """From now on, append to `path`."""
        _flush()
        path.parent.mkdir(parents=True, exist_ok=True)
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        for descriptor in _STANDARD:
            os.dup2(file, descriptor)
        os.close(file)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _flush()
        logging.getLogger().removeHandler(self._handler)
        for descriptor, saved in zip(_STANDARD, self._saved, strict=True):
            os.dup2(saved, descriptor)
            os.close(saved)
        self.terminal.close()
        self.terminal = sys.stderr


class _Redacting(logging.Formatter):
    """Hides secrets wherever they are in a line, as they are and as protobuf writes them."""

    def __init__(self, format_: str, secrets: Iterable[str]) -> None:
        super().__init__(format_)
        forms = {
            form for secret in secrets for form in (secret, CEscape(secret.encode(), as_utf8=False))
        }
        self._secrets = sorted(forms - {""}, key=len, reverse=True)

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        for secret in self._secrets:
            text = text.replace(secret, "***")
        return text


def _flush() -> None:
    with contextlib.suppress(OSError):  # a full disk must not end the run from here
        sys.stdout.flush()
        sys.stderr.flush()
